// The words of the text form that the printer and the parser share.
#pragma once

#include <array>
#include <string_view>

#include "ir/attributes.h"

namespace layline {

// Each list is in the order of its enum.
constexpr std::array<std::string_view, 4> kPadModeWords = {"constant", "reflect", "replicate",
                                                           "circular"};
constexpr std::array<std::string_view, 2> kResizeModeWords = {"nearest", "bilinear"};

constexpr std::array<std::string_view, 3> kOutsideModeWords = {"zeros", "border", "reflection"};

constexpr const auto& words(PadMode) { return kPadModeWords; }
constexpr const auto& words(ResizeMode) { return kResizeModeWords; }
constexpr const auto& words(OutsideMode) { return kOutsideModeWords; }

}  // namespace layline
