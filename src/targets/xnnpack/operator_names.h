// What the runtime calls the operators that a node of XNNPACK's graph can become.
#pragma once

#include <string_view>

namespace layline::xnnpack {

/// Whether a node of this kind can become the operator. `kind` is a number of
/// fb_xnnpack::XNodeUnion, `name` an operator in a trace of the runtime.
bool can_become(int kind, std::string_view name);

}  // namespace layline::xnnpack
