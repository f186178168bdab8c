// The two ways layline can fail. A UserError is caused by what the user gave us and ends in
// exit code 1 with its message as the only line; an InternalError is a bug of ours (exit code 2).
// Embedders catch their bases (layline/error.h); these two add how messages are made.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "layline/error.h"

namespace layline {

class UserError : public Error {
 public:
  explicit UserError(const std::string& message) : Error(message) {}
  template <typename First, typename... Rest>
  explicit UserError(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest)
      : Error(fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...)) {}
};

class InternalError : public BugError {
 public:
  using BugError::BugError;
};

}  // namespace layline

/// Checks an invariant of layline's own code, in every build: a wrong program is worse than a
/// slow compiler. What follows the condition is a fmt format string and its arguments.
#define LAYLINE_ASSERT(condition, ...)                                                 \
  do {                                                                                 \
    if (!(condition))                                                                  \
      throw ::layline::InternalError(fmt::format("{}:{}: ", __FILE_NAME__, __LINE__) + \
                                     fmt::format(__VA_ARGS__));                        \
  } while (false)
