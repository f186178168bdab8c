// Attention on a cache of which only the front is filled: a step of a language model. As written,
// every query is multiplied by every key of the cache, and a mask hides the keys after its place.
// What is hidden has weight 0, so that no key after the last place need be read:
//
//   y = softmax(q k^T + mask) v     becomes     y_h = softmax(q_h k_h[:n]^T + mask[:n]) v_h[:n]
//
// for each head h of the cache, where n is the last place, rounded up so that it seldom changes:
// the runtime plans its memory anew when it does. The keys of a head up to n are a run of the
// cache's memory, so that nothing is copied (MethodBuilder::define_run); those of all heads are
// not.
#include <map>

#include "transforms/causal_mask.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

struct Attention {
  Value *q, *k, *v;           // [1, heads, rows, features], caches [1, heads, keys, features]
  std::vector<Node*> scores;  // what is applied to the product, in the order of application
  CausalMask mask;
  Value* added;         // the mask itself
  Value* guard;         // null if there is none, or if it is always 1
  Dim queries, groups;  // rows = groups * queries
};

bool is_unary(const Node& node) {
  return is_elementwise(node.op()) &&
         std::ranges::all_of(node.operands().subspan(1),
                             [](const Value* operand) { return has_one_element(operand); });
}

/// What the value is a view of, as long as nothing else reads it and rows stay what they are.
Value* regrouped(Value* value) {
  while (const Node* view = sole(value, Op::relayout)) {
    const Relayout& moved = view->attrs<RelayoutAttrs>().relayout;
    if (!moved.is_view() || moved.source().empty() ||
        moved.source().back() != moved.target().back())
      break;
    value = view->operand(0);
  }
  return value;
}

/// A cache [1, heads, keys, features] that is written in place, or null. Only such scatters are
/// left (expand_scatters).
Value* cache(Value* operand) {
  Value* cache = without_views(operand);
  const Value* root = cache;
  while (root->def() && root->def()->is(Op::relayout)) root = root->def()->operand(0);
  const Shape& shape = cache->shape();
  const bool fits = root->def() && root->def()->is(Op::scatter) && shape.size() == 4 &&
                    is_static(shape) && shape[0].is_one() && cache->dtype() == DType::f32 &&
                    operand->shape().end()[-1] == shape[3] &&
                    operand->shape().end()[-2] == shape[2];
  return fits ? cache : nullptr;
}

bool has_rows(const Value* value, const Dim& keys);

/// Whether the value can be computed anew from what its operands are for the rows of one head.
bool is_computed_in_rows(const Value* value, const Dim& keys) {
  const Node* node = value->def();
  return node != nullptr && is_elementwise(node->op()) &&
         std::ranges::all_of(node->operands(),
                             [&](const Value* operand) { return has_rows(operand, keys); });
}

/// Whether in_rows can make of the value what the rows of one head need.
bool has_rows(const Value* value, const Dim& keys) {
  const Shape& shape = value->shape();
  return shape.empty() || shape.back().is_one() || element_count(shape) == keys ||
         is_computed_in_rows(value, keys);
}

std::optional<Attention> find(const Node& weighted, int64_t least_keys) {
  if (weighted.attrs<MatmulAttrs>().transpose_b || weighted.operand(1)->shape().size() < 3)
    return std::nullopt;
  Attention found{};
  Value* x = regrouped(weighted.operand(0));
  if (const Node* guarded = sole(x, Op::mul)) {
    found.guard = guarded->operand(1);
    x = guarded->operand(0);
  }
  const Node* softmax = sole(x, Op::softmax);
  if (softmax == nullptr) return std::nullopt;
  const Node* masked = sole(softmax->operand(0), Op::add);
  if (masked == nullptr || !masked->attrs<BinaryAttrs>().bounds.unbounded()) return std::nullopt;
  // [1, heads..., queries, keys]: heads that share their keys may have an axis of their own.
  const Shape& scores = masked->result()->shape();
  if (scores.size() < 4 || softmax->attrs<AxisAttrs>().axis != masked->result()->type().rank() - 1)
    return std::nullopt;
  const Dim keys = scores.end()[-1];
  const auto mask = causal_mask(found.added = masked->operand(1));
  if (!mask || found.added->shape().end()[-1] != keys || !has_rows(found.added, keys))
    return std::nullopt;
  found.mask = *mask;
  if (found.guard && !is_guard(found.guard, mask->condition)) return std::nullopt;
  // Every query sees the key at its own place, unless more is hidden: then a query may see none,
  // and its weights are alike for all keys of the cache, unless a guard makes them 0.
  if (mask->hides_more && found.guard == nullptr) return std::nullopt;
  if (!mask->hides_more) found.guard = nullptr;

  for (x = regrouped(masked->operand(0)); x->def() && is_unary(*x->def()) && x->has_one_use();
       x = regrouped(x->def()->operand(0)))
    found.scores.insert(found.scores.begin(), x->def());
  const Node* product = sole(x, Op::matmul);
  if (product == nullptr || !product->attrs<MatmulAttrs>().transpose_b ||
      product->operand(1)->shape().size() < 3)
    return std::nullopt;
  found.k = cache(product->operand(1));
  found.v = cache(weighted.operand(1));
  if (!found.k || !found.v || found.k->shape()[1] != found.v->shape()[1] ||
      found.k->shape()[2] != found.v->shape()[2] || found.k->shape()[2] != keys ||
      found.k->shape()[2].value() < least_keys)
    return std::nullopt;
  found.q = product->operand(0);
  const Dim rows = found.q->shape().end()[-2];
  found.queries = found.added->shape().end()[-2];
  const auto groups = divide(rows, found.queries);
  if (!groups || !groups->is_static() ||
      element_count(found.q->shape()) != found.k->shape()[1] * rows * found.k->shape()[3])
    return std::nullopt;
  found.groups = *groups;
  // Queries of a head lie one after the other, whether or not heads were regrouped.
  if (scores[0] != Dim(1) || (!found.queries.is_one() && scores.end()[-2] != found.queries))
    return std::nullopt;
  return found;
}

