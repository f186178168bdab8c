// The two ways layline can fail. A UserError is caused by what the user gave us and ends in
// exit code 1 with its message as the only line; an InternalError is a bug of ours (exit code 2).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace layline {

class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}
  template <typename First, typename... Rest>
  explicit UserError(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest)
      : std::runtime_error(
            fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...)) {}
};

class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& message) : std::logic_error(message) {}
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
