#include "transforms/causal_mask.h"

#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

// As for recognise_attention: exp(-10000) is 0 in every float type.
constexpr double kHidden = -1e4;

/// Whether the elements are 0, 1, 2 ...
bool counts(const Value* value) {
  if (const Node* node = value->def(); node && node->is(Op::slice)) {
    const auto& [start, size, step] = node->attrs<SliceAttrs>();
    return start == Ints{0} && step == Ints{1} && counts(node->operand(0));
  }
  const Constant* data = constant_of(value);
  if (data == nullptr || !is_integer(data->dtype())) return false;
  const Tensor numbers = tensor_of(*data);
  for (int64_t i = 0; i < numbers.count(); ++i)
    if (numbers.get_int(i) != i) return false;
  return true;
}

/// Whether all elements lie along one axis of `shape`, counted from the end.
bool lies_along(const Value* list, const Shape& shape, size_t from_end) {
  const Shape& own = list->shape();
  return own.size() >= from_end && own[own.size() - from_end] == shape[shape.size() - from_end] &&
         element_count(own) == own[own.size() - from_end];
}

/// The places of a condition [..., queries, keys], if it is key <= place; else null.
Value* compared_places(const Value* condition) {
  const Node* compares = condition->def();
  if (compares == nullptr || condition->shape().size() < 2) return nullptr;
  const bool turned = compares->is(Op::greater_equal);
  if (!turned && !compares->is(Op::less_equal)) return nullptr;
  const Value* keys = compares->operand(turned ? 1 : 0);
  Value* places = compares->operand(turned ? 0 : 1);
  const bool fits = lies_along(keys, condition->shape(), 1) && counts(keys) &&
                    lies_along(places, condition->shape(), 2) && is_integer(places->dtype()) &&
                    constant_of(places) == nullptr;
  return fits ? places : nullptr;
}

}  // namespace

Value* without_views(Value* value) {
  while (const Relayout* moved = relayout_of(value)) {
    if (!moved->is_view()) break;
    value = value->def()->operand(0);
  }
  return value;
}

Node* sole(Value* value, Op op) {
  return value->def() && value->def()->is(op) && value->has_one_use() ? value->def() : nullptr;
}

std::optional<CausalMask> causal_mask(Value* mask) {
  const Node* choice = mask->def();
  if (choice == nullptr || !choice->is(Op::where)) return std::nullopt;
  const auto seen = uniform_value(choice->operand(1)), hidden = uniform_value(choice->operand(2));
  if (!seen || *seen != 0 || !hidden || *hidden > kHidden) return std::nullopt;
  const Shape& shape = mask->shape();
  Value* condition = choice->operand(0);
  if (shape.size() < 2 || condition->shape() != shape ||
      element_count(shape) != shape.end()[-1] * shape.end()[-2])
    return std::nullopt;
  if (Value* places = compared_places(condition)) return CausalMask{condition, places, false};
  const Node* both = condition->def();
  if (both == nullptr || !both->is(Op::logical_and)) return std::nullopt;
  for (const Value* side : both->operands())
    if (Value* places = side->shape() == shape ? compared_places(side) : nullptr)
      return CausalMask{condition, places, true};
  return std::nullopt;
}

bool is_guard(const Value* factor, const Value* condition) {
  const Node* as_number = factor->def();
  if (as_number == nullptr || !as_number->is(Op::convert)) return false;
  const Node* any = without_views(as_number->operand(0))->def();
  return any != nullptr && any->is(Op::reduce_any) && any->operand(0) == condition;
}

Value* first_place(Value* places) {
  Value* list = without_views(places);
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

}  // namespace layline
