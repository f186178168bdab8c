#include "transforms/affine.h"

#include <algorithm>
#include <cmath>

#include "ir/evaluate.h"

namespace layline {
namespace {

/// The elements of a constant that varies along the last axis of a tensor only, one for each of its
/// `channels`.
std::optional<std::vector<double>> per_channel(const Constant& constant, size_t rank,
                                               int64_t channels) {
  const Shape& shape = constant.shape();
  const Dim count = element_count(shape);
  if (constant.dtype() != DType::f32 || shape.size() > rank) return std::nullopt;
  const bool along_last = !shape.empty() && shape.back() == Dim(channels) && count == Dim(channels);
  if (!count.is_one() && !along_last) return std::nullopt;
  const Tensor tensor = tensor_of(constant);
  std::vector<double> values;
  for (int64_t i = 0; i < channels; ++i) values.push_back(tensor.get(count.is_one() ? 0 : i));
  return values;
}

}  // namespace

std::optional<Affine> affine(const Node& node, const Relayout& relayout) {
  if (!(node.is(Op::add) || node.is(Op::sub) || node.is(Op::mul) || node.is(Op::div)))
    return std::nullopt;
  if (node.result()->type().quantisation) return std::nullopt;  // it rounds
  const int constant_side = constant_of(node.operand(1)) != nullptr ? 1 : 0;
  const Constant* constant = constant_of(node.operand(constant_side));
  Value* x = node.operand(1 - constant_side);
  if (constant == nullptr || x->type() != node.result()->type() || relayout.target().empty() ||
      !relayout.target().back().is_static() || constant->shape().size() > x->shape().size())
    return std::nullopt;
  const auto moved = relayout.for_broadcast(constant->shape());
  if (!moved) return std::nullopt;
  const int64_t channels = relayout.target().back().value();
  const auto values = per_channel(constant->relaid(*moved), relayout.target().size(), channels);
  if (!values) return std::nullopt;

  Affine result{x, std::vector<double>(values->size(), 1), std::vector<double>(values->size(), 0)};
  if (node.is(Op::mul)) {
    result.scale = *values;
  } else if (node.is(Op::div)) {
    if (constant_side == 0) return std::nullopt;
    for (size_t i = 0; i < values->size(); ++i) result.scale[i] = 1 / (*values)[i];
  } else {
    result.shift = *values;
    const bool subtracts = node.is(Op::sub);
    if (subtracts && constant_side == 1)
      for (double& shift : result.shift) shift = -shift;
    if (subtracts && constant_side == 0) result.scale.assign(values->size(), -1);
  }
  for (const std::vector<double>* list : {&result.scale, &result.shift})
    for (const double number : *list)
      if (!std::isfinite(static_cast<float>(number))) return std::nullopt;
  return result;
}

bool is_uniform(const std::vector<double>& list, double value) {
  return std::ranges::all_of(list, [&](double number) { return number == value; });
}

}  // namespace layline
