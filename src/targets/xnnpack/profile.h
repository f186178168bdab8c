// Cost profiles: what moving data and multiplying costs on one machine, measured by `layline tune`
// and kept in a file (profiles/FORMAT.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layout/cost.h"
#include "transforms/product_costs.h"

namespace layline::xnnpack {

struct Profile {
  std::string name;
  std::string cpu;      // where it was measured
  std::string runtime;  // whose kernels were measured
  MoveCosts moves;
  ProductCosts products;
};

/// Throws UserError, beginning with `file`, for text that is no profile.
Profile parse_profile(std::string_view json, std::string_view file);
/// The profile as JSON, which parse_profile reads back.
std::string to_json(const Profile& profile);

/// The profile for programs whose device nobody named: LAYLINE_DEFAULT_PROFILE in CMake.
const Profile& default_profile();

/// The names that `find_profile` knows: those that are built in (profiles/), and "host".
std::vector<std::string_view> profile_names();

/// The profile of this name, or in this file. "host" is the one that was measured on a machine with
/// the instructions of this one; throws UserError if there is none.
Profile find_profile(const std::string& name_or_file);

}  // namespace layline::xnnpack
