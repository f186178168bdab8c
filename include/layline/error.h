// What layline throws. Besides these, only std::bad_alloc and what the caller's own functions throw
// come out of a call.
#pragma once

#include <exception>
#include <stdexcept>

namespace layline {

/// What the caller can put right: a model, an option, an input, a file. The message is one line:
/// what is wrong, at which node of the model and which line of the user's own code, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A bug of layline, which the caller can only report. The message says where.
class BugError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Options::cancelled returned true.
class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "cancelled"; }
};

}  // namespace layline
