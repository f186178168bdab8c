// What the passes need to know about TOSA.
#pragma once

#include "targets/tosa/accelerator.h"
#include "transforms/target_rules.h"

namespace layline::tosa {

/// The rules for an NPU, or for TOSA alone if there is none.
TargetRules rules(const Accelerator* accelerator = nullptr);

}  // namespace layline::tosa
