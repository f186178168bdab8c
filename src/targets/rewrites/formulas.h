// Rewrites functions as simpler ones. Each rule gives the value to use instead of the node's
// result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::rewrites {

/// The tanh approximation of GELU; not the exact one.
Value* gelu_tanh(const Builder& build, const Node& node);
/// Products and a mask that hides the keys behind each query. Sizes are static.
Value* causal_attention(const Builder& build, const Node& node);
Value* log_softmax(const Builder& build, const Node& node);
Value* normalize(const Builder& build, const Node& node);

}  // namespace layline::rewrites
