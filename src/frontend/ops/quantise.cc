#include "frontend/ops/quantise.h"

#include <algorithm>
#include <cmath>

#include "base/all_zero.h"
#include "frontend/ops/shapes.h"
#include "ir/evaluate.h"
#include "ir/integer_rows.h"

namespace layline::ops {
namespace {

/// The f32 value that was widened to f64 only because torch hands scales over so.
Value* scale_parameter(const Builder& build, Value* scale) {
  const layline::Node* def = scale->def();
  while (def && (def->is(Op::relayout) || def->is(Op::convert)) &&
         (def->operand(0)->dtype() == DType::f32 || def->is(Op::relayout)))
    def = (scale = def->operand(0))->def();
  return build.convert(scale, DType::f32);
}

Value* parameter_root(Value* value) {
  while (value->def() && value->def()->is(Op::relayout)) value = value->def()->operand(0);
  return value;
}

/// A scale or zero point in the shape in which it repeats along x: chosen from x, one for each
/// block of a table with these dims, or one for all.
Value* spread(const Builder& build, Value* parameter, const Value* x, const Shape& table) {
  parameter = parameter_root(parameter);
  if (!table.empty() && parameter->shape().size() < table.size() &&
      element_count(parameter->shape()) == element_count(table))
    parameter = build.view(parameter, table);
  if (broadcast(parameter->shape(), x->shape()) == x->shape()) return parameter;
  if (element_count(parameter->shape()).is_one()) return build.view(parameter, {});
  Shape shape = parameter->shape();
  shape.resize(x->shape().size(), Dim(1));
  return view(build, parameter, shape);
}

}  // namespace

const Constant& known(const Builder& build, const Value* value, std::string_view what) {
  const Constant* constant = constant_of(value);
  if (constant == nullptr)
    build.fail("the {} is computed when the model runs, which is not supported here", what);
  return *constant;
}

namespace {

std::vector<float> floats(const Constant& constant) {
  std::vector<float> numbers(static_cast<size_t>(element_count(constant.shape()).value()));
  if (constant.dtype() == DType::f32) {
    constant.materialise(std::as_writable_bytes(std::span(numbers)));
    return numbers;
  }
  const Tensor tensor = tensor_of(constant);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(tensor.get(static_cast<int64_t>(i)));
  return numbers;
}

/// Zero points, or nothing if all are 0.
std::vector<int32_t> integers(const Builder& build, const Constant& constant) {
  bool is_zero = true;  // as in a language model, which stores as many as it has scales
  constant.stream([&](std::span<const std::byte> piece) { is_zero = is_zero && all_zero(piece); });
  if (is_zero) return {};
  const Tensor tensor = tensor_of(constant);
  std::vector<int32_t> zero_points;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double zero_point = tensor.get(i);
    if (zero_point != std::trunc(zero_point) || zero_point < -0x1p31 || zero_point >= 0x1p31)
      build.fail("the zero point {} is no integer", zero_point);
    zero_points.push_back(static_cast<int32_t>(zero_point));
  }
  if (std::ranges::all_of(zero_points, [](int32_t zero) { return zero == 0; })) return {};
  return zero_points;
}

}  // namespace

Quantisation table(const Builder& build, const Integers& range, const Constant& scales,
                   const Constant* zero_points, std::vector<int64_t> dims) {
  Quantisation result{range.dtype, range.min, range.max, std::move(dims), floats(scales), {}};
  if (zero_points && zero_points->byte_count() > 0) {
    const Dim count = element_count(zero_points->shape());
    if (count != element_count(scales.shape()))
      build.fail("{} scales and {} zero points", result.scales.size(), count.value());
    result.zero_points = integers(build, *zero_points);
  }
  if (result.scales.size() == 1) result.dims.clear();
  return result;
}

std::vector<int64_t> dims_per_channel(const Value* x, int64_t axis, int64_t count) {
  std::vector<int64_t> dims(x->shape().size(), 1);
  dims[static_cast<size_t>(axis)] = count;
  return dims;
}

