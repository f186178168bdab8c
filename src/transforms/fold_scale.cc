// A number that multiplies what comes from constant weights goes into these weights, however the
// elements were moved, cut out or rotated in between: the scale of attention disappears into the
// rows of a fused projection that make the queries.
//
//   slice(relayout(W x + b)) * s  =  slice(relayout((S W) x + S b)),  S is s or 1 for each row
#include <cmath>

#include "transforms/passes.h"
#include "transforms/scale_sources.h"
#include "transforms/weighted_op.h"

namespace layline {
namespace {

void multiply(Graph& graph, const ScaleSource& source, double scale) {
  std::vector<double> factors;
  for (const bool wanted : source.channels) factors.push_back(wanted ? scale : 1);
  const BuildBefore build(graph, source.op);
  std::vector<Value*> operands(source.op->operands().begin(), source.op->operands().end());
  operands[1] = build.constant(scaled_rows(weight_of(*source.op), factors));
  if (operands.size() > 2) {
    std::vector<double> bias = bias_of(*source.op);
    for (size_t i = 0; i < bias.size(); ++i) bias[i] *= factors[i];
    operands[2] = build.constant(vector_constant(bias));
  }
  replace(graph, source.op,
          build.add(source.op->op(), std::move(operands), source.op->attributes()));
}

}  // namespace

bool fold_scale(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    const auto found = as_scaling(node);
    if (!found || !std::isfinite(static_cast<float>(found->factor))) continue;
    const auto sources = scale_sources(node, found->operand);
    if (!sources) continue;
    context.rewrite(*node, "the factor {} goes into the weights of {}", found->factor,
                    sources->front().op->result()->name());
    for (const ScaleSource& source : *sources) multiply(graph, source, found->factor);
    replace(graph, node, node->operand(found->operand));
    changed = true;
  }
  return changed;
}

}  // namespace layline
