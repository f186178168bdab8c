// What passes ask of the target: which loop orders its kernels take, and its own lowering.
#pragma once

#include <functional>

#include "ir/graph.h"
#include "layout/candidates.h"
#include "transforms/product_costs.h"

namespace layline {

class PassContext;

struct TargetRules {
  TargetOrders orders;
  ProductCosts products = {};
  /// Whether contractions have kernels that quantise what they read, each row or image with a scale
  /// of its own.
  bool quantises_dynamically = true;
  /// Rewrites what the target's kernels cannot run as it stands; returns whether it changed the
  /// graph. Null for a target that takes every op.
  std::function<bool(Graph& graph, PassContext& context)> legalise;
};

}  // namespace layline