Shape dims_per_block(const Builder& build, const Value* x, const Shape& block) {
  if (block.size() != x->shape().size())
    build.fail("blocks {} do not fit {}", to_string(block), to_string(x->type()));
  Shape dims;
  for (size_t axis = 0; axis < block.size(); ++axis) {
    const auto blocks = divide(x->shape()[axis], block[axis]);
    if (!blocks) build.fail("blocks {} do not divide {}", to_string(block), to_string(x->type()));
    dims.push_back(*blocks);
  }
  return dims;
}

std::vector<int64_t> dims_per_group(const Builder& build, const Value* x, int64_t group) {
  const Shape& shape = x->shape();
  const auto groups = shape.empty() || group < 1 ? std::nullopt : divide(shape.back(), group);
  if (!groups || !is_static(shape))
    build.fail("groups of {} do not divide {}", group, to_string(x->type()));
  std::vector<int64_t> dims = static_dims(shape);
  dims.back() = groups->value();
  return dims;
}

Value* quantise(const Builder& build, Value* x, Quantisation quantisation) {
  Value* typed = build.add(Op::quantize, {build.convert(x, DType::f32)},
                           QuantisationAttrs{std::move(quantisation)});
  return build.add(Op::reinterpret, {typed}, QuantisationAttrs{});
}

Value* dequantise(const Builder& build, Value* x, Quantisation quantisation) {
  Value* typed = build.add(Op::reinterpret, {x}, QuantisationAttrs{std::move(quantisation)});
  return build.add(Op::dequantize, {typed});
}

Value* embedding(const Builder& build, const Embedding& table, Value* indices) {
  const Shape& bytes = table.bytes->shape();
  if (bytes.size() != 2 || !is_static(bytes))
    build.fail("expected a table of rows, found {}", to_string(table.bytes->type()));
  const Dim columns = bytes[1] * Dim(table.packing.in_a_byte());
  // A scale for each row is one for a group as long as the row.
  const auto grouped = [&](Value* parameter, std::string_view what) {
    const Shape& shape = parameter->shape();
    const Dim groups = shape.size() == 2 ? shape[1] : Dim(1);
    if (shape.empty() || shape.size() > 2 || shape[0] != bytes[0] || !divide(columns, groups))
      build.fail("{} {} for {} rows of {}", what, to_string(parameter->type()), to_string(bytes[0]),
                 to_string(columns));
    return build.convert(build.view(parameter, {bytes[0], groups}), DType::f32);
  };
  Value* scales = grouped(table.scales, "the scales");
  Value* zero_points = table.zero_points ? grouped(table.zero_points, "the zero points") : nullptr;
  if (zero_points && zero_points->shape() != scales->shape())
    build.fail("scales {} and zero points {}", to_string(scales->type()),
               to_string(zero_points->type()));
  if (table.lift != 0) {
    Value* lift = build.scalar(DType::f32, table.lift);
    zero_points = zero_points ? build.add(Op::add, {zero_points, lift}) : lift;
  }
  return real_rows(build,
                   {.bytes = table.bytes,
                    .packing = table.packing,
                    .row = {columns},
                    .blocks = {scales->shape()[1]},
                    .scales = scales,
                    .zero_points = zero_points},
                   indices);
}

Value* quantise_by(const Builder& build, Value* x, const Parameters& by, const Integers& range) {
  return build.add(
      Op::quantize_by,
      {build.convert(x, DType::f32), spread(build, scale_parameter(build, by.scale), x, by.blocks),
       spread(build, by.zero_point, x, by.blocks)},
      IntegerAttrs{range.dtype, range.min, range.max});
}

Value* dequantise_by(const Builder& build, Value* x, const Parameters& by) {
  return build.add(Op::dequantize_by,
                   {x, spread(build, scale_parameter(build, by.scale), x, by.blocks),
                    spread(build, by.zero_point, x, by.blocks)});
}

Parameters choose(const Builder& build, Value* x, ChooseAttrs attrs) {
  x = build.convert(x, DType::f32);
  Value* scale = build.add(Op::choose_scale, {x}, attrs);
  return {scale, build.add(Op::choose_zero_point, {x}, std::move(attrs))};
}

}  // namespace layline::ops
