// What a refusal says.
#pragma once

#include <string>

#include "layline/error.h"

namespace layline {

/// The message of the error that `action` throws.
template <typename Thrown = Error, typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Thrown& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace layline
