#include "targets/rewrites/formulas.h"

#include <cmath>
#include <numbers>

#include "ir/tensor.h"

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

Value* causal_attention(const Builder& build, const Node& node) {
  static constexpr int kHeadsInside[] = {0, 2, 1, 3};
  if (!is_static(node.result()->shape()) || !is_static(node.operand(1)->shape())) return nullptr;
  Value* q = build.permute(node.operand(0), kHeadsInside);
  Value* k = build.permute(node.operand(1), kHeadsInside);
  Value* v = build.permute(node.operand(2), kHeadsInside);
  const Dim batch = k->shape()[0], groups = k->shape()[1], keys = k->shape()[2];
  const Dim features = k->shape()[3], heads = *divide(q->shape()[1], groups);
  const Dim queries = q->shape()[2], rows = heads * queries;
  const auto count = [&](const Dim& size, Shape shape) {
    Tensor numbers({DType::i64, std::move(shape)});
    for (int64_t i = 0; i < size.value(); ++i) numbers.set_int(i, i);
    return build.constant(numbers);
  };
  const DType dtype = q->dtype();
  Value* places = build.add(Op::add, {count(queries, {queries, 1}), node.operand(3)});
  Value* seen = build.add(Op::less_equal, {count(keys, {keys}), places});
  Value* mask = build.add(Op::where, {seen, build.scalar(dtype, 0), build.scalar(dtype, -1e30)});
  Value* scores = build.add(Op::matmul, {build.view(q, {batch, groups, rows, features}), k},
                            MatmulAttrs{.transpose_b = true});
  scores = build.view(scores, {batch, groups, heads, queries, keys});
  Value* weights = build.add(Op::softmax, {build.add(Op::add, {scores, mask})}, AxisAttrs{4});
  weights = build.view(weights, {batch, groups, rows, keys});
  Value* y = build.add(Op::matmul, {weights, v}, MatmulAttrs{});
  return build.permute(build.view(y, q->shape()), kHeadsInside);
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
