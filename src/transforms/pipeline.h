// The one place that runs passes: it knows which are disabled, times them, verifies the graph after
// each, and keeps what they explain.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "transforms/pass.h"

namespace layline {

/// Every pass, in the order of its first run. The only list of them.
std::span<const Pass> all_passes();

struct PipelineOptions {
  TargetRules target = {};
  std::vector<std::string> disabled = {};
  /// The pass after whose first run to stop.
  std::optional<std::string> stop_after = {};
  /// Keep explanations.
  bool explain = false;
  /// Write out the proof of the last placement.
  bool proof = false;
  /// How far placement looks.
  PlacementLimits placement_limits = {};
  /// Evaluate the graph before and after each pass and compare (slow).
  bool validate = false;
  /// The inputs of that evaluation; made up if there are none.
  std::vector<Tensor> validation_inputs = {};
  /// Called after each run of a pass.
  std::function<void(const Pass&, const Graph&)> on_pass = {};
};

struct PassReport {
  std::string_view pass;
  int runs = 0;
  int changes = 0;  // runs that changed the graph
  size_t rewrites = 0;
  double seconds = 0;
};

struct PipelineReport {
  std::vector<PassReport> passes;  // one for each of all_passes()
  std::vector<Explanation> explanations;
  /// The certificate of the last placement; absent if placement was disabled.
  std::optional<Certificate> certificate;
  std::string proof;  // of the last placement, with PipelineOptions::prove
};

/// Runs the passes on the graph. Throws UserError for a name in the options that is no pass, and
/// InternalError where a pass breaks the graph.
PipelineReport run_pipeline(Graph& graph, const PipelineOptions& options = {});

}  // namespace layline
