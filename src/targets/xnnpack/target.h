// XNNPACK's row in the table of targets.
#pragma once

#include "targets/target.h"

namespace layline::xnnpack {

extern const Target kTarget;

}  // namespace layline::xnnpack
