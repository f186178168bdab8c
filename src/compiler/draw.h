// Graphs as they are drawn.
#pragma once

#include "compiler/compile.h"
#include "ir/graph.h"
#include "report/picture.h"

namespace layline {

/// `nodes` say where the nodes of a final graph run; there are none for a graph as imported.
Picture draw(const Graph& graph, const std::vector<FinalNode>& nodes = {});

/// What passes explained. A pass that runs again may come to the same decision, which is told once.
std::vector<Reason> draw_reasons(const std::vector<Explanation>& explanations);

}  // namespace layline
