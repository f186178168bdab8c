// Arithmetic in rules, written so that it reads like a formula.
#pragma once

#include <array>

#include "ir/builder.h"

namespace layline::tosa {

/// Builds arithmetic in the dtype of a node's first operand. Operands stand in braces, which keep
/// their order (see Builder::add).
class Formula {
 public:
  Formula(const Builder& build, const Node& node)
      : build_(build), dtype_(node.operand(0)->dtype()) {}

  Value* number(double value) const { return build_.scalar(dtype_, value); }
  Value* add(std::array<Value*, 2> operands) const { return arithmetic(Op::add, operands); }
  Value* sub(std::array<Value*, 2> operands) const { return arithmetic(Op::sub, operands); }
  Value* mul(std::array<Value*, 2> operands) const { return arithmetic(Op::mul, operands); }
  Value* times(Value* a, double b) const { return mul({a, number(b)}); }
  Value* plus(Value* a, double b) const { return add({a, number(b)}); }
  Value* apply(Op op, Value* x) const { return build_.add(op, {x}); }
  Value* is(Op comparison, std::array<Value*, 2> operands) const {
    return arithmetic(comparison, operands);
  }
  Value* is(Op comparison, Value* a, double b) const { return is(comparison, {a, number(b)}); }
  /// Operands are the condition, the value where it holds, and the value elsewhere.
  Value* choose(std::array<Value*, 3> operands) const {
    return build_.add(Op::where, {operands.begin(), operands.end()});
  }
  /// slope * min(x, 0) + max(x, 0)
  Value* leaky(Value* x, Value* slope) const {
    Value* positive = build_.add(Op::maximum, {x, number(0)});
    Value* negative = build_.add(Op::minimum, {x, number(0)});
    return add({positive, mul({negative, slope})});
  }

 private:
  Value* arithmetic(Op op, std::array<Value*, 2> operands) const {
    return build_.add(op, {operands[0], operands[1]});
  }

  const Builder& build_;
  DType dtype_;
};

}  // namespace layline::tosa
