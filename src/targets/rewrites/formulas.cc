#include "targets/rewrites/formulas.h"

#include <cmath>
#include <numbers>

namespace layline::rewrites {
namespace {

Value* scalar(const Builder& build, const Value* like, double value) {
  return build.scalar(like->dtype(), value);
}

}  // namespace

/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), Hendrycks & Gimpel.
Value* gelu_tanh(const Builder& build, const Node& node) {
  if (!node.attrs<GeluAttrs>().tanh) return nullptr;
  Value* x = node.operand(0);
  auto times = [&](Value* value, double factor) {
    return build.add(Op::mul, {value, scalar(build, x, factor)});
  };
  auto plus_one = [&](Value* value) { return build.add(Op::add, {value, scalar(build, x, 1)}); };
  Value* cubic = plus_one(times(build.add(Op::square, {x}), 0.044715));
  Value* inner = build.add(Op::mul, {times(x, std::sqrt(2 / std::numbers::pi)), cubic});
  return build.add(Op::mul, {times(x, 0.5), plus_one(build.add(Op::tanh, {inner}))});
}

/// x - max - log(sum(exp(x - max))): the logarithm of a softmax that may be 0 would be infinite.
Value* log_softmax(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  const int64_t axis = node.attrs<AxisAttrs>().axis;
  if (!x->shape()[static_cast<size_t>(axis)].is_static()) return nullptr;
  const AxesAttrs axes{{axis}};
  x = build.add(Op::sub, {x, build.add(Op::reduce_max, {x}, axes)});
  Value* sum = build.add(Op::reduce_sum, {build.add(Op::exp, {x})}, axes);
  return build.add(Op::sub, {x, build.add(Op::log, {sum})});
}

/// Written out. Half floats are summed in single precision, which squares may need.
Value* normalize(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<NormalizeAttrs>();
  const DType dtype = node.result()->dtype();
  Value* x = node.operand(0);
  if (byte_size(dtype) < byte_size(DType::f32)) x = build.convert(x, DType::f32);
  const AxesAttrs axes{attrs.axes};
  if (attrs.center) x = build.add(Op::sub, {x, build.add(Op::reduce_mean, {x}, axes)});
  Value* variance = build.add(Op::reduce_mean, {build.add(Op::square, {x})}, axes);
  Value* shifted = build.add(Op::add, {variance, scalar(build, x, attrs.eps)});
  return build.convert(build.add(Op::mul, {x, build.add(Op::rsqrt, {shifted})}), dtype);
}

}  // namespace layline::rewrites
