// Contractions, pools and resampling in the forms that TOSA has. Each rule gives the value to use
// instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::tosa {

Value* matmul(const Builder& build, const Node& node);
Value* conv(const Builder& build, const Node& node);
Value* conv_transpose(const Builder& build, const Node& node);
Value* pool(const Builder& build, const Node& node);
Value* resize(const Builder& build, const Node& node);

}  // namespace layline::tosa
