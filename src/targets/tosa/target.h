// The row of TOSA in the table of targets.
#pragma once

#include "targets/target.h"

namespace layline::tosa {

extern const Target kTarget;

}  // namespace layline::tosa
