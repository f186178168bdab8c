// Attention, softmax(scale * q k^T + mask) v, in the forms in which frameworks write it out,
// brought to the one that runs fastest:
//
//   scale   A number on q, on k, on both or on the scores, as a factor or a divisor, around moves,
//           casts and constant masks, becomes one factor where it costs the least: on the side
//           whose projection can take it in (fold_scale then does), otherwise on the smallest of
//           q, k and the scores.
//   mask    Scores replaced by minus infinity, or by a number so low that its exponential is 0, are
//           the lesser of the scores and a bound.
//   guard   A row that sees no key gives 0 instead of NaN. Where the mask alone decides, the mask,
//           which is smaller than the scores, is tested; where no row can be hidden, nothing is.
#include <cmath>
#include <limits>
#include <vector>

#include "ir/finite.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"
#include "transforms/scale_sources.h"

namespace layline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Scores are of the order of 10; exp(-10000) is 0 in every float type.
constexpr double kHidden = -1e4;
// Between the scores and the softmax, or between q and the projection.
constexpr int kMostSteps = 16;

/// A constant that is added to the scores, and the factor that comes after it.
struct ConstantMask {
  Node* node;
  int operand;
  double later_factor;
};

struct Attention {
  Node* softmax = nullptr;
  Node* product = nullptr;  // q k^T
  std::vector<Scaling> scalings;
  std::vector<ConstantMask> masks;
  std::vector<Node*> choices;  // where(condition, scores, low) or where(condition, low, scores)
};

bool only_moves(const Node& node) {
  if (node.is(Op::convert)) return is_float(node.operand(0)->dtype());
  return node.is(Op::relayout) || node.is(Op::expand);
}

/// The operand of a choice that is one very low number; the other one is the scores.
std::optional<int> low_side(const Node& choice) {
  for (const int side : {1, 2}) {
    const auto number = uniform_value(choice.operand(side));
    if (number && *number <= kHidden) return side;
  }
  return std::nullopt;
}

double factor_of(const std::vector<Scaling>& scalings) {
  double factor = 1;
  for (const Scaling& scaling : scalings) factor *= scaling.factor;
  return factor;
}

/// Follows the scores back to the product that they are, noting what happens to them on the way.
/// Only values that nothing else reads can be changed, but for the softmax's own operand, which the
/// guard looks at, too.
bool find_product(Value* scores, Attention& attention, int steps) {
  Node* node = scores->def();
  if (node == nullptr || steps == 0) return false;
  const bool is_own = scores == attention.softmax->operand(0) || scores->has_one_use();
  if (node->is(Op::matmul)) {
    attention.product = node;
    // Others that read the product want it without the factors that come after it.
    return is_own || attention.scalings.empty();
  }
  if (!is_own) return false;
  if (const auto scaling = as_scaling(node)) {
    attention.scalings.push_back(*scaling);
    return find_product(node->operand(scaling->operand), attention, steps - 1);
  }
  if (only_moves(*node)) return find_product(node->operand(0), attention, steps - 1);
  if (node->is(Op::where)) {
    const auto low = low_side(*node);
    if (!low) return false;
    // The low number stays as low as it is: factors are moved past it only if they leave it so.
    const double later = factor_of(attention.scalings);
    const bool stays_low = later > 0 && uniform_value(node->operand(*low)) == -kInfinity;
    if (later != 1 && !stays_low) return false;
    attention.choices.push_back(node);
    return find_product(node->operand(3 - *low), attention, steps - 1);
  }
  if (node->is(Op::minimum) && attention.scalings.empty())  // a mask that was recognised before
    return find_product(node->operand(0), attention, steps - 1);
  if (!(node->is(Op::add) || node->is(Op::sub)) || !node->attrs<BinaryAttrs>().bounds.unbounded())
    return false;
  for (const int side : {0, 1}) {
    if (side == 1 && node->is(Op::sub)) break;
    const Value* mask = node->operand(1 - side);
    Attention further = attention;
    // What multiplies the mask as well cannot leave it, unless the mask is constant. Masks that
    // come later keep what multiplies them, too.
    if (constant_of(mask)) {
      further.masks.push_back({node, 1 - side, factor_of(attention.scalings)});
    } else {
      further.scalings.clear();
      further.masks.clear();
    }
    if (!find_product(node->operand(side), further, steps - 1)) continue;
    attention = std::move(further);
    return true;
  }
  return false;
}

