// Arm's Ethos-U NPUs, which run TOSA's integer operators by way of the Vela compiler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace layline::tosa {

struct Accelerator {
  std::string_view name;  // as Vela's --accelerator-config has it
  /// U55 and U65 have fewer operators than TOSA's integer profile, and limits on those they have;
  /// U85 has the whole profile.
  bool is_u85;
  /// Whether a TRANSPOSE of the fewest axes takes the fewest cycles, as Vela counts them. Otherwise
  /// one with the operand's own axes takes fewer.
  bool merges_axes;
  /// A TRANSPOSE of long rows of bytes to columns takes the fewest cycles, as Vela counts them, if
  /// rows are cut into parts of this length; 0 if whole rows are as good.
  int64_t rows;
};

/// The accelerator of this name. Throws a UserError that lists all if there is none.
const Accelerator& find_accelerator(const std::string& name);
/// Like find_accelerator, but null for an empty name: TOSA for any device.
const Accelerator* chosen_accelerator(const std::string& name);

}  // namespace layline::tosa
