// Ops whose indices depend on the numbers, in terms of comparisons with every place and of GATHER.
// Each rule gives the value to use instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::tosa {

Value* scatter_number(const Builder& build, const Node& node);
Value* scatter_add(const Builder& build, const Node& node);
Value* argsort(const Builder& build, const Node& node);
Value* grid_sample(const Builder& build, const Node& node);

}  // namespace layline::tosa
