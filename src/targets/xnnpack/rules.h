// What the passes need to know of XNNPACK.
#pragma once

#include "transforms/target_rules.h"

namespace layline::xnnpack {

const TargetRules& rules();

}  // namespace layline::xnnpack
