// Rewrites what an NPU cannot run, or only slowly, into what it can: still in core IR and still
// checked by evaluation.
#pragma once

#include "ir/graph.h"
#include "targets/tosa/accelerator.h"
#include "transforms/pass.h"

namespace layline::tosa {

/// Rewrites any graph, before `legalise`, where the NPU is faster in another way than TOSA in
/// general. Returns whether anything changed, and explains it.
bool suit_accelerator(Graph& graph, const Accelerator& accelerator, PassContext& context);

/// Rewrites a graph that TOSA can express. The result may need `legalise` again. Returns whether
/// anything changed, and explains it.
bool fit_accelerator(Graph& graph, const Accelerator& accelerator, PassContext& context);

}  // namespace layline::tosa
