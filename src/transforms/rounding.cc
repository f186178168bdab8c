#include "transforms/rounding.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "ir/evaluate.h"

namespace layline {
namespace {

double share(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 ? 5e-4 : 1e-5; }

/// Displaces the elements of a tensor. The errors have one sign (`alike`), as those of equal
/// numbers do, or any.
void displace(Tensor& tensor, bool alike, std::mt19937& random) {
  if (!is_float(tensor.dtype())) return;
  const auto sign = [&] { return (random() & 1) == 0 ? 1.0 : -1.0; };
  const double common = sign();
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, tensor.get(i) * (1 + (alike ? common : sign()) * share(tensor.dtype())));
}

bool computes(const Node& node) {
  const OpClass op_class = info(node.op()).op_class;
  return op_class != OpClass::constant && op_class != OpClass::movement;
}

}  // namespace

std::vector<double> rounding_of_outputs(const Graph& graph, std::span<const Tensor> inputs) {
  constexpr int kTrials = 4;
  std::mt19937 random(1);
  const std::vector<Tensor> outputs = evaluate(graph, inputs);
  std::vector<double> errors(outputs.size(), 0);
  for (int trial = 0; trial < kTrials; ++trial) {
    const bool alike = trial % 2 == 0;
    std::vector<Tensor> displaced(inputs.begin(), inputs.end());
    for (Tensor& input : displaced) displace(input, alike, random);
    const std::vector<Tensor> moved =
        evaluate(graph, displaced, [&](const Node& node, Tensor& result) {
          if (computes(node)) displace(result, alike, random);
        });
    for (size_t i = 0; i < outputs.size(); ++i) {
      for (int64_t e = 0; e < outputs[i].count() && is_float(outputs[i].dtype()); ++e) {
        const double error = std::abs(moved[i].get(e) - outputs[i].get(e));
        if (std::isfinite(error)) errors[i] = std::max(errors[i], error);
      }
    }
  }
  return errors;
}

}  // namespace layline
