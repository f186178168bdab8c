// What passes ask of the target: which loop orders its kernels take, and its own lowering.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "layout/placement_problem.h"
#include "transforms/product_costs.h"

namespace layline {

class PassContext;

struct TargetRules {
  TargetOrders orders;
  ProductCosts products = {};
  std::string profile = {};  // names where costs were measured; empty if they were not
  /// The windows for which the target has depthwise kernels, by how many places they have, in
  /// order. A smaller window costs as much as the next; one larger than all runs as a grouped
  /// convolution.
  std::vector<int64_t> depthwise_places = {};
  /// How many outputs kernels compute at once on the shortest vectors that they are made for: fewer
  /// take as long. 0 if it does not matter.
  int64_t least_lanes = 0;
  /// Whether contractions have kernels that quantise what they read, each row or image with a scale
  /// of its own.
  bool quantises_dynamically = true;
  /// Whether slices of a state are written in place.
  bool writes_in_place = false;
  /// Whether attention on the filled part of a cache has a kernel of its own.
  bool attends_causally = false;
  /// How long a cache must be, so that reading only those keys that are filled pays; 0 if the
  /// target cannot count them. They are counted in steps, since each new count costs time.
  struct CountedKeys {
    int64_t least = 0, step = 1;
  };
  CountedKeys counted_keys = {};
  /// Whether the target has unsigned integers of 8 bits, in which smaller ones can be packed.
  bool has_unsigned_bytes = true;
  /// Rewrites what the target's kernels cannot run as it stands; returns whether it changed the
  /// graph. Null for a target that takes every op.
  std::function<bool(Graph& graph, PassContext& context)> legalise;

  /// The orders for one graph. Its dynamic sizes cost as much as their upper bounds.
  TargetOrders orders_for(const Graph& graph) const {
    TargetOrders result = orders;
    for (const Symbol& symbol : graph.symbols()) result.moves.symbol_sizes.push_back(symbol.max);
    return result;
  }
};

}  // namespace layline
