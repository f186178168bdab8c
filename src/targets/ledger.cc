#include "targets/ledger.h"

#include "ir/bounds.h"

namespace layline {
namespace {

/// What stands on both sides of a value: the ops that fix the order it is in.
std::vector<std::string> neighbours(const Node& node) {
  std::vector<std::string> names;
  const Value* from = node.operand(0);
  names.push_back(from->def() ? describe(*from->def()) : "the input " + from->name());
  for (const Use& use : node.result()->uses()) names.push_back(describe(*use.user));
  if (node.result()->output_uses() > 0) names.push_back("the output " + node.result()->name());
  return names;
}

}  // namespace

BoundaryTensor describe_boundary(const Graph& graph, const std::string& name, const Value* value,
                                 const std::vector<int>& dim_order) {
  BoundaryTensor tensor{
      name, std::string(layline::name(value->dtype())), {}, dim_order, graph.name(), {}};
  const Shape logical = logical_shape(value->shape(), dim_order);
  tensor.shape = static_dims(graph.symbol_table().greatest(logical));
  if (!is_static(logical))
    for (const Dim& dim : logical) tensor.symbolic_shape.push_back(to_string(dim));
  return tensor;
}

void count_moves(const Node& node, DType stored, const SymbolTable& symbols, Report& report) {
  const Shape& shape = node.result()->shape();
  const auto bytes = static_cast<int64_t>(byte_count({stored, symbols.greatest(shape)}));
  auto count = [&](Moves& moves) {
    ++moves.count;
    moves.bytes += bytes;
  };
  if (node.is(Op::slice)) count(report.slices);
  if (node.is(Op::concat)) count(report.concats);
  if (node.is(Op::expand)) count(report.copies);
  if (!node.is(Op::relayout) || node.attrs<RelayoutAttrs>().relayout.is_view()) return;
  ++report.permutes.final;
  report.permutes.bytes += bytes;
  report.permutes.survivors.push_back(
      {describe(node), to_string(node.attrs<RelayoutAttrs>().relayout), bytes, neighbours(node)});
}

}  // namespace layline
