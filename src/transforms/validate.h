// Translation validation: a graph must mean the same after a pass as before.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/evaluate.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace layline {

/// Inputs to evaluate the graph with. If ops only move, add and multiply, they are small integers,
/// so that a misplaced axis cannot hide in rounding; otherwise reproducible random numbers. Dynamic
/// sizes are small, and differ from round to round.
std::vector<Tensor> probes(const Graph& graph, int round = 0);

/// The first element that differs, -1 if none does. Integers differ if they are not equal; other
/// numbers by more than `tolerance` of the largest finite one and more than `rounding`.
int64_t first_difference(const Tensor& expected, const Tensor& actual, double tolerance,
                         double rounding = 0);

/// Whether the graph rounds numbers on the way. One that the last digit moves over a half then ends
/// up a step apart.
bool rounds(const Graph& graph);

/// Remembers the graph's results for its inputs, and compares later ones with them.
class Validator {
 public:
  Validator(const Graph& graph, std::vector<Tensor> inputs);
  /// Throws InternalError if an output differs by more than 1e-4 of its largest element and more
  /// than rounding explains (in a graph that rounds, by more than a few steps). The message names
  /// `pass`, the first such output, and the first node whose result is none that the model's own op
  /// had before.
  void check(const Graph& graph, std::string_view pass);

 private:
  /// Results of nodes in the last graph that was right, by where they come from in the model.
  using Results = std::unordered_multimap<const Origin*, Tensor>;

  std::vector<Tensor> stored_inputs(const Graph& graph) const;
  std::vector<Tensor> evaluate_as_model(const Graph& graph, const Observer& observe) const;
  std::vector<Tensor> evaluate_all(const Graph& graph);
  std::string first_diverging_node(const Graph& graph) const;

  std::vector<Tensor> inputs_;
  Results results_, next_results_;
  std::vector<Tensor> expected_;
};

}  // namespace layline