/// Collects the factors on an operand of the product.
void find_scalings(Value* value, std::vector<Scaling>& scalings) {
  for (int steps = 0; steps < kMostSteps; ++steps) {
    Node* node = value->def();
    if (node == nullptr || !value->has_one_use()) return;
    if (const auto scaling = as_scaling(node)) {
      scalings.push_back(*scaling);
      value = node->operand(scaling->operand);
    } else if (only_moves(*node)) {
      value = node->operand(0);
    } else {
      return;
    }
  }
}

std::optional<Attention> match(Node* softmax, PassContext& context) {
  const Value* result = softmax->result();
  if (!is_float(result->dtype())) return std::nullopt;
  Attention attention;
  attention.softmax = softmax;
  if (!find_product(softmax->operand(0), attention, kMostSteps)) return std::nullopt;
  if (softmax->attrs<AxisAttrs>().axis != result->type().rank() - 1) {
    context.explain(*softmax, "is no attention: it is not along the last axis of the scores");
    return std::nullopt;
  }
  for (const int side : {0, 1}) find_scalings(attention.product->operand(side), attention.scalings);
  return attention;
}

// ---- The scale ----

enum class Place { q, k, scores };

/// The number of elements; for a dynamic shape, more than any static one has.
int64_t elements(const Value* value) {
  const Dim count = element_count(value->shape());
  return count.is_static() ? count.value() : count.coefficient();
}

Place best_place(const Node& product) {
  if (scale_sources(&product, 0)) return Place::q;
  if (scale_sources(&product, 1)) return Place::k;
  const int64_t q = elements(product.operand(0)), k = elements(product.operand(1));
  const int64_t scores = elements(product.result());
  if (scores < q && scores < k) return Place::scores;
  return k < q ? Place::k : Place::q;
}

/// Whether the one factor that there is stands on the way from the place to the product, so that
/// nothing would be gained.
bool is_at(const Scaling& scaling, const Attention& attention, Place place) {
  std::vector<Scaling> found;
  if (place != Place::scores)
    find_scalings(attention.product->operand(place == Place::q ? 0 : 1), found);
  const bool on_operand =
      std::ranges::any_of(found, [&](const Scaling& other) { return other.node == scaling.node; });
  if (place != Place::scores) return on_operand;
  std::vector<Scaling> before;
  for (const int side : {0, 1}) find_scalings(attention.product->operand(side), before);
  return std::ranges::none_of(before,
                              [&](const Scaling& other) { return other.node == scaling.node; });
}

bool gather_scale(Graph& graph, Attention& attention, PassContext& context) {
  if (attention.scalings.empty()) return false;
  const double factor = factor_of(attention.scalings);
  const bool passes_mask = std::ranges::any_of(
      attention.masks, [](const ConstantMask& mask) { return mask.later_factor != 1; });
  if (!std::isfinite(static_cast<float>(factor)) || (factor <= 0 && !attention.choices.empty()))
    return false;
  const Place place = best_place(*attention.product);
  if (attention.scalings.size() == 1 && !passes_mask &&
      is_at(attention.scalings[0], attention, place))
    return false;
  context.rewrite(*attention.softmax, "is attention, scaled by {} on {}", factor,
                  place == Place::q   ? "the queries"
                  : place == Place::k ? "the keys"
                                      : "the scores");
  for (const ConstantMask& mask : attention.masks) {
    if (mask.later_factor == 1) continue;
    const BuildBefore build(graph, mask.node);
    Value* addend = mask.node->operand(mask.operand);
    graph.set_operand(
        mask.node, mask.operand,
        build.add(Op::mul, {addend, build.scalar(addend->dtype(), mask.later_factor)}));
  }
  for (const Scaling& scaling : attention.scalings)
    replace(graph, scaling.node, scaling.node->operand(scaling.operand));
  if (factor == 1) return true;
  Node* product = attention.product;
  if (place == Place::scores) {
    const BuildBefore build(graph, product->next(), product->origin());
    Value* scores = product->result();
    Value* scaled = build.add(Op::mul, {scores, build.scalar(scores->dtype(), factor)});
    graph.replace_all_uses(scores, scaled);
    graph.set_operand(scaled->def(), 0, scores);
    return true;
  }
  const int side = place == Place::q ? 0 : 1;
  const BuildBefore build(graph, product);
  Value* operand = product->operand(side);
  graph.set_operand(product, side,
                    build.add(Op::mul, {operand, build.scalar(operand->dtype(), factor)}));
  return true;
}

