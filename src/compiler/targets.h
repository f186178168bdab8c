// The table of targets, the only list of them.
#pragma once

#include <span>
#include <string_view>

#include "targets/target.h"

namespace layline {

/// All targets; the first is the default.
std::span<const Target* const> all_targets();
/// The target of this name. Throws a UserError that lists all names if there is none.
const Target& find_target(std::string_view name);

}  // namespace layline
