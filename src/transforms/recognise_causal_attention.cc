// Attention in which a query at place p sees the keys 0 to p and no others, and the places begin at
// a number that is known only at run time: a step of a language model with a cache. Written out, it
// multiplies by every key of the cache and hides most of them; a kernel of its own reads no key
// that is hidden. recognise_attention and fold_repeats have brought it to the form that is looked
// for here:
//
//   softmax(q k^T + where(key <= place, 0, low)) v, around views and the guard against rows that
//   see no key, of which there are none: every place sees key 0.
#include "transforms/causal_mask.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

struct Found {
  Value *q, *k, *v, *start;
  Shape queries;  // [batch, heads, queries, features]
};

std::optional<Found> find(const Node& weighted) {
  if (weighted.attrs<MatmulAttrs>().transpose_b) return std::nullopt;
  Value* weights = without_views(weighted.operand(0));
  const Node* guarded = sole(weights, Op::mul);
  const Node* softmax = guarded ? guarded->operand(0)->def() : weights->def();
  if (softmax == nullptr || !softmax->is(Op::softmax) || !softmax->result()->has_one_use())
    return std::nullopt;
  const Node* masked = sole(softmax->operand(0), Op::add);
  if (masked == nullptr || !masked->attrs<BinaryAttrs>().bounds.unbounded()) return std::nullopt;
  // [batch, heads..., queries, keys]: heads that share their keys may have an axis of their own.
  const Shape& scores = masked->result()->shape();
  if (scores.size() < 4 || softmax->attrs<AxisAttrs>().axis != masked->result()->type().rank() - 1)
    return std::nullopt;
  const Dim queries = scores.end()[-2], keys = scores.end()[-1];
  const Dim heads = element_count(Shape(scores.begin() + 1, scores.end() - 2));
  const auto mask = causal_mask(masked->operand(1));
  Value* start = mask && !mask->hides_more ? first_place(mask->places) : nullptr;
  if (start == nullptr || mask->condition->shape().end()[-2] != queries ||
      (guarded && !is_guard(guarded->operand(1), mask->condition)))
    return std::nullopt;
  const Node* product = without_views(masked->operand(0))->def();
  if (!masked->operand(0)->has_one_use() || product == nullptr || !product->is(Op::matmul) ||
      !product->attrs<MatmulAttrs>().transpose_b || !product->result()->has_one_use())
    return std::nullopt;
  Value *q = product->operand(0), *k = without_views(product->operand(1));
  Value* v = without_views(weighted.operand(1));
  // The kernel has one number of features, and caches [batch, heads, keys, features].
  if (k->shape().size() != 4 || k->type() != v->type() || k->dtype() != DType::f32 ||
      k->shape()[0] != scores[0] || k->shape()[2] != keys ||
      product->operand(1)->shape().end()[-1] != k->shape()[3] ||
      weighted.operand(1)->shape().end()[-1] != k->shape()[3] ||
      product->operand(1)->shape().end()[-2] != k->shape()[2] ||
      weighted.operand(1)->shape().end()[-2] != k->shape()[2])
    return std::nullopt;
  return Found{q, k, v, start, {scores[0], heads, queries, k->shape()[3]}};
}

}  // namespace

bool recognise_causal_attention(Graph& graph, PassContext& context) {
  if (!context.target().attends_causally) return false;
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::matmul)) continue;
    const auto found = find(*node);
    if (!found) continue;
    context.rewrite(*node, "reads the keys and values up to each query's place, and no others");
    const BuildBefore build(graph, node);
    static constexpr int kHeadsInside[] = {0, 2, 1, 3};
    Value* start = build.view(build.convert(found->start, DType::i64), {});
    Value* q = build.permute(build.view(found->q, found->queries), kHeadsInside);
    Value* y = build.add(Op::causal_attention, {q, build.permute(found->k, kHeadsInside),
                                                build.permute(found->v, kHeadsInside), start});
    replace(graph, node, build.view(build.permute(y, kHeadsInside), node->result()->shape()));
    changed = true;
  }
  return changed;
}

}  // namespace layline
