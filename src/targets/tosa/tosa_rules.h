// What the passes need to know of TOSA.
#pragma once

#include "targets/tosa/accelerator.h"
#include "transforms/target_rules.h"

namespace layline::tosa {

/// Of an NPU, or of TOSA alone if there is none.
TargetRules rules(const Accelerator* accelerator = nullptr);

}  // namespace layline::tosa
