// The text form of constants: what is stored, then what is pending.
#pragma once

#include <string>

#include "ir/constant.h"
#include "ir/text.h"
#include "ir/text_scanner.h"

namespace layline {

/// "f32[3] (1, 0.5, -2)", "f32[64,64] splat 0", "u8[20] 0x00017f..."; then, where there is pending
/// work, " scaled DATA" for the row factors and " then RELAYOUT".
std::string constant_text(const Constant& constant, const PrintOptions& options);
Constant parse_constant(Scanner& in);

/// "i8 in [-128,127] scale f32[4,1] (0.1, 0.2, 0.1, 0.3) zero i32[4,1] (0, 1, 0, 0)"; without
/// "zero" where all zero points are 0.
std::string quantisation_text(const Quantisation& quantisation, const PrintOptions& options);
Quantisation parse_quantisation(Scanner& in);

/// "f32[1,3,s1]".
TensorType parse_type(Scanner& in);

}  // namespace layline
