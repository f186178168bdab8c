// Rewrites what XNNPACK cannot run as it stands into ops that it can, wherever the result is the
// same function: the target's share of lowering, still in core IR and still checked by evaluation.
#pragma once

#include "ir/graph.h"

namespace layline::xnnpack {

/// Rewrites every node that XNNPACK refuses and that has a rule. Returns whether anything changed.
bool legalise(Graph& graph);

}  // namespace layline::xnnpack
