#include "targets/rewrites/quantised.h"

#include <limits>
#include <numeric>

#include "ir/tensor.h"

namespace layline::rewrites {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value* number(const Builder& build, double value) { return build.scalar(DType::f32, value); }

/// A table over whole axes as a constant that broadcasts; null for groups.
template <typename Entry>
Value* table(const Builder& build, const Quantisation& quantisation, const Shape& shape,
             Entry entry) {
  for (size_t axis = 0; axis < quantisation.dims.size(); ++axis)
    if (quantisation.dims[axis] != 1 && Dim(quantisation.dims[axis]) != shape[axis]) return nullptr;
  Tensor values({DType::f32, Shape(quantisation.dims.begin(), quantisation.dims.end())});
  for (size_t i = 0; i < quantisation.scales.size(); ++i)
    values.set(static_cast<int64_t>(i), static_cast<double>(entry(i)));
  return build.constant(values);
}

/// round(x * inverse) + zero_point, within [min, max].
Value* rounded(const Builder& build, Value* x, Value* inverse, Value* zero_point, int64_t min,
               int64_t max) {
  Value* y = build.add(Op::round, {build.add(Op::mul, {x, inverse})});
  y = build.add(Op::add, {y, zero_point});
  return build.clamp(y, static_cast<double>(min), static_cast<double>(max));
}

Value* quantize(const Builder& build, const Node& node) {
  const Quantisation& by = *node.result()->type().quantisation;
  const Shape& shape = node.result()->shape();
  Value* inverse = table(build, by, shape, [&](size_t i) {
    return static_cast<float>(1.0 / static_cast<double>(by.scale(i)));
  });
  if (inverse == nullptr) return nullptr;
  Value* zero_point =
      table(build, by, shape, [&](size_t i) { return static_cast<float>(by.zero_point(i)); });
  Value* y = rounded(build, node.operand(0), inverse, zero_point, by.min, by.max);
  return build.add(Op::reinterpret, {build.convert(y, by.dtype)}, node.attributes());
}

Value* dequantize(const Builder& build, const Node& node) {
  const Quantisation& by = *node.operand(0)->type().quantisation;
  const Shape& shape = node.result()->shape();
  Value* scale = table(build, by, shape, [&](size_t i) { return by.scale(i); });
  if (scale == nullptr) return nullptr;
  Value* zero_point =
      table(build, by, shape, [&](size_t i) { return static_cast<float>(by.zero_point(i)); });
  Value* plain = build.add(Op::reinterpret, {node.operand(0)}, QuantisationAttrs{});
  Value* y = build.add(Op::sub, {build.convert(plain, DType::f32), zero_point});
  return build.add(Op::mul, {y, scale});
}

Value* quantize_by(const Builder& build, const Node& node) {
  const auto& integers = node.attrs<IntegerAttrs>();
  Value* inverse = build.add(Op::reciprocal, {node.operand(1)});
  Value* zero_point = build.convert(node.operand(2), DType::f32);
  Value* y = rounded(build, node.operand(0), inverse, zero_point, integers.min, integers.max);
  return build.convert(y, integers.to);
}

Value* dequantize_by(const Builder& build, const Node& node) {
  Value* zero_point = build.convert(node.operand(2), DType::f32);
  Value* y = build.add(Op::sub, {build.convert(node.operand(0), DType::f32), zero_point});
  return build.add(Op::mul, {y, node.operand(1)});
}

/// The least and the greatest element, and 0.
std::pair<Value*, Value*> extent(const Builder& build, const Node& node) {
  const AxesAttrs axes{node.attrs<ChooseAttrs>().axes};
  Value* x = node.operand(0);
  return {build.clamp(build.add(Op::reduce_min, {x}, axes), -kInfinity, 0),
          build.clamp(build.add(Op::reduce_max, {x}, axes), 0, kInfinity)};
}

Value* choose_scale(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<ChooseAttrs>();
  const auto [least, greatest] = extent(build, node);
  const double steps = static_cast<double>(attrs.max - attrs.min);
  Value* scale = nullptr;
  if (attrs.symmetric) {
    Value* largest = build.add(Op::maximum, {build.add(Op::neg, {least}), greatest});
    scale = build.add(Op::div, {largest, number(build, steps / 2)});
  } else {
    Value* range = build.add(Op::sub, {greatest, least});
    scale = build.add(Op::div, {range, number(build, steps)});
  }
  return build.clamp(scale, attrs.eps, kInfinity);
}

Value* choose_zero_point(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<ChooseAttrs>();
  const auto min = static_cast<double>(attrs.min), max = static_cast<double>(attrs.max);
  if (attrs.symmetric) {
    Value* middle = build.scalar(DType::i64, static_cast<double>((attrs.min + attrs.max + 1) / 2));
    return build.expand(middle, node.result()->shape());
  }
  const auto [least, greatest] = extent(build, node);
  Value* scale = build.add(Op::choose_scale, {node.operand(0)}, attrs);
  Value* low = build.add(Op::div, {least, scale});
  Value* zero_point = nullptr;
  if (attrs.balanced) {
    Value* high = build.add(Op::div, {greatest, scale});
    Value* low_error = build.add(Op::add, {low, number(build, min)});
    Value* high_error = build.add(Op::add, {high, number(build, max)});
    Value* fits_low =
        build.add(Op::greater, {build.add(Op::add, {low_error, high_error}), number(build, 0)});
    Value* chosen = build.add(Op::where, {fits_low, build.add(Op::sub, {number(build, min), low}),
                                          build.add(Op::sub, {number(build, max), high})});
    zero_point = build.add(Op::round, {build.clamp(chosen, min, max)});
  } else {
    Value* steps = build.add(Op::round, {low});
    zero_point = build.clamp(build.add(Op::sub, {number(build, min), steps}), min, max);
  }
  return build.convert(zero_point, DType::i64);
}

/// x as a dynamic op reads it: quantised with a scale for each row or image, and back.
Value* dynamic_operand(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  const int64_t outer = node.is(Op::linear) ? x->type().rank() - 1 : 1;
  ChooseAttrs attrs;
  attrs.axes.resize(x->shape().size() - static_cast<size_t>(outer));
  std::iota(attrs.axes.begin(), attrs.axes.end(), outer);
  attrs.eps = std::numeric_limits<float>::min();  // any scale holds zeros alone
  attrs.balanced = true;
  Value* scale = build.add(Op::choose_scale, {x}, attrs);
  Value* zero_point = build.add(Op::choose_zero_point, {x}, attrs);
  Value* integers = build.add(Op::quantize_by, {x, scale, zero_point}, IntegerAttrs{});
  return build.add(Op::dequantize_by, {integers, scale, zero_point});
}

}  // namespace

