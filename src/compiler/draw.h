// Turns graphs and reasons into pictures, which the report draws.
#pragma once

#include "compiler/compile.h"
#include "ir/graph.h"
#include "report/picture.h"

namespace layline {

/// The picture of a graph. `nodes` say where the nodes of a final graph run; an imported graph has
/// none.
Picture draw(const Graph& graph, const std::vector<FinalNode>& nodes = {});

/// The reasons that passes gave. A pass that runs again may decide the same again; that is told
/// once.
std::vector<Reason> draw_reasons(const std::vector<Explanation>& explanations);

}  // namespace layline
