// What the passes need to know about XNNPACK.
#pragma once

#include "targets/xnnpack/profile.h"
#include "transforms/target_rules.h"

namespace layline::xnnpack {

TargetRules rules(const Profile& profile = default_profile());

}  // namespace layline::xnnpack