Value* bias_apart(const Builder& build, const Node& node) {
  if (!node.is(Op::linear) || node.operand_count() < 3 || is_dynamic(node.attributes()) ||
      node.operand(0)->type().quantisation || node.result()->type().quantisation)
    return nullptr;
  Value* product = build.add(Op::linear, {node.operand(0), node.operand(1)}, LinearAttrs{});
  return build.add(Op::add, {product, node.operand(2)},
                   BinaryAttrs{node.attrs<LinearAttrs>().bounds});
}

Value* on_reals(const Builder& build, const Node& node) {
  if (!is_quantised(node) || node.is(Op::quantize) || node.is(Op::dequantize) ||
      node.is(Op::reinterpret))
    return nullptr;
  std::vector<Value*> operands;
  for (Value* operand : node.operands())
    operands.push_back(operand->type().quantisation ? build.add(Op::dequantize, {operand})
                                                    : operand);
  Attributes attributes = node.attributes();
  if (is_dynamic(attributes)) operands[0] = dynamic_operand(build, node);
  std::visit(
      [](auto& attrs) {
        if constexpr (requires { attrs.dynamic; }) attrs.dynamic = false;
      },
      attributes);
  if (QuantisationRef* own = quantisation_of(attributes)) *own = {};
  Value* y = build.add(node.op(), std::move(operands), std::move(attributes));
  const QuantisationRef& quantisation = node.result()->type().quantisation;
  return quantisation ? build.add(Op::quantize, {y}, QuantisationAttrs{quantisation}) : y;
}

Value* in_arithmetic(const Builder& build, const Node& node) {
  switch (node.op()) {
    case Op::quantize:
      return quantize(build, node);
    case Op::dequantize:
      return dequantize(build, node);
    case Op::quantize_by:
      return quantize_by(build, node);
    case Op::dequantize_by:
      return dequantize_by(build, node);
    case Op::choose_scale:
      return choose_scale(build, node);
    case Op::choose_zero_point:
      return choose_zero_point(build, node);
    default:
      return nullptr;
  }
}

}  // namespace layline::rewrites
