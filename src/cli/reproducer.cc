#include "cli/reproducer.h"

#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "base/output_file.h"
#include "layline/version.h"

namespace layline {
namespace {

/// The argument quoted for a shell.
std::string quote(std::string_view argument) {
  std::string out = "'";
  for (const char c : argument) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

}  // namespace

std::optional<std::string> write_reproducer(std::span<char* const> arguments,
                                            std::string_view message) {
  std::string text = fmt::format("layline {} met an internal error.\ncommand:", LAYLINE_VERSION);
  for (const char* argument : arguments) text += " " + quote(argument);
  text += fmt::format(
      "\nmessage: {}\n\nPlease send this file together with the model. If the model cannot be "
      "shared,\nthe output of `layline compile MODEL --emit STAGE` for the last stage that works "
      "helps too.\n",
      message);
  const std::string path =
      fmt::format("layline-reproducer-{:016x}.txt", std::hash<std::string>{}(text));
  try {
    OutputFile file(path);
    file.write(text);
    file.commit();
  } catch (const UserError&) {
    return std::nullopt;
  }
  return path;
}

}  // namespace layline
