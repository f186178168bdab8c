// Permutes, as reports count them.
#pragma once

#include "ir/graph.h"

namespace layline {

/// Whether the node is a permute: a relayout that moves data.
bool moves_data(const Node& node);

/// How many permutes there are among the nodes after `last`, or among all if it is null.
int64_t moves_after(const Graph& graph, const Node* last);

}  // namespace layline
