// Colour on terminals: `--color auto|always|never`, and the convention of NO_COLOR.
#pragma once

#include <string>
#include <string_view>

namespace layline {

enum class Color { red, green, bold };
enum class Stream { out, error };

/// Sets when colours are used. Throws UserError unless `when` is auto, always or never.
void set_color(std::string_view when);

/// The text in a colour, or unchanged if `stream` shows none: if it is no terminal, or if NO_COLOR
/// is set to anything (https://no-color.org), unless `--color always` asks for it.
std::string paint(Color color, std::string_view text, Stream stream = Stream::out);

}  // namespace layline
