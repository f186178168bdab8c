// Attention in which a query at place p sees the keys 0 to p and no others, and the places begin at
// a number that is known only at run time: a step of a language model with a cache. Written out, it
// multiplies by every key of the cache and hides most of them; a kernel of its own reads no key
// that is hidden. recognise_attention and fold_repeats have brought it to the form that is looked
// for here:
//
//   softmax(q k^T + where(key <= place, 0, low)) v, around views and the guard against rows that
//   see no key, of which there are none: every place sees key 0.
#include <algorithm>

#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

// As for recognise_attention: exp(-10000) is 0 in every float type.
constexpr double kHidden = -1e4;

Value* without_views(Value* value) {
  while (const Relayout* moved = relayout_of(value)) {
    if (!moved->is_view()) break;
    value = value->def()->operand(0);
  }
  return value;
}

/// Whether the elements are 0, 1, 2 ...
bool counts(const Value* value) {
  const Constant* data = constant_of(value);
  if (data == nullptr || !is_integer(data->dtype())) return false;
  const Tensor numbers = tensor_of(*data);
  for (int64_t i = 0; i < numbers.count(); ++i)
    if (numbers.get_int(i) != i) return false;
  return true;
}

/// The first of the places start, start + 1 ...; null if the list is another one, or constant.
Value* first_place(Value* list) {
  if (constant_of(list) != nullptr) return nullptr;
  if (has_one_element(list)) return list;
  const Node* sum = list->def();
  if (sum == nullptr || !sum->is(Op::add)) return nullptr;
  for (const int side : {0, 1}) {
    Value* start = sum->operand(1 - side);
    if (counts(sum->operand(side)) && has_one_element(start) && !constant_of(start))
      return without_views(start);
  }
  return nullptr;
}

/// Where the queries of a condition [..., queries, keys] begin, if it is key <= place; else null.
Value* start_of(const Value* condition) {
  const Node* compares = condition->def();
  if (compares == nullptr || condition->shape().size() < 2) return nullptr;
  const bool turned = compares->is(Op::greater_equal);
  if (!turned && !compares->is(Op::less_equal)) return nullptr;
  const Value* keys = compares->operand(turned ? 1 : 0);
  Value* places = compares->operand(turned ? 0 : 1);
  const auto is_along = [&](const Value* list, size_t from_end) {
    const Shape& shape = condition->shape();
    return element_count(list->shape()) == shape[shape.size() - from_end] &&
           list->shape().size() >= from_end &&
           list->shape()[list->shape().size() - from_end] == element_count(list->shape());
  };
  if (!is_along(keys, 1) || !is_along(places, 2) || !counts(keys)) return nullptr;
  return first_place(without_views(places));
}

/// The condition of where(condition, 0, low), broadcast over all but the last two axes; or null.
Value* condition_of(const Value* mask) {
  const Node* choice = mask->def();
  if (choice == nullptr || !choice->is(Op::where)) return nullptr;
  const auto seen = uniform_value(choice->operand(1)), hidden = uniform_value(choice->operand(2));
  if (!seen || *seen != 0 || !hidden || *hidden > kHidden) return nullptr;
  const Shape& shape = mask->shape();
  const bool is_matrix =
      shape.size() >= 2 && element_count(shape) == shape.end()[-1] * shape.end()[-2];
  return is_matrix ? choice->operand(0) : nullptr;
}

bool is_guard(const Value* factor, const Value* condition) {
  const Node* as_number = factor->def();
  if (as_number == nullptr || !as_number->is(Op::convert)) return false;
  const Node* any = without_views(as_number->operand(0))->def();
  return any != nullptr && any->is(Op::reduce_any) && any->operand(0) == condition;
}

struct Found {
  Value *q, *k, *v, *start;
  Shape queries;  // [batch, heads, queries, features]
};

/// The value itself where nothing else reads it, so that it is not needed any more.
Node* only_def(Value* value, Op op) {
  return value->def() && value->def()->is(op) && value->has_one_use() ? value->def() : nullptr;
}

std::optional<Found> find(const Node& weighted) {
  if (weighted.attrs<MatmulAttrs>().transpose_b) return std::nullopt;
  Value* weights = without_views(weighted.operand(0));
  const Node* guarded = only_def(weights, Op::mul);
  const Node* softmax = guarded ? guarded->operand(0)->def() : weights->def();
  if (softmax == nullptr || !softmax->is(Op::softmax) || !softmax->result()->has_one_use())
    return std::nullopt;
  const Node* masked = only_def(softmax->operand(0), Op::add);
  if (masked == nullptr || !masked->attrs<BinaryAttrs>().bounds.unbounded()) return std::nullopt;
  const Shape& scores = masked->result()->shape();
  if (scores.size() != 4 || softmax->attrs<AxisAttrs>().axis != 3) return std::nullopt;
  Value* condition = condition_of(masked->operand(1));
  Value* start = condition ? start_of(condition) : nullptr;
  if (start == nullptr || condition->shape().end()[-2] != scores[2] ||
      (guarded && !is_guard(guarded->operand(1), condition)))
    return std::nullopt;
  const Node* product = without_views(masked->operand(0))->def();
  if (product == nullptr || !product->is(Op::matmul) ||
      !product->attrs<MatmulAttrs>().transpose_b || !product->result()->has_one_use())
    return std::nullopt;
  Value *q = product->operand(0), *k = without_views(product->operand(1));
  Value* v = without_views(weighted.operand(1));
  // The kernel has one number of features, and caches [batch, heads, keys, features].
  if (k->shape().size() != 4 || k->type() != v->type() || k->dtype() != DType::f32 ||
      k->shape()[0] != scores[0] || k->shape()[2] != scores[3] ||
      product->operand(1)->shape().end()[-1] != k->shape()[3] ||
      weighted.operand(1)->shape().end()[-1] != k->shape()[3] ||
      product->operand(1)->shape().end()[-2] != k->shape()[2] ||
      weighted.operand(1)->shape().end()[-2] != k->shape()[2])
    return std::nullopt;
  return Found{q, k, v, start, {scores[0], scores[1], scores[2], k->shape()[3]}};
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
