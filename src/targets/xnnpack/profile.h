// Cost profiles: what moving data and multiplying costs on one machine, measured by `layline tune`
// and kept in a file (profiles/FORMAT.md).
#pragma once

#include <string>
#include <string_view>

#include "layout/cost.h"
#include "transforms/product_costs.h"

namespace layline::xnnpack {

struct Profile {
  std::string name;
  std::string cpu;      // on which it was measured
  std::string runtime;  // whose kernels were measured
  MoveCosts moves;
  ProductCosts products;
};

/// Throws UserError, beginning with `file`, for text that is no profile.
Profile parse_profile(std::string_view json, std::string_view file);
Profile load_profile(const std::string& path);
/// parse_profile reads it back.
std::string to_json(const Profile& profile);

/// The one that is built in: LAYLINE_DEFAULT_PROFILE in CMake.
const Profile& default_profile();

}  // namespace layline::xnnpack
