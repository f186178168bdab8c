// A product of one-hot rows with a constant matrix reads rows of that matrix.
//
//   linear(x == [0 ... n-1] ? on : off, W, b)   =   table[clamp(x, -1, n) + 1]
//
// Row i + 1 of the table is what x = i gives. Its first and last rows are what all other numbers
// give, so nothing outside the table is ever read. The numbers may begin elsewhere than at 0.
#include "ir/evaluate.h"
#include "ir/finite.h"
#include "transforms/passes.h"
#include "transforms/weighted_op.h"

namespace layline {
namespace {

/// Rows that have `on` where x equals a place, and `off` elsewhere.
struct OneHot {
  Value* x;
  const Value* places;  // a constant
  double on, off;
  Relayout move;  // from the shape of the comparison to that of the rows
};

bool holds(DType dtype, double number) {
  Tensor tensor({dtype, {}});
  tensor.set(0, number);
  return tensor.get(0) == number;
}

/// Reads a value as a comparison with a constant that is made a number, perhaps by a choice between
/// two, and moved.
std::optional<OneHot> one_hot(const Value* value) {
  OneHot found{nullptr, nullptr, 1, 0, Relayout::identity(value->shape())};
  bool chosen = false;
  std::vector<DType> dtypes;  // of what is computed from the choice
  for (const Node* node = value->def(); node != nullptr; node = node->operand(0)->def()) {
    if (const Relayout* relayout = relayout_of(node->result())) {
      const auto both = relayout->then(found.move);
      if (!both) return std::nullopt;
      found.move = *both;
    } else if (node->is(Op::convert)) {
      dtypes.push_back(node->result()->dtype());
    } else if (node->is(Op::where) && !chosen) {
      const auto on = uniform_value(node->operand(1)), off = uniform_value(node->operand(2));
      if (!on || !off || node->operand(0)->shape() != node->result()->shape()) return std::nullopt;
      for (const DType dtype : dtypes)
        if (!holds(dtype, *on) || !holds(dtype, *off)) return std::nullopt;
      found.on = *on;
      found.off = *off;
      chosen = true;
    } else if (node->is(Op::equal)) {
      const int side = constant_of(node->operand(0)) != nullptr ? 0 : 1;
      found.places = node->operand(side);
      found.x = node->operand(1 - side);
      return constant_of(found.places) != nullptr ? std::optional(found) : std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// The number at the first place of every row, if the places of a row are consecutive numbers.
std::optional<int64_t> first_place(const OneHot& rows) {
  constexpr int64_t kMost = 1 << 30;  // so that x also holds the numbers beside the places
  const auto moved = rows.move.for_broadcast(rows.places->shape());
  if (!moved || element_count(moved->target()) != moved->target().back()) return std::nullopt;
  const Tensor places = tensor_of(constant_of(rows.places)->relaid(*moved));
  const int64_t first = places.get_int(0);
  if (first < -kMost || first > kMost - places.count()) return std::nullopt;
  for (int64_t i = 1; i < places.count(); ++i)
    if (places.get_int(i) != first + i) return std::nullopt;
  return first;
}

/// What linear makes of each row: with no place hit, with each of them, and with none again.
Value* table(const Builder& build, const Node& linear, const OneHot& rows) {
  static constexpr int kSwap[] = {1, 0};
  Value* weight = linear.operand(1);
  auto number = [&](double value) { return build.scalar(weight->dtype(), value); };
  Value* hits = build.permute(weight, kSwap);
  if (rows.on - rows.off != 1) hits = build.add(Op::mul, {hits, number(rows.on - rows.off)});
  Value* entries = build.add(Op::pad, {hits}, PadAttrs{{1, 0}, {1, 0}});
  if (rows.off != 0) {
    Value* all = build.add(Op::reduce_sum, {build.permute(weight, kSwap)}, AxesAttrs{{0}});
    entries = build.add(Op::add, {entries, build.add(Op::mul, {all, number(rows.off)})});
  }
  if (linear.operand_count() > 2) entries = build.add(Op::add, {entries, linear.operand(2)});
  return entries;
}

/// Whether the product is one that a table can hold.
bool is_tabular(const Node& linear) {
  if (!is_weighted_op(&linear) || !linear.attrs<LinearAttrs>().bounds.unbounded()) return false;
  const TensorType& weight = linear.operand(1)->type();
  const int64_t rows = weight.shape[1].value();
  return rows > 0 && byte_count({weight.dtype, {rows + 2, weight.shape[0]}}) <= kMostRewrittenBytes;
}

bool gather(Graph& graph, Node* linear, PassContext& context) {
  const auto rows = one_hot(linear->operand(0));
  if (!rows || !is_integer(rows->x->dtype()) || !is_tabular(*linear)) return false;
  const auto first = first_place(*rows);
  const auto moved = rows->move.for_broadcast(rows->x->shape());
  if (!first || !moved || !moved->target().back().is_one()) return false;
  Value* weight = linear->operand(1);
  if (!is_always_finite(weight)) {
    context.explain(*linear, "does not read rows of {}: 0 times infinity is no number",
                    weight->name());
    return false;
  }
  context.rewrite(*linear, "reads the rows of {} that {} names", weight->name(), rows->x->name());
  const BuildBefore build(graph, linear);
  const Shape& shape = moved->target();
  Value* x = build.view(build.relayout(rows->x, *moved), {shape.begin(), shape.end() - 1});
  if (x->dtype() != DType::i64) x = build.convert(x, DType::i32);
  const int64_t end = *first + weight->shape()[1].value();
  x = build.clamp(x, static_cast<double>(*first - 1), static_cast<double>(end));
  x = build.add(Op::add, {x, build.scalar(x->dtype(), static_cast<double>(1 - *first))});
  replace(graph, linear, build.add(Op::gather, {table(build, *linear, *rows), x}, AxisAttrs{0}));
  return true;
}

}  // namespace

bool gather_one_hot(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph)
    if (node->is(Op::linear)) changed = gather(graph, node, context) || changed;
  return changed;
}

}  // namespace layline
