#include "ir/finite.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <vector>

#include "ir/evaluate.h"

namespace layline {
namespace {

bool is_finite(const Constant& constant) {
  if (!is_float(constant.dtype())) return true;
  const Tensor tensor = tensor_of(constant);
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (!std::isfinite(tensor.get(i))) return false;
  return true;
}

bool is_minus_infinity(const Value* value) {
  const Constant* constant = constant_of(value);
  if (constant == nullptr || element_count(value->shape()) != Dim(1)) return false;
  return tensor_of(*constant).get(0) == -std::numeric_limits<double>::infinity();
}

/// Whether a constant that broadcasts to `shape` has a finite element along `axes` wherever the
/// other axes are.
bool is_finite_along(const Constant& constant, const Shape& shape, const Ints& axes) {
  const Tensor tensor = tensor_of(constant);
  Tensor finite({DType::boolean, constant.shape()});
  for (int64_t i = 0; i < tensor.count(); ++i) finite.set_int(i, std::isfinite(tensor.get(i)));
  const auto missing = static_cast<int64_t>(shape.size() - constant.shape().size());
  AxesAttrs own;
  for (int64_t axis : axes)
    if (axis >= missing) own.axes.push_back(axis - missing);
  const Tensor any =
      own.axes.empty() ? finite : evaluate_op(Op::reduce_any, std::span(&finite, 1), own);
  for (int64_t i = 0; i < any.count(); ++i)
    if (any.get_int(i) == 0) return false;
  return true;
}

/// What an op's operands must be for its result to have a property that finite constants have.
enum class Step {
  holds,           // whatever they are
  if_first_holds,  // the first has the property
  if_all_hold,
  unknown,
};

struct Property {
  bool of_inputs;  // whether inputs of the graph are taken to have it
  Step (*step)(Op op);
};

/// What keeps numbers finite, in networks whose weights and inputs are finite.
Step finite_step(Op op) {
  switch (op) {
    case Op::linear:
    case Op::matmul:
    case Op::conv:
    case Op::sigmoid:
    case Op::tanh:
    case Op::softmax:
    case Op::normalize:
      return Step::holds;
    case Op::gather:
    case Op::counted_slice:
      return Step::if_first_holds;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::relayout:
    case Op::expand:
    case Op::slice:
    case Op::concat:
      return Step::if_all_hold;
    default:
      return Step::unknown;
  }
}

/// What keeps numbers from being NaN.
Step number_step(Op op) {
  switch (op) {
    case Op::linear:
    case Op::conv:
    case Op::conv_transpose:
      return Step::holds;
    case Op::div:
    case Op::pow:
    case Op::log:
    case Op::log1p:
    case Op::log_softmax:
    case Op::sqrt:
    case Op::reciprocal:
    case Op::fmod:
    case Op::remainder:
    case Op::floor_div:
      return Step::unknown;
    default:
      return Step::if_all_hold;
  }
}

bool holds_throughout(const Value* value, const Property& property) {
  constexpr size_t kMostValues = 1000;  // beyond which it is not worth knowing
  std::vector<const Value*> pending = {value};
  std::unordered_set<const Value*> seen;
  while (!pending.empty()) {
    const Value* next = pending.back();
    pending.pop_back();
    if (!seen.insert(next).second) continue;
    if (seen.size() > kMostValues) return false;
    if (const Constant* constant = constant_of(next)) {
      if (!is_finite(*constant)) return false;
      continue;
    }
    if (next->def() == nullptr) {
      if (!property.of_inputs) return false;
      continue;
    }
    const auto operands = next->def()->operands();
    switch (property.step(next->def()->op())) {
      case Step::holds:
        break;
      case Step::if_first_holds:
        pending.push_back(operands[0]);
        break;
      case Step::if_all_hold:
        pending.insert(pending.end(), operands.begin(), operands.end());
        break;
      case Step::unknown:
        return false;
    }
  }
  return true;
}

/// Whether the scores have a finite element along `axes` everywhere, although a constant mask hides
/// some.
bool is_finite_somewhere(const Value* scores, const Ints& axes) {
  if (is_always_finite(scores)) return true;
  const Node* sum = scores->def();
  if (sum == nullptr || !sum->is(Op::add)) return false;
  for (int mask : {0, 1}) {
    const Constant* constant = constant_of(sum->operand(mask));
    if (constant && is_float(constant->dtype()) && is_always_finite(sum->operand(1 - mask)))
      return is_finite_along(*constant, scores->shape(), axes);
  }
  return false;
}

/// The value that is compared with minus infinity for equality; null if there is none. Null also if
/// there are no elements: "any" of none is false, and "all" of none is true.
const Value* compared_with_minus_infinity(const Value* condition) {
  const Node* node = condition->def();
  if (node == nullptr || !node->is(Op::equal)) return nullptr;
  if (!is_static(condition->shape()) || element_count(condition->shape()).is_zero()) return nullptr;
  for (int side : {0, 1})
    if (is_minus_infinity(node->operand(side))) return node->operand(1 - side);
  return nullptr;
}

/// Whether `any` is any(not (scores == -inf)) and always true.
bool leaves_something(const Node& any) {
  const Node* inverse = any.operand(0)->def();
  if (inverse == nullptr || !inverse->is(Op::logical_not)) return false;
  const Value* scores = compared_with_minus_infinity(inverse->operand(0));
  return scores && is_finite_somewhere(scores, any.attrs<AxesAttrs>().axes);
}

}  // namespace

bool is_always_finite(const Value* value) {
  return holds_throughout(value, {.of_inputs = false, .step = finite_step});
}

bool may_be_nan(const Value* value) {
  return !holds_throughout(value, {.of_inputs = true, .step = number_step});
}

std::optional<bool> known_truth(const Value* condition) {
  bool inverted = false;
  for (const Node* node = condition->def(); node != nullptr; node = condition->def()) {
    switch (node->op()) {
      case Op::logical_not:
        inverted = !inverted;
        break;
      case Op::reduce_any:
        if (leaves_something(*node)) return !inverted;
        break;
      case Op::reduce_all:
      case Op::relayout:
      case Op::expand:
        break;
      case Op::equal: {
        const Value* compared = compared_with_minus_infinity(condition);
        return compared && is_always_finite(compared) ? std::optional(inverted) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
    condition = node->operand(0);
  }
  return std::nullopt;
}

}  // namespace layline
