// Rewrites elementwise functions in terms of those that TOSA has. Each rule gives the value to use
// instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::tosa {

/// The exponent of a pow of floats, if it is known and a whole number.
std::optional<int64_t> whole_exponent(const Node& node);

/// Whether a shift by this is by 0 to 31 bits.
bool is_shift_count(const Value* count);

Value* quotient(const Builder& build, const Node& node);
Value* floored_quotient(const Builder& build, const Node& node);
Value* remainder(const Builder& build, const Node& node);
Value* remainder_of_magnitudes(const Builder& build, const Node& node);
Value* power(const Builder& build, const Node& node);
Value* prelu(const Builder& build, const Node& node);
Value* expm1(const Builder& build, const Node& node);
Value* log1p(const Builder& build, const Node& node);
Value* square_root(const Builder& build, const Node& node);
Value* round(const Builder& build, const Node& node);
Value* trunc(const Builder& build, const Node& node);
Value* whole_number(const Builder& build, const Node& node);
Value* square(const Builder& build, const Node& node);
Value* sign(const Builder& build, const Node& node);
Value* hardswish(const Builder& build, const Node& node);
Value* gelu_erf(const Builder& build, const Node& node);
Value* elu(const Builder& build, const Node& node);
Value* leaky_relu(const Builder& build, const Node& node);
Value* integer_clamp(const Builder& build, const Node& node);
Value* convert_by_integers(const Builder& build, const Node& node);
Value* shift_in_range(const Builder& build, const Node& node);

// trigonometric_rules.cc
Value* atan(const Builder& build, const Node& node);
Value* atan2(const Builder& build, const Node& node);
Value* asin(const Builder& build, const Node& node);
Value* acos(const Builder& build, const Node& node);
Value* sinh(const Builder& build, const Node& node);
Value* cosh(const Builder& build, const Node& node);
Value* asinh(const Builder& build, const Node& node);
Value* acosh(const Builder& build, const Node& node);
Value* atanh(const Builder& build, const Node& node);

}  // namespace layline::tosa