// ---- Masks ----

/// where(condition, scores, low) is the lesser of the scores and where(condition, infinity, low),
/// which is constant or small; exact for all scores that are not below `low` themselves.
bool bound_choices(Graph& graph, const Attention& attention, PassContext& context) {
  constexpr int64_t kMuchSmaller = 4;
  bool changed = false;
  for (Node* choice : attention.choices) {
    const int low = *low_side(*choice);
    Value* scores = choice->operand(3 - low);
    Value* condition = choice->operand(0);
    if (scores->type() != choice->result()->type() || may_be_nan(scores)) continue;
    if (!constant_of(condition) && elements(condition) > elements(scores) / kMuchSmaller) {
      context.explain(*choice, "stays a choice: its condition is as large as the scores");
      continue;
    }
    context.rewrite(*choice, "is a mask of attention");
    const BuildBefore build(graph, choice);
    Value* infinite = build.scalar(scores->dtype(), kInfinity);
    Value* number = build.scalar(scores->dtype(), *uniform_value(choice->operand(low)));
    Value* bound = build.add(
        Op::where, {condition, low == 1 ? number : infinite, low == 1 ? infinite : number});
    replace(graph, choice, build.add(Op::minimum, {scores, bound}));
    changed = true;
  }
  return changed;
}

// ---- Guards ----

/// The number for hidden scores. It is finite, so that a row without any key gives no NaN, and so
/// low that exp gives 0 in other rows.
double lowest(DType dtype) { return dtype == DType::f16 ? -65504.0 : -1e30; }

bool is_uniform(const Value* value, double number) { return uniform_value(value) == number; }

/// A condition on rows of scores, "some key is visible" or its opposite.
struct RowTest {
  const Value* compared = nullptr;   // with minus infinity; or null for
  const Value* condition = nullptr;  // a mask of booleans
  bool condition_hides = false;      // true where a key is hidden
  bool holds_for_hidden = false;     // the test is true for rows without any visible key
};

const Value* without_nots(const Value* condition, bool& inverted) {
  while (condition->def() && condition->def()->is(Op::logical_not)) {
    inverted = !inverted;
    condition = condition->def()->operand(0);
  }
  return condition;
}

/// not any(not (scores == -inf)), all(scores == -inf), any(mask), and so on, along the last axis.
std::optional<RowTest> row_test(const Value* condition) {
  bool inverted = false;
  condition = without_nots(condition, inverted);
  const Node* reduce = condition->def();
  if (reduce == nullptr || !(reduce->is(Op::reduce_any) || reduce->is(Op::reduce_all)))
    return std::nullopt;
  if (reduce->attrs<AxesAttrs>().axes != Ints{reduce->result()->type().rank() - 1})
    return std::nullopt;
  bool hides = reduce->is(Op::reduce_all);  // what the test of elements must say
  RowTest test;
  test.holds_for_hidden = hides != inverted;
  const Value* element = without_nots(reduce->operand(0), hides);
  const Node* comparison = element->def();
  const bool is_equal = comparison && comparison->is(Op::equal);
  const bool is_other =
      comparison && (comparison->is(Op::not_equal) || comparison->is(Op::greater));
  if ((is_equal || is_other) && is_uniform(comparison->operand(1), -kInfinity)) {
    if (is_equal != hides) return std::nullopt;
    test.compared = comparison->operand(0);
  } else {
    test.condition = element;
    test.condition_hides = hides;
  }
  return test;
}

/// What a mask does to scores, taken apart: whether each key is visible, and the scores with a low
/// number, instead of minus infinity, for those that are not.
struct Visibility {
  Value* visible = nullptr;
  Value* scores = nullptr;
};

Value* negated_if(const Builder& build, bool negate, Value* condition) {
  return negate ? build.add(Op::logical_not, {condition}) : condition;
}

/// The side of x, 1 or 2, in where(condition, x, -inf) or the other way round.
std::optional<int> kept_side(const Node* choice) {
  if (choice == nullptr || !choice->is(Op::where)) return std::nullopt;
  for (const int side : {1, 2})
    if (is_uniform(choice->operand(3 - side), -kInfinity)) return side;
  return std::nullopt;
}

