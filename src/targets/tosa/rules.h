// What the passes need to know of TOSA.
#pragma once

#include "transforms/target_rules.h"

namespace layline::tosa {

TargetRules rules();

}  // namespace layline::tosa
