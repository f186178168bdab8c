// Quantisation: tensors of integers with their scales and zero points, and ops on them.
//
// Ops on integers are imported as dequantise, compute, quantise. That is what they mean, and a pass
// (type_quantised) makes ops on integers of it, whichever of the two forms a model has.
#include "frontend/ops/quantise.h"

#include <algorithm>
#include <numeric>

#include "frontend/onnx/ops/conv.h"
#include "frontend/onnx/ops/pool.h"
#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/products.h"
#include "frontend/ops/reduction.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"
#include "ir/packed_integers.h"

namespace layline::onnx {
namespace {

/// The scales of a tensor: one; one for each index of an axis; or, with as many axes as the
/// tensor, one for each block of it.
struct Scales {
  Value* scale;
  Value* zero_point;  // null for 0
  int64_t axis = 0;
};

bool is_small(DType dtype) { return is_integer(dtype) && byte_size(dtype) <= 2; }

/// A parameter as a tensor that broadcasts to x.
Value* spread(const Call& call, Value* parameter, const Value* x, int64_t axis) {
  const Shape& shape = x->shape();
  if (element_count(parameter->shape()).is_one()) return call.view(parameter, {});
  if (shape.empty())
    call.fail("has scales {} for {}", to_string(parameter->type()), to_string(x->type()));
  if (parameter->shape().size() == 1) {
    Shape along(shape.size() - static_cast<size_t>(axis), Dim(1));
    along[0] = parameter->shape()[0];
    return call.view(parameter, along);
  }
  for (size_t i = 0; i < parameter->shape().size() && i < shape.size(); ++i) {
    const Dim blocks = parameter->shape()[i];
    if (blocks.is_one() || blocks == shape[i]) continue;
    const auto block = divide(shape[i], blocks);
    if (!block || !block->is_static())
      call.fail("{} blocks do not divide axis {} of {}", to_string(blocks), i,
                to_string(x->type()));
    parameter = ops::repeat_elements(call, parameter, static_cast<int64_t>(i), block->value());
  }
  return parameter;
}

/// The quantisation, if the model stores the scales. Then it belongs to the type of the integers.
std::optional<Quantisation> stored(const Call& call, const Value* x, const Scales& scales,
                                   DType dtype) {
  const Tensor* scale = call.constant_value(scales.scale);
  const Tensor* zero_point = scales.zero_point ? call.constant_value(scales.zero_point) : nullptr;
  if (scale == nullptr || (scales.zero_point && zero_point == nullptr) || !is_small(dtype))
    return std::nullopt;
  std::vector<int64_t> dims = scale->dims();
  if (scale->rank() <= 1 && !x->shape().empty())
    dims = ops::dims_per_channel(x, scales.axis, scale->count());
  // Kernels have no blocks but those of weights.
  const bool is_weight = constant_of(x) != nullptr;
  for (size_t i = 0; !is_weight && i < std::min(dims.size(), x->shape().size()); ++i)
    if (dims[i] != 1 && Dim(dims[i]) != x->shape()[i]) return std::nullopt;
  const auto [least, greatest] = integer_range(dtype);
  const std::optional<Constant> zeros =
      zero_point ? std::optional(Constant::of(*zero_point)) : std::nullopt;
  return ops::table(call, {dtype, least, greatest}, Constant::of(*scale), zeros ? &*zeros : nullptr,
                    std::move(dims));
}

/// The real numbers that integers stand for, f32.
Value* real(const Call& call, Value* x, const Scales& scales) {
  if (auto quantisation = stored(call, x, scales, x->dtype()))
    return ops::dequantise(call, x, *std::move(quantisation));
  Value* number = call.convert(x, is_small(x->dtype()) ? DType::f32 : x->dtype());
  if (scales.zero_point != nullptr) {
    Value* zero = spread(call, scales.zero_point, x, scales.axis);
    number = call.add(Op::sub, {number, call.convert(zero, number->dtype())});
  }
  Value* scale = call.convert(spread(call, scales.scale, x, scales.axis), DType::f32);
  return call.add(Op::mul, {call.convert(number, DType::f32), scale});
}

/// Real numbers as integers: rounded to even, and kept in the range of the type.
Value* rounded(const Call& call, Value* x, const Scales& scales, DType dtype) {
  if (!is_small(dtype)) call.fail("quantises to {}, which is not supported", name(dtype));
  x = call.convert(x, DType::f32);
  if (auto quantisation = stored(call, x, scales, dtype))
    return ops::quantise(call, x, *std::move(quantisation));
  Value* scale = call.convert(spread(call, scales.scale, x, scales.axis), DType::f32);
  Value* y = call.add(Op::round, {call.add(Op::div, {x, scale})});
  if (scales.zero_point != nullptr) {
    Value* zero = spread(call, scales.zero_point, x, scales.axis);
    y = call.add(Op::add, {y, call.convert(zero, DType::f32)});
  }
  const auto [least, greatest] = integer_range(dtype);
  return call.convert(call.clamp(y, static_cast<double>(least), static_cast<double>(greatest)),
                      dtype);
}

/// A tensor, its scale and its zero point are three inputs, from `first` on.
Value* real_input(const Call& call, size_t first, int64_t axis = 0) {
  Value* x = call.input(first);
  return real(call, x, {call.input(first + 1), call.optional(first + 2), axis});
}

/// The scale and the zero point of a result are two inputs; the zero point has the result's type.
Value* rounded_result(const Call& call, Value* y, size_t scale, DType otherwise) {
  Value* zero_point = call.optional(scale + 1);
  const DType dtype = zero_point ? zero_point->dtype() : otherwise;
  return rounded(call, y, {call.input(scale), zero_point}, dtype);
}

int64_t axis_of(const Call& call, const Value* x, const Value* scale) {
  const int64_t rank = x->type().rank();
  return rank == 0 || scale->shape().empty() || element_count(scale->shape()).is_one()
             ? 0
             : call.axis(call.integer("axis", 1), rank);
}

void quantise_linear(Call& call) {
  Value* x = call.input(0);
  Value* scale = call.input(1);
  Value* zero_point = call.optional(2);
  const DType dtype = zero_point ? zero_point->dtype() : call.dtype("output_dtype", DType::u8);
  call.result(rounded(call, x, {scale, zero_point, axis_of(call, x, scale)}, dtype));
}

void dequantise_linear(Call& call) {
  Value* x = call.input(0);
  Value* scale = call.input(1);
  Value* y = real(call, x, {scale, call.optional(2), axis_of(call, x, scale)});
  call.result(call.convert(y, call.dtype("output_dtype", scale->dtype())));
}

// ---- Scales that are chosen when the model runs ----

constexpr ops::Integers kBytes{DType::u8, 0, 255};

/// The scale and zero point for integers of 8 bits that fit all of x.
ops::Parameters chosen(const Call& call, Value* x) {
  ChooseAttrs attrs;
  attrs.axes = ops::all_axes(x);
  attrs.min = kBytes.min;
  attrs.max = kBytes.max;
  attrs.eps = 0x1p-120;  // for an x of zeros only
  return ops::choose(call, x, std::move(attrs));
}

void dynamic_quantise_linear(Call& call) {
  Value* x = call.input(0);
  const ops::Parameters by = chosen(call, x);
  const Scales scales{by.scale, call.convert(by.zero_point, kBytes.dtype)};
  call.result(rounded(call, x, scales, kBytes.dtype));
  call.result(call.view(scales.scale, {}));
  call.result(call.view(scales.zero_point, {}));
}

/// What was quantised, with scales that are chosen from it.
struct Dynamic {
  Value* x;
  ops::Parameters by;
};

/// What DynamicQuantizeLinear has made integers and their zero point of, if it has.
std::optional<Dynamic> quantised_dynamically(Value* integers, Value* zero_point) {
  for (const Op op : {Op::convert, Op::clamp, Op::add, Op::round, Op::div}) {
    if (integers->def() == nullptr || !integers->def()->is(op)) return std::nullopt;
    if (op != Op::div) integers = integers->def()->operand(0);
  }
  const auto chosen_by = [](Value* parameter, Op op) -> Value* {
    while (parameter && parameter->def() &&
           (parameter->def()->is(Op::relayout) || parameter->def()->is(Op::convert)))
      parameter = parameter->def()->operand(0);
    return parameter && parameter->def() && parameter->def()->is(op) ? parameter : nullptr;
  };
  Value* x = integers->def()->operand(0);
  Value* scale = chosen_by(integers->def()->operand(1), Op::choose_scale);
  Value* zero = chosen_by(zero_point, Op::choose_zero_point);
  if (scale == nullptr || zero == nullptr || scale->def()->operand(0) != x ||
      zero->def()->operand(0) != x)
    return std::nullopt;
  return Dynamic{x, {scale, zero}};
}

/// x as integers, and as real numbers again. Contractions with quantised weights then quantise it
/// themselves (quantise_dynamically).
Value* quantised_and_back(const Call& call, Value* x, const ops::Parameters& by,
                          const ops::Integers& range) {
  return ops::dequantise_by(call, ops::quantise_by(call, x, by, range), by);
}

/// Whether contractions that quantise what they read take this weight.
bool is_symmetric_weight(const Call& call, const Value* weight, const Value* zero_point) {
  if (weight->dtype() != DType::i8 || constant_of(weight) == nullptr) return false;
  const Tensor* zeros = zero_point ? call.constant_value(zero_point) : nullptr;
  if (zero_point != nullptr && zeros == nullptr) return false;
  for (int64_t i = 0; zeros && i < zeros->count(); ++i)
    if (zeros->get_int(i) != 0) return false;
  return true;
}

/// The sums of integers that a contraction of real numbers came to, whose scale is that of x.
Value* sums_of(const Call& call, Value* y, const Dynamic& dynamic) {
  constexpr double kLeast = -0x1p31, kGreatest = 0x1p31 - 0x1p7;  // as floats
  Value* sum = call.add(Op::round, {call.add(Op::div, {y, call.view(dynamic.by.scale, {})})});
  return call.convert(call.clamp(sum, kLeast, kGreatest), DType::i32);
}

// ---- Sums of products of integers ----

/// So many products of integers of 9 bits have a sum that f32 holds exactly.
constexpr int64_t kExactProducts = 256;

/// Integers less their zero point, as floats.
Value* centred(const Call& call, Value* x, Value* zero_point, int64_t axis, DType dtype) {
  Value* number = call.convert(x, dtype);
  if (zero_point == nullptr) return number;
  Value* zero = spread(call, zero_point, x, axis);
  return call.add(Op::sub, {number, call.convert(zero, dtype)});
}

/// x times a matrix [in, out], with one scale, or one for each column. The weight is moved while it
/// is integers, so that it stays a stored one.
Value* linear(const Call& call, Value* x, Value* matrix, Scales scales, Value* bias) {
  if (matrix->shape().size() != 2) {
    scales.axis = std::max<int64_t>(matrix->type().rank() - 1, 0);
    Value* y = ops::matmul(call, x, real(call, matrix, scales));
    return bias ? call.add(Op::add, {y, bias}) : y;
  }
  if (scales.scale->shape().size() == 2) {
    scales.scale = ops::swap_axes(call, scales.scale, 0, 1);
    if (scales.zero_point != nullptr)
      scales.zero_point = ops::swap_axes(call, scales.zero_point, 0, 1);
  }
  Value* weight = real(call, ops::swap_axes(call, matrix, 0, 1), scales);
  return ops::linear(call, x, weight, bias);
}

/// The exact product of integers, an i32: the sum of products that f32 holds exactly. Where the
/// model has just quantised one of them for it, kernels do both at once, and more finely.
void matmul_integer(Call& call) {
  if (const auto dynamic = quantised_dynamically(call.input(0), call.optional(2));
      dynamic && is_symmetric_weight(call, call.input(1), call.optional(3))) {
    Value* x = quantised_and_back(call, dynamic->x, dynamic->by, kBytes);
    Value* y = linear(call, x, call.input(1), {call.scalar(DType::f32, 1), nullptr}, nullptr);
    return call.result(sums_of(call, y, *dynamic));
  }
  const int64_t rank_a = call.input(0)->type().rank(), rank_b = call.input(1)->type().rank();
  if (rank_a == 0 || rank_b == 0) call.fail("takes no single numbers");
  const int64_t along_a = rank_a - 1, along_b = std::max<int64_t>(rank_b - 2, 0);
  Value* a =
      centred(call, call.input(0), call.optional(2), std::max<int64_t>(rank_a - 2, 0), DType::f32);
  Value* b =
      centred(call, call.input(1), call.optional(3), std::max<int64_t>(rank_b - 1, 0), DType::f32);
  const int64_t length = ops::static_length(call, a, along_a);
  Value* total = nullptr;
  for (int64_t start = 0; start < length; start += kExactProducts) {
    const Dim size(std::min(kExactProducts, length - start));
    Value* left = call.slice(a, along_a, start, size);
    Value* part = ops::matmul(call, left, call.slice(b, along_b, start, size));
    part = call.convert(part, DType::i32);
    total = total ? call.add(Op::add, {total, part}) : part;
  }
  if (total == nullptr) call.fail("sums no elements");
  call.result(total);
}

/// The exact convolution of integers, an i32, or like matmul_integer that of kernels. Channels are
/// convolved so many at a time that f32 holds the sums exactly; f64 holds those of a group.
void conv_integer(Call& call) {
  Value* x = call.input(0);
  Value* weight = call.input(1);
  if (weight->shape().size() < 3 || !is_static(weight->shape()))
    call.fail("its weight is {}", to_string(weight->type()));
  if (const auto dynamic = quantised_dynamically(x, call.optional(2));
      dynamic && is_symmetric_weight(call, weight, call.optional(3))) {
    x = quantised_and_back(call, dynamic->x, dynamic->by, kBytes);
    weight = real(call, weight, {call.scalar(DType::f32, 1), nullptr});
    return call.result(sums_of(call, convolve(call, x, weight, nullptr), *dynamic));
  }
  const int64_t channels = weight->shape()[1].value();
  const int64_t window = product({weight->shape().begin() + 2, weight->shape().end()}).value();
  const bool is_whole = call.integer("group", 1) != 1 || window > kExactProducts;
  const DType dtype = is_whole && channels * window > kExactProducts ? DType::f64 : DType::f32;
  x = centred(call, x, call.optional(2), 0, dtype);
  weight = centred(call, weight, call.optional(3), 0, dtype);
  if (is_whole) return call.result(call.convert(convolve(call, x, weight, nullptr), DType::i32));
  const int64_t step = std::max<int64_t>(1, kExactProducts / std::max<int64_t>(1, window));
  Value* total = nullptr;
  for (int64_t start = 0; start < channels; start += step) {
    const Dim size(std::min(step, channels - start));
    Value* part = call.slice(x, 1, start, size);
    part = convolve(call, part, call.slice(weight, 1, start, size), nullptr);
    part = call.convert(part, DType::i32);
    total = total ? call.add(Op::add, {total, part}) : part;
  }
  if (total == nullptr) call.fail("sums no elements");
  call.result(total);
}

// ---- Ops on quantised tensors ----

/// The bias is integers whose scale is that of x times that of the weight.
void qlinear_conv(Call& call) {
  Value* x = real_input(call, 0);
  Value* weight = real_input(call, 3);
  Value* bias = call.optional(8);
  if (bias != nullptr) {
    Value* scale = call.add(Op::mul, {ops::view(call, call.input(1), {}), call.input(4)});
    bias = call.add(Op::mul, {call.convert(bias, DType::f32), scale});
  }
  Value* y = convolve(call, x, weight, bias);
  call.result(rounded_result(call, y, 6, call.input(0)->dtype()));
}

void qlinear_matmul(Call& call) {
  Value* a = real_input(call, 0, std::max<int64_t>(call.input(0)->type().rank() - 2, 0));
  Value* y = linear(call, a, call.input(3), {call.input(4), call.optional(5)}, nullptr);
  call.result(rounded_result(call, y, 6, call.input(0)->dtype()));
}

/// MatMulIntegerToFloat: a, b, the scale of each, the zero point of each, a bias.
void matmul_integer_to_float(Call& call) {
  Value* a = call.input(0);
  a = real(call, a, {call.input(2), call.optional(4), std::max<int64_t>(a->type().rank() - 2, 0)});
  call.result(linear(call, a, call.input(1), {call.input(3), call.optional(5)}, call.optional(6)));
}

/// DynamicQuantizeMatMul: a, b, the scale and the zero point of b, a bias.
void dynamic_quantise_matmul(Call& call) {
  Value* a = call.input(0);
  a = quantised_and_back(call, a, chosen(call, a), kBytes);
  call.result(linear(call, a, call.input(1), {call.input(2), call.optional(3)}, call.optional(4)));
}

template <Op op>
void qlinear_binary(Call& call) {
  Value* a = real_input(call, 0);
  Value* y = call.add(op, {a, real_input(call, 3)});
  call.result(rounded_result(call, y, 6, call.input(0)->dtype()));
}

using Function = Value* (*)(const Call& call, Value* x);

template <Function function>
void qlinear_function(Call& call) {
  Value* y = function(call, real_input(call, 0));
  call.result(rounded_result(call, y, 3, call.input(0)->dtype()));
}

Value* sigmoid(const Call& call, Value* x) { return call.add(Op::sigmoid, {x}); }

Value* leaky_relu(const Call& call, Value* x) {
  return call.add(Op::leaky_relu, {x}, AlphaAttrs{call.number("alpha", 0.01F)});
}

/// A pool of images whose channels may come last.
template <Function pool>
Value* pooled(const Call& call, Value* x) {
  if (!call.flag("channels_last", false)) return pool(call, x);
  return call.to_channels_last(pool(call, call.from_channels_last(x)));
}

Value* global_average_pool(const Call& call, Value* x) {
  if (x->shape().size() < 3) call.fail("takes no {}", to_string(x->type()));
  Ints axes(x->shape().size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return ops::reduce(call, Op::reduce_mean, x, {axes, true});
}

/// The scale and the zero point of the result, and then three inputs for each part.
void qlinear_concat(Call& call) {
  std::vector<Value*> parts;
  for (size_t i = 2; i + 2 < call.input_count(); i += 3) parts.push_back(real_input(call, i));
  if (parts.empty()) call.fail("has no parts");
  const int64_t axis = call.axis(call.integer("axis"), parts[0]->type().rank());
  call.result(rounded_result(call, call.concat(parts, axis), 0, call.input(2)->dtype()));
}

// ---- Weights of few bits ----

/// Zero points for each block: packed like the weight, or numbers.
Tensor zero_points_of_blocks(const Call& call, const Tensor& given, int bits, int64_t rows,
                             int64_t blocks) {
  Tensor zeros({DType::f32, {rows, blocks}});
  const double lift = 1 << (bits - 1);
  if (given.dtype() == DType::u8) {
    const int64_t row_bytes = (blocks * bits + 7) / 8;
    if (given.count() != rows * row_bytes)
      call.fail("has {} bytes of zero points for {} rows of {}", given.count(), rows, blocks);
    for (int64_t i = 0; i < rows * blocks; ++i) {
      const int64_t bit = i % blocks * bits;
      const int64_t byte = given.get_int(i / blocks * row_bytes + bit / 8);
      zeros.set(i, static_cast<double>((byte >> (bit % 8)) & ((1 << bits) - 1)) - lift);
    }
    return zeros;
  }
  if (given.count() != rows * blocks)
    call.fail("has {} zero points for {} rows of {}", given.count(), rows, blocks);
  for (int64_t i = 0; i < given.count(); ++i) zeros.set(i, given.get(i) - lift);
  return zeros;
}

/// MatMulNBits: x times the transpose of a weight [N, K] of 2, 4 or 8 bits, several to a byte, with
/// a scale for each block of a row.
void matmul_few_bits(Call& call) {
  Value* x = call.input(0);
  const int64_t columns = call.integer("K"), rows = call.integer("N");
  const int64_t block = call.integer("block_size");
  const auto bits = static_cast<int>(call.integer("bits", 4));
  if (bits != 2 && bits != 4 && bits != 8) call.fail("has weights of {} bits", bits);
  if (call.has(4)) call.fail("blocks in another order (`g_idx`) are not supported");
  constexpr int64_t kMost = 1 << 28;
  if (rows < 1 || rows > kMost || columns < 1 || columns > kMost || block < 1 ||
      columns % block != 0)
    call.fail("blocks of {} do not divide a weight [{}, {}]", block, rows, columns);
  const int64_t blocks = columns / block;
  const Constant* bytes = constant_of(call.input(1));
  if (bytes == nullptr || bytes->dtype() != DType::u8 ||
      element_count(bytes->shape()) != Dim(rows * columns * bits / 8))
    call.fail("its weight is {}, expected {} stored bytes", to_string(call.input(1)->type()),
              rows * columns * bits / 8);
  const Shape shape = {rows, columns * bits / 8};
  const Constant flat = bytes->relaid(Relayout::view(bytes->shape(), shape));

  const Tensor& scales = call.known(2, "`scales`");
  if (scales.count() != rows * blocks)
    call.fail("has {} scales for {} rows of {}", scales.count(), rows, blocks);
  std::optional<Constant> zeros;
  if (call.has(3))
    zeros = Constant::of(
        zero_points_of_blocks(call, call.known(3, "`zero_points`"), bits, rows, blocks));
  const int64_t lift = int64_t{1} << (bits - 1);
  Quantisation table = ops::table(call, {DType::i8, -lift, lift - 1}, Constant::of(scales),
                                  zeros ? &*zeros : nullptr, {rows, blocks});
  Value* weight =
      ops::dequantise(call, call.constant(unpacked(flat, bits, columns)), std::move(table));

  const DType dtype = x->dtype();
  x = call.convert(x, DType::f32);
  constexpr int64_t kInt8 = 4;
  if (call.integer("accuracy_level", 0) == kInt8) {
    // The model asks for activations of 8 bits, with a scale for each row.
    ChooseAttrs attrs;
    attrs.axes = {x->type().rank() - 1};
    x = quantised_and_back(call, x, ops::choose(call, x, std::move(attrs)), {DType::i8, -128, 127});
  }
  Value* bias = call.has(5) ? call.convert(call.input(5), DType::f32) : nullptr;
  call.result(call.convert(ops::linear(call, x, weight, bias), dtype));
}

constexpr OpRule kRules[] = {
    {"QuantizeLinear", quantise_linear},
    {"DequantizeLinear", dequantise_linear},
    {"DynamicQuantizeLinear", dynamic_quantise_linear},
    {"MatMulInteger", matmul_integer},
    {"ConvInteger", conv_integer},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"com.microsoft.QuantizeLinear", quantise_linear},
    {"com.microsoft.DequantizeLinear", dequantise_linear},
    {"com.microsoft.QLinearAdd", qlinear_binary<Op::add>},
    {"com.microsoft.QLinearMul", qlinear_binary<Op::mul>},
    {"com.microsoft.QLinearSigmoid", qlinear_function<sigmoid>},
    {"com.microsoft.QLinearLeakyRelu", qlinear_function<leaky_relu>},
    {"com.microsoft.QLinearAveragePool", qlinear_function<pooled<average_pool>>},
    {"com.microsoft.QLinearGlobalAveragePool", qlinear_function<pooled<global_average_pool>>},
    {"com.microsoft.QLinearConcat", qlinear_concat},
    {"com.microsoft.MatMulIntegerToFloat", matmul_integer_to_float},
    {"com.microsoft.DynamicQuantizeMatMul", dynamic_quantise_matmul},
    {"com.microsoft.MatMulNBits", matmul_few_bits},
};

}  // namespace

std::span<const OpRule> quantise_rules() { return kRules; }

}  // namespace layline::onnx
