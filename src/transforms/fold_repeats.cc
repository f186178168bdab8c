// A matrix that is repeated for several batches is multiplied once, by all their rows: the heads of
// grouped-query attention that share a key are further rows of one product.
//
//   [b, groups * n, rows, k] x repeat(x, n)   =   [b, groups, n * rows, k] x x
//
// Batches lie outside of rows in memory, so both sides are views, and the copies are not made.
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

/// The right operand without its repetition. Its shape is [..., groups, p, q]; with it, it was
/// [..., groups * times, p, q].
struct Shared {
  Value* source;
  Relayout relayout;  // from the source to that shape
  Dim times;
};

/// The one axis along which `expand` repeats, if there is only one.
std::optional<size_t> repeated_axis(const Node& expand) {
  const Shape& from = expand.operand(0)->shape();
  const Shape& to = expand.result()->shape();
  std::optional<size_t> axis;
  if (from.size() != to.size()) return std::nullopt;
  for (size_t a = 0; a < to.size(); ++a) {
    if (from[a] == to[a]) continue;
    if (axis) return std::nullopt;
    axis = a;
  }
  return axis;
}

Shape with_batch(const Shape& shape, std::initializer_list<Dim> batch) {
  Shape result(shape.begin(), shape.end() - 3);
  result.insert(result.end(), batch.begin(), batch.end());
  result.insert(result.end(), shape.end() - 2, shape.end());
  return result;
}

/// The operand that a repetition of `b` repeats, if any. `b` has at least three axes.
std::optional<Shared> shared_by_batches(Value* b) {
  const Relayout* moved = relayout_of(b);
  Value* repeated = moved ? b->def()->operand(0) : b;
  const Node* expand = repeated->def();
  if (expand == nullptr || !expand->is(Op::expand)) return std::nullopt;
  const auto axis = repeated_axis(*expand);
  if (!axis) return std::nullopt;
  const Dim times = repeated->shape()[*axis];
  const auto groups = divide(*(b->shape().end() - 3), times);
  if (!groups) return std::nullopt;
  const Relayout relayout = moved ? *moved : Relayout::identity(b->shape());
  const auto own = relayout.with_target(with_batch(b->shape(), {*groups, times}))
                       .for_broadcast(expand->operand(0)->shape());
  if (!own || own->target() != with_batch(b->shape(), {*groups, Dim(1)})) return std::nullopt;
  return Shared{expand->operand(0), own->with_target(with_batch(b->shape(), {*groups})), times};
}

/// The operand if `b` has one matrix for all of the last batch axis, as the front end writes
/// grouped queries.
std::optional<Shared> broadcast_over_batches(Value* a, Value* b) {
  const Dim& batches = *(a->shape().end() - 3);
  if (b->shape().size() < 4 || !(b->shape().end() - 3)->is_one() || batches.is_one())
    return std::nullopt;
  return Shared{b, Relayout::view(b->shape(), with_batch(b->shape(), {})), batches};
}

bool fold(Graph& graph, Node* product, PassContext& context) {
  Value* a = product->operand(0);
  Value* b = product->operand(1);
  const Shape& shape = a->shape();
  if (shape.size() < 3 || shape.size() != b->shape().size()) return false;
  auto shared = broadcast_over_batches(a, b);
  const bool is_broadcast = shared.has_value();
  if (!shared) shared = shared_by_batches(b);
  if (!shared) return false;
  const Dim& batches = *(shape.end() - 3);
  if (!is_broadcast && batches != *(b->shape().end() - 3)) return false;

  context.rewrite(*product, "multiplies by {} once for {} batches", shared->source->name(),
                  to_string(shared->times));
  const BuildBefore build(graph, product);
  Shape rows =
      is_broadcast ? with_batch(shape, {}) : with_batch(shape, {*divide(batches, shared->times)});
  *(rows.end() - 2) = *(rows.end() - 2) * shared->times;
  Value* y =
      build.add(Op::matmul, {build.view(a, rows), build.relayout(shared->source, shared->relayout)},
                product->attributes());
  replace(graph, product, build.view(y, product->result()->shape()));
  return true;
}

}  // namespace

bool fold_repeats(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph)
    if (node->is(Op::matmul)) changed = fold(graph, node, context) || changed;
  return changed;
}

}  // namespace layline
