// Arithmetic of rules, written as it reads.
#pragma once

#include "ir/builder.h"

namespace layline::tosa {

/// On the dtype of a node's first operand.
class Formula {
 public:
  Formula(const Builder& build, const Node& node)
      : build_(build), dtype_(node.operand(0)->dtype()) {}

  Value* number(double value) const { return build_.scalar(dtype_, value); }
  Value* add(Value* a, Value* b) const { return build_.binary(Op::add, a, b); }
  Value* sub(Value* a, Value* b) const { return build_.binary(Op::sub, a, b); }
  Value* mul(Value* a, Value* b) const { return build_.binary(Op::mul, a, b); }
  Value* times(Value* a, double b) const { return mul(a, number(b)); }
  Value* plus(Value* a, double b) const { return add(a, number(b)); }
  Value* apply(Op op, Value* x) const { return build_.add(op, {x}); }
  Value* is(Op comparison, Value* a, Value* b) const { return build_.binary(comparison, a, b); }
  Value* is(Op comparison, Value* a, double b) const { return is(comparison, a, number(b)); }
  Value* choose(Value* condition, Value* yes, Value* no) const {
    return build_.add(Op::where, {condition, yes, no});
  }
  /// slope * min(x, 0) + max(x, 0)
  Value* leaky(Value* x, Value* slope) const {
    return add(build_.binary(Op::maximum, x, number(0)),
               mul(build_.binary(Op::minimum, x, number(0)), slope));
  }

 private:
  const Builder& build_;
  DType dtype_;
};

}  // namespace layline::tosa
