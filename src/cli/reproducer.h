// What a user sends us when layline itself is at fault.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace layline {

/// Writes the command line, the version and `message` to `layline-reproducer-ID.txt` in the
/// current directory and returns that name, or nullopt if nothing can be written there. The same
/// failure always gets the same ID.
std::optional<std::string> write_reproducer(std::span<char* const> arguments,
                                            std::string_view message);

}  // namespace layline
