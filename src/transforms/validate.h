// Translation validation: a graph must mean the same after a pass as before.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace layline {

/// Inputs to evaluate the graph with. Where ops only move, add and multiply they are small
/// integers, so that a misplaced axis cannot hide in rounding; elsewhere reproducible random
/// numbers. Dynamic sizes are small, and others in each round.
std::vector<Tensor> probes(const Graph& graph, int round = 0);

/// Remembers what the graph gives for its probes, at several sizes if they are dynamic, and
/// compares.
class Validator {
 public:
  explicit Validator(const Graph& graph);
  /// Throws InternalError, naming `pass` and the first output that differs by more than 1e-4 of the
  /// output's largest element; of a graph that rounds, by more than a few steps.
  void check(const Graph& graph, std::string_view pass) const;

 private:
  struct Probe {
    std::vector<Tensor> inputs;
    std::vector<Tensor> expected;
  };
  std::vector<Probe> probes_;
};

}  // namespace layline
