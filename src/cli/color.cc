#include "cli/color.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "base/error.h"

namespace layline {
namespace {

std::optional<bool> forced;  // absent: auto

bool shows_color(Stream stream) {
  if (forced) return *forced;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  return isatty(stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO) != 0;
}

/// Select Graphic Rendition, ECMA-48 section 8.3.117.
int rendition(Color color) {
  switch (color) {
    case Color::red:
      return 31;
    case Color::green:
      return 32;
    case Color::bold:
      return 1;
  }
  return 0;
}

}  // namespace

void set_color(std::string_view when) {
  if (when != "auto" && when != "always" && when != "never")
    throw UserError("--color is auto, always or never, not '{}'", when);
  forced.reset();
  if (when != "auto") forced = when == "always";
}

std::string paint(Color color, std::string_view text, Stream stream) {
  if (!shows_color(stream)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", rendition(color), text);
}

}  // namespace layline
