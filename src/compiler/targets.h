// The table of targets, the only list of them.
#pragma once

#include <span>
#include <string_view>

#include "targets/target.h"

namespace layline {

/// The first is the default.
std::span<const Target* const> all_targets();
/// UserError with the names of all if there is none of this name.
const Target& find_target(std::string_view name);

}  // namespace layline
