#include "transforms/rewrite.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/evaluate.h"

namespace layline {

namespace {

bool is_unused(const Value* value) { return value->uses().empty() && value->output_uses() == 0; }

}  // namespace

void erase_unused(Graph& graph, Node* node) {
  std::vector<Node*> unused;
  if (is_unused(node->result())) unused.push_back(node);
  while (!unused.empty()) {
    Node* erased = unused.back();
    unused.pop_back();
    const std::vector<Value*> operands(erased->operands().begin(), erased->operands().end());
    graph.erase(erased);
    // A node enters the list when its last user has left, so it enters it once.
    for (auto operand = operands.begin(); operand != operands.end(); ++operand)
      if ((*operand)->def() != nullptr && is_unused(*operand) &&
          std::find(operands.begin(), operand, *operand) == operand)
        unused.push_back((*operand)->def());
  }
}

void replace(Graph& graph, Node* node, Value* value) {
  graph.replace_all_uses(node->result(), value);
  erase_unused(graph, node);
}

const Relayout* relayout_of(const Value* value) {
  if (value->def() == nullptr || !value->def()->is(Op::relayout)) return nullptr;
  return &value->def()->attrs<RelayoutAttrs>().relayout;
}

std::optional<double> uniform_value(const Value* value) {
  constexpr size_t kMostBytes = 16384;
  const Constant* constant = constant_of(value);
  if (constant == nullptr || constant->byte_count() == 0) return std::nullopt;
  if (constant->byte_count() > kMostBytes) {
    // A mask may be large. Weights differ within their first bytes.
    const auto bytes = constant->is_loaded() ? constant->stored() : std::span<const std::byte>();
    const size_t element = byte_size(constant->dtype());
    if (bytes.empty() || !constant->row_factors().empty() || !constant->column_factors().empty() ||
        std::memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) != 0)
      return std::nullopt;
    return tensor_of(
               Constant::owned(constant->dtype(), {}, {bytes.begin(), bytes.begin() + element}))
        .get(0);
  }
  const Tensor tensor = tensor_of(*constant);
  for (int64_t i = 1; i < tensor.count(); ++i)
    if (tensor.get(i) != tensor.get(0)) return std::nullopt;
  return tensor.get(0);
}

Value* matrix_of_all_batches(const Node& matmul) {
  Value* repeated = matmul.operand(1);
  const Node* expand = repeated->def();
  Value* matrix = expand != nullptr && expand->is(Op::expand) ? expand->operand(0) : repeated;
  const Shape &from = matrix->shape(), &to = repeated->shape(), &left = matmul.operand(0)->shape();
  const Shape& result = matmul.result()->shape();
  if (constant_of(matrix) == nullptr || from.size() < 2) return nullptr;
  if (!std::ranges::all_of(from.begin(), from.end() - 2, &Dim::is_one) ||
      !std::equal(from.end() - 2, from.end(), to.end() - 2))
    return nullptr;
  // What the batches of the left operand lack cannot be had from the matrix.
  const bool all =
      left.size() == result.size() && std::equal(left.begin(), left.end() - 2, result.begin());
  return all ? matrix : nullptr;
}

std::optional<Scaling> as_scaling(Node* node) {
  if (!(node->is(Op::mul) || node->is(Op::div)) || !node->attrs<BinaryAttrs>().bounds.unbounded())
    return std::nullopt;
  for (const int side : {1, 0}) {
    Value* scaled = node->operand(1 - side);
    const bool is_divisor = node->is(Op::div);
    if ((is_divisor && side == 0) || !is_float(scaled->dtype()) ||
        scaled->type() != node->result()->type())
      continue;
    const auto number = uniform_value(node->operand(side));
    if (!number) continue;
    const double factor = is_divisor ? 1 / *number : *number;
    if (std::isfinite(factor) && factor != 0) return Scaling{node, 1 - side, factor};
  }
  return std::nullopt;
}

Bounds clamped_twice(const Bounds& first, const Bounds& second) {
  // Where the two do not overlap, only one number is left: the second's that is nearer.
  const auto clamp = [&](double x) { return std::min(std::max(x, second.min), second.max); };
  return {clamp(first.min), clamp(first.max)};
}

}  // namespace layline