Value* with_low(const Builder& build, const Node& choice, int kept) {
  Value* x = choice.operand(kept);
  Value* low = build.scalar(x->dtype(), lowest(x->dtype()));
  return build.add(Op::where, {choice.operand(0), kept == 1 ? x : low, kept == 1 ? low : x});
}

/// Takes the mask apart, if the scores are finite but for one mask that is added to them, or
/// chooses among them.
std::optional<Visibility> visibility(const Builder& build, const Value* scores) {
  const Node* node = scores->def();
  if (const auto kept = kept_side(node)) {
    if (!is_always_finite(node->operand(*kept)) || node->operand(0)->shape().empty())
      return std::nullopt;
    return Visibility{negated_if(build, *kept == 2, node->operand(0)),
                      with_low(build, *node, *kept)};
  }
  if (node == nullptr || !node->is(Op::add) || !node->attrs<BinaryAttrs>().bounds.unbounded())
    return std::nullopt;
  for (const int side : {0, 1}) {
    Value* finite = node->operand(side);
    Value* mask = node->operand(1 - side);
    if (!is_always_finite(finite) || mask->shape().empty()) continue;
    if (const auto kept = kept_side(mask->def()); kept &&
                                                  is_always_finite(mask->def()->operand(*kept)) &&
                                                  !mask->def()->operand(0)->shape().empty())
      return Visibility{negated_if(build, *kept == 2, mask->def()->operand(0)),
                        build.add(Op::add, {finite, with_low(build, *mask->def(), *kept)})};
    Value* hidden = build.scalar(mask->dtype(), -kInfinity);
    Value* low = build.scalar(mask->dtype(), lowest(mask->dtype()));
    return Visibility{build.add(Op::greater, {mask, hidden}),
                      build.add(Op::add, {finite, build.add(Op::maximum, {mask, low})})};
  }
  return std::nullopt;
}

/// Whether the test is about the rows of just these scores.
bool is_about(const RowTest& test, const Value* scores) {
  if (test.compared) return test.compared == scores;
  const Node* choice = scores->def();
  const auto kept = kept_side(choice);
  return kept && choice->operand(0) == test.condition && (*kept == 2) == test.condition_hides;
}

/// `guard` is where(test, 0, softmax) or where(test, softmax, 0).
bool move_guard(Graph& graph, Node* guard, PassContext& context) {
  for (const int side : {1, 2}) {
    const Node* softmax = guard->operand(side)->def();
    if (softmax == nullptr || !softmax->is(Op::softmax) ||
        !is_uniform(guard->operand(3 - side), 0) ||
        softmax->result()->type() != guard->result()->type())
      continue;
    if (const auto truth = known_truth(guard->operand(0))) {
      if (*truth != (side == 1)) return false;
      context.rewrite(*guard, "guards nothing: every row has a visible key");
      replace(graph, guard, guard->operand(side));
      return true;
    }
    const Value* scores = softmax->operand(0);
    const auto test = row_test(guard->operand(0));
    const auto last = softmax->result()->type().rank() - 1;
    if (!test || softmax->attrs<AxisAttrs>().axis != last || !is_about(*test, scores) ||
        test->holds_for_hidden != (side == 2))
      return false;
    const BuildBefore build(graph, guard);
    const auto found = visibility(build, scores);
    if (!found) {
      context.explain(*guard, "stays: the scores may be infinite without the mask");
      return false;
    }
    context.rewrite(*guard, "a row may be hidden: the mask tells which");
    const AxesAttrs keys{{found->visible->type().rank() - 1}};
    Value* keep =
        build.convert(build.add(Op::reduce_any, {found->visible}, keys), guard->result()->dtype());
    Value* weights = build.add(Op::softmax, {found->scores}, AxisAttrs{last});
    replace(graph, guard, build.add(Op::mul, {weights, keep}));
    return true;
  }
  return false;
}

}  // namespace

bool recognise_attention(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (node->is(Op::where)) changed = move_guard(graph, node, context) || changed;
  }
  for (Node* node : graph) {
    if (!node->is(Op::softmax)) continue;
    auto attention = match(node, context);
    if (!attention) continue;
    changed = gather_scale(graph, *attention, context) || changed;
    changed = bound_choices(graph, *attention, context) || changed;
  }
  return changed;
}

}  // namespace layline
