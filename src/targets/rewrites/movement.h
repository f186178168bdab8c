// Rewrites ops that copy elements in ways that few kernels have, as slices, concatenations and
// broadcasts. Each rule gives the value to use instead of the node's result, or null if it does not
// apply.
#pragma once

#include "ir/builder.h"

namespace layline::rewrites {

Value* legal_slice(const Builder& build, const Node& node);
Value* legal_concat(const Builder& build, const Node& node);
Value* legal_pad(const Builder& build, const Node& node);
/// A count that can be but one number.
Value* fixed_count(const Builder& build, const Node& node);
Value* legal_roll(const Builder& build, const Node& node);
Value* legal_resize(const Builder& build, const Node& node);
/// Nearest elements at whole multiples of sizes, which may be dynamic.
Value* repeated_resize(const Builder& build, const Node& node);

}  // namespace layline::rewrites
