// Which new values of states can be computed straight into the state's memory, without a copy.
#pragma once

#include <unordered_map>

#include "ir/graph.h"
#include "targets/xnnpack/partition.h"

namespace layline::xnnpack {

/// The values that can be computed in place, and the input (an index) that each is written to. A
/// state's old value is gone when the new one is computed. So whatever reads it must have run
/// before, or read and write element by element.
std::unordered_map<const Value*, size_t> in_place_writes(const Graph& graph,
                                                         const Partition& partition);

}  // namespace layline::xnnpack
