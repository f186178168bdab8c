// Rewrites what TOSA cannot express as it stands into ops that it can: the target's share of
// lowering, still in core IR and still checked by evaluation.
#pragma once

#include "ir/graph.h"

namespace layline::tosa {

/// Rewrites every node that TOSA refuses and that has a rule. Returns whether anything changed.
bool legalise(Graph& graph);

}  // namespace layline::tosa
