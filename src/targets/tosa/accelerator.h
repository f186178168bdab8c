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
  /// Whether a TRANSPOSE of the fewest axes takes the fewest cycles, as Vela counts them; elsewhere
  /// those of the operand take fewer.
  bool merges_axes;
  /// Of a TRANSPOSE of long rows of bytes to columns, the length of the parts of rows that Vela's
  /// cycles are the least for; 0 where whole rows are as good.
  int64_t rows;
};

/// UserError with the list of all if there is none of this name.
const Accelerator& find_accelerator(const std::string& name);
/// The same; null for no name, which is TOSA for any device.
const Accelerator* chosen_accelerator(const std::string& name);

}  // namespace layline::tosa