/// How many keys are read, i64[], and the symbol that is that number.
struct Filled {
  Value* count = nullptr;
  Dim size = {};
};

/// Builds one attention head by head.
class Heads {
 public:
  Heads(const Builder& build, const Attention& attention, const Filled& filled)
      : build_(build), attention_(attention), filled_(filled) {}

  Value* result() const {
    const Shape &k = attention_.k->shape(), &v = attention_.v->shape();
    const Dim &queries = attention_.queries, &groups = attention_.groups;
    Value* q = build_.view(attention_.q, {1, k[1] * groups, queries, k[3]});
    Value* mask = of_filled(attention_.added);
    Value* guard = attention_.guard ? of_filled(attention_.guard) : nullptr;
    std::vector<Value*> heads;
    for (int64_t head = 0; head < k[1].value(); ++head) {
      Value* rows = build_.slice(q, 1, head * groups.value(), groups);
      Value* x = build_.add(Op::matmul, {rows, filled(attention_.k, head)},
                            MatmulAttrs{.transpose_b = true});
      for (const Node* node : attention_.scores) {
        std::vector<Value*> operands(node->operands().begin(), node->operands().end());
        operands[0] = x;
        for (size_t i = 1; i < operands.size(); ++i) operands[i] = build_.view(operands[i], {});
        x = build_.add(node->op(), std::move(operands), node->attributes());
      }
      x = build_.add(Op::softmax, {build_.add(Op::add, {x, mask})}, AxisAttrs{3});
      if (guard) x = build_.add(Op::mul, {x, guard});
      heads.push_back(build_.add(Op::matmul, {x, filled(attention_.v, head)}, MatmulAttrs{}));
    }
    const Dim rows = attention_.q->shape().end()[-2];
    return build_.view(build_.concat(std::move(heads), 1), {1, v[1], rows, v[3]});
  }

 private:
  /// The keys or values of a head up to n, [n, features]: a run of the rows of all heads.
  Value* filled(Value* cache, int64_t head) const {
    const Shape& shape = cache->shape();
    Value* all = build_.view(cache, {shape[1] * shape[2], shape[3]});
    return build_.add(Op::counted_slice, {all, filled_.count},
                      CountedSliceAttrs{0, {head * shape[2].value(), 0}, {filled_.size, shape[3]}});
  }

  /// The value [..., queries, keys] for the keys that are read: [1, 1, queries, n], or 1 in place
  /// of either.
  Value* of_filled(Value* value) const {
    const Dim keys = attention_.k->shape()[2];
    const Shape& shape = value->shape();
    if (has_one_element(value)) return build_.view(value, {1, 1, 1, 1});
    if (shape.back().is_one()) return build_.view(value, {1, 1, attention_.queries, 1});
    if (!is_computed_in_rows(value, keys))
      return build_.add(Op::counted_slice, {build_.view(value, {1, 1, 1, keys}), filled_.count},
                        CountedSliceAttrs{3, {0, 0, 0, 0}, {1, 1, 1, filled_.size}});
    std::vector<Value*> operands;
    for (Value* operand : value->def()->operands()) operands.push_back(of_filled(operand));
    return build_.add(value->def()->op(), std::move(operands), value->def()->attributes());
  }

  const Builder& build_;
  const Attention& attention_;
  const Filled& filled_;
};

/// The keys up to the last place, in whole steps, as far as the cache reaches.
Value* count_of(const Builder& build, Value* places, int64_t step, int64_t keys) {
  const auto number = [&](int64_t value) {
    return build.scalar(DType::i64, static_cast<double>(value));
  };
  Value* last = build.convert(places, DType::i64);
  if (!has_one_element(last)) {
    Ints axes;
    for (size_t a = 0; a < last->shape().size(); ++a) axes.push_back(static_cast<int64_t>(a));
    last = build.add(Op::reduce_max, {last}, AxesAttrs{axes});
  }
  Value* steps = build.add(Op::floor_div, {build.view(last, {}), number(step)});
  Value* filled = build.add(Op::mul, {build.add(Op::add, {steps, number(1)}), number(step)});
  return build.add(Op::minimum, {filled, number(keys)});
}

}  // namespace

bool attend_to_filled(Graph& graph, PassContext& context) {
  const auto [least, step] = context.target().counted_keys;
  if (least == 0) return false;
  bool changed = false;
  // By places and keys: layers share what is counted. Counting keeps the places alive.
  std::map<std::pair<const Value*, int64_t>, Filled> counted;
  for (Node* node : graph) {
    if (!node->is(Op::matmul)) continue;
    const auto found = find(*node, least);
    if (!found) continue;
    context.rewrite(*node, "reads the keys and values that are filled, and no others");
    const BuildBefore build(graph, node);
    const int64_t keys = found->k->shape()[2].value();
    Filled& filled = counted[{found->mask.places, keys}];
    if (filled.count == nullptr)
      filled = {count_of(build, found->mask.places, step, keys),
                Dim::symbol(graph.symbol_table().add({"keys", std::min(step, keys), keys, {}}))};
    replace(graph, node,
            build.view(Heads(build, *found, filled).result(), node->result()->shape()));
    changed = true;
  }
  return changed;
}

}  // namespace layline
