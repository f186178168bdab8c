#include "targets/tosa/kernels.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "targets/tosa/elementwise_rules.h"
#include "targets/tosa/quantised.h"
#include "targets/tosa/resize_scale.h"
#include "transforms/rewrite.h"

namespace layline::tosa {
namespace {

constexpr unsigned kNumber = kFloat | kInt32, kAny = kNumber | kNarrow | kBool,
                   kBits = kInt32 | kNarrow | kBool;
constexpr int64_t kMostKernel = 8192;  // MAX_KERNEL and MAX_STRIDE of level 8K

std::string refuse_tensor(const Value* value) {
  if (!element_type(value->dtype()))
    return fmt::format("TOSA has no {} tensors", name(value->dtype()));
  if (!is_static(value->shape())) return "the shape is dynamic; export the model with fixed sizes";
  if (element_count(value->shape()).is_zero()) return "the tensor is empty";
  if (element_count(value->shape()).value() > std::numeric_limits<int32_t>::max())
    return "the tensor has more than 2^31 elements";
  return {};
}

/// Tensors that are only seen in other shapes may have any number of axes.
std::string refuse_axes(const Value* value) {
  const size_t axes = value->shape().size();
  return axes > kMostAxes ? fmt::format("{} axes, TOSA takes at most {}", axes, kMostAxes) : "";
}

std::string accept(const Node&) { return {}; }

std::string refuse_bounded_binary(const Node& node) {
  if (!node.attrs<BinaryAttrs>().bounds.unbounded()) return "TOSA has no fused clamps";
  return refuse_ranks(node);
}

/// POW has no negative bases.
std::string refuse_pow(const Node& node) {
  const Node* base = node.operand(0)->def();
  if (whole_exponent(node) && !(base && base->is(Op::abs)))
    return "TOSA raises what is not negative only";
  return refuse_ranks(node);
}

/// Refuses to write one number to many places, which may repeat: TOSA writes to each element once.
/// If the numbers differ, torch also leaves open which of two writes to one place counts.
std::string refuse_scatter(const Node& node) {
  return uniform_value(node.operand(2)) ? "TOSA writes to each element once" : "";
}

std::string refuse_shift(const Node& node) {
  return is_shift_count(node.operand(1)) ? refuse_ranks(node) : "TOSA shifts by 0 to 31 bits only";
}

std::string refuse_relayout(const Node& node) {
  const size_t factors = node.attrs<RelayoutAttrs>().relayout.factors().size();
  return factors > kMostAxes
             ? fmt::format("a transpose of {} axes, TOSA takes at most {}", factors, kMostAxes)
             : "";
}

std::string refuse_slice(const Node& node) {
  return std::ranges::all_of(node.attrs<SliceAttrs>().step, [](int64_t step) { return step == 1; })
             ? ""
             : "TOSA slices have step 1";
}

std::string refuse_pad(const Node& node) {
  return node.attrs<PadAttrs>().mode == PadMode::constant ? "" : "TOSA pads with a constant only";
}

std::string refuse_convert(const Node& node) {
  const DType from = node.operand(0)->dtype(), to = node.result()->dtype();
  const bool float_and_bool =
      (is_float(from) && to == DType::boolean) || (from == DType::boolean && is_float(to));
  return float_and_bool ? "TOSA casts between floats and bool by way of integers only" : "";
}

std::string refuse_linear(const Node& node) {
  return node.attrs<LinearAttrs>().bounds.unbounded() ? "" : "TOSA has no fused clamps";
}

bool too_large(const Ints& sizes) {
  return std::ranges::any_of(sizes, [](int64_t size) { return size > kMostKernel; });
}

/// Windows end where the padded operand does.
template <typename Attrs>
bool is_exact(const Node& node, const Attrs& attrs, const Ints& kernel) {
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t padded = node.operand(0)->shape()[i + 1].value() + attrs.low[i] + attrs.high[i];
    if ((padded - (kernel[i] - 1) * attrs.dilation[i] - 1) % attrs.stride[i] != 0) return false;
  }
  return true;
}

Ints kernel_of(const Node& node) {
  const Shape& weight = node.operand(1)->shape();
  Ints kernel;
  for (size_t i = 1; i + 1 < weight.size(); ++i) kernel.push_back(weight[i].value());
  return kernel;
}

/// Refuses fused clamps first, which are then taken out; after that the windows.
template <typename Attrs, auto refuse_windows>
std::string refuse_window(const Node& node) {
  return node.attrs<Attrs>().bounds.unbounded() ? refuse_windows(node) : "TOSA has no fused clamps";
}

std::string refuse_resize(const Node& node) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  for (size_t i = 0; i < 2; ++i)
    if (!resize_scale(attrs, i, node.operand(0)->shape()[i + 1].value()))
      return "the scale is not one that TOSA can express";
  return {};
}

template <typename Attribute>
Attribute propagating_nan() {
  Attribute attribute;
  if constexpr (requires { attribute.nan_mode; })
    attribute.nan_mode = fb::NanPropagationMode::PROPAGATE;
  return attribute;
}

/// Emits one operator on the operands as they stand.
template <typename Attribute>
void plain(BlockBuilder& block, const Node& node) {
  std::vector<std::string> operands;
  for (int i = 0; i < node.operand_count(); ++i) operands.push_back(block.in(node, i));
  block.result(node, propagating_nan<Attribute>(), std::move(operands));
}

/// Emits another operator for truth values, which are one bit each.
template <typename Integers, typename Truths>
void bits(BlockBuilder& block, const Node& node) {
  node.result()->dtype() == DType::boolean ? plain<Truths>(block, node)
                                           : plain<Integers>(block, node);
}

/// a < b is b > a.
template <typename Attribute>
void swapped(BlockBuilder& block, const Node& node) {
  block.result(node, Attribute{}, {block.in(node, 1), block.in(node, 0)});
}

void mul(BlockBuilder& block, const Node& node) {
  block.result(node, fb::MulAttributeT{},
               {block.in(node, 0), block.in(node, 1), block.scalar(DType::i8, 0)});
}

/// Reduces one axis at a time.
template <typename Attribute>
void reduce(BlockBuilder& block, const Node& node) {
  const Ints& axes = node.attrs<AxesAttrs>().axes;
  std::string x = block.in(node, 0);
  Shape shape = node.operand(0)->shape();
  for (size_t i = 0; i < axes.size(); ++i) {
    auto attribute = propagating_nan<Attribute>();
    attribute.axis = static_cast<int32_t>(axes[i]);
    shape[static_cast<size_t>(axes[i])] = 1;
    if (i + 1 == axes.size())
      block.result(node, std::move(attribute), {x});
    else
      x = block.step(node, std::move(attribute), {x}, node.result()->dtype(), shape);
  }
  if (axes.empty()) block.forward(node);
}

constexpr Kernel kKernels[] = {
    {Op::relayout, kAny, refuse_relayout, emit_relayout},
    {Op::expand, kAny, accept, emit_expand},
    {Op::slice, kAny, refuse_slice, emit_slice},
    {Op::concat, kAny, accept, emit_concat},
    {Op::pad, kAny, refuse_pad, emit_pad},
    {Op::flip, kAny, accept, emit_flip},
    {Op::gather, kNumber | kNarrow, accept, emit_gather},
    {Op::gather_elements, kNumber | kNarrow, accept, emit_gather_elements},
    {Op::scatter_elements, kNumber | kNarrow, refuse_scatter, emit_scatter_elements},
    {Op::add, kNumber, refuse_bounded_binary, plain<fb::AddAttributeT>},
    {Op::sub, kNumber, refuse_bounded_binary, plain<fb::SubAttributeT>},
    {Op::mul, kNumber, refuse_bounded_binary, mul},
    {Op::minimum, kNumber, refuse_ranks, plain<fb::MinimumAttributeT>},
    {Op::maximum, kNumber, refuse_ranks, plain<fb::MaximumAttributeT>},
    {Op::pow, kFloat, refuse_pow, plain<fb::PowAttributeT>},
    {Op::floor_div, kInt32, refuse_ranks, emit_integer_floor_div},
    {Op::equal, kNumber, refuse_ranks, plain<fb::EqualAttributeT>},
    {Op::not_equal, kNumber, refuse_ranks, emit_not_equal},
    {Op::less, kNumber, refuse_ranks, swapped<fb::GreaterAttributeT>},
    {Op::less_equal, kNumber, refuse_ranks, swapped<fb::GreaterEqualAttributeT>},
    {Op::greater, kNumber, refuse_ranks, plain<fb::GreaterAttributeT>},
    {Op::greater_equal, kNumber, refuse_ranks, plain<fb::GreaterEqualAttributeT>},
    {Op::logical_and, kBool, refuse_ranks, plain<fb::LogicalAndAttributeT>},
    {Op::logical_or, kBool, refuse_ranks, plain<fb::LogicalOrAttributeT>},
    {Op::logical_xor, kBool, refuse_ranks, plain<fb::LogicalXorAttributeT>},
    {Op::bitwise_and, kBits, refuse_ranks,
     bits<fb::BitwiseAndAttributeT, fb::LogicalAndAttributeT>},
    {Op::bitwise_or, kBits, refuse_ranks, bits<fb::BitwiseOrAttributeT, fb::LogicalOrAttributeT>},
    {Op::bitwise_xor, kBits, refuse_ranks,
     bits<fb::BitwiseXorAttributeT, fb::LogicalXorAttributeT>},
    {Op::left_shift, kInt32, refuse_shift, plain<fb::LogicalLeftShiftAttributeT>},
    {Op::right_shift, kInt32, refuse_shift, plain<fb::ArithmeticRightShiftAttributeT>},
    {Op::where, kAny, refuse_ranks, plain<fb::SelectAttributeT>},
    {Op::abs, kNumber, accept, plain<fb::AbsAttributeT>},
    {Op::neg, kNumber, accept, emit_negation},
    {Op::exp, kFloat, accept, plain<fb::ExpAttributeT>},
    {Op::log, kFloat, accept, plain<fb::LogAttributeT>},
    {Op::rsqrt, kFloat, accept, plain<fb::RsqrtAttributeT>},
    {Op::reciprocal, kFloat, accept, plain<fb::ReciprocalAttributeT>},
    {Op::sin, kFloat, accept, plain<fb::SinAttributeT>},
    {Op::cos, kFloat, accept, plain<fb::CosAttributeT>},
    {Op::tanh, kFloat, accept, plain<fb::TanhAttributeT>},
    {Op::sigmoid, kFloat, accept, plain<fb::SigmoidAttributeT>},
    {Op::erf, kFloat, accept, plain<fb::ErfAttributeT>},
    {Op::floor, kFloat, accept, plain<fb::FloorAttributeT>},
    {Op::ceil, kFloat, accept, plain<fb::CeilAttributeT>},
    {Op::logical_not, kBool, accept, plain<fb::LogicalNotAttributeT>},
    {Op::clamp, kFloat | kNarrow, accept, emit_clamp},
    {Op::convert, kAny, refuse_convert, emit_convert},
    {Op::linear, kFloat, refuse_linear, emit_linear},
    {Op::matmul, kFloat, refuse_matrices, emit_matmul},
    {Op::conv, kFloat, refuse_window<ConvAttrs, refuse_conv_windows>, emit_conv},
    {Op::conv_transpose, kFloat, refuse_window<ConvTransposeAttrs, refuse_transposed_windows>,
     emit_conv_transpose},
    {Op::max_pool, kFloat, refuse_window<PoolAttrs, refuse_pool_windows>, emit_max_pool},
    {Op::avg_pool, kFloat, refuse_window<PoolAttrs, refuse_pool_windows>, emit_avg_pool},
    {Op::resize, kFloat, refuse_resize, emit_resize},
    {Op::reduce_sum, kNumber, accept, reduce<fb::ReduceSumAttributeT>},
    {Op::reduce_max, kNumber | kNarrow, accept, reduce<fb::ReduceMaxAttributeT>},
    {Op::reduce_min, kNumber | kNarrow, accept, reduce<fb::ReduceMinAttributeT>},
    {Op::reduce_prod, kFloat, accept, reduce<fb::ReduceProductAttributeT>},
    {Op::reduce_any, kBool, accept, reduce<fb::ReduceAnyAttributeT>},
    {Op::reduce_all, kBool, accept, reduce<fb::ReduceAllAttributeT>},
    {Op::argmax, kFloat, accept, emit_argmax},
};

}  // namespace

/// Broadcasting is between tensors of one rank.
std::string refuse_ranks(const Node& node) {
  for (const Value* operand : node.operands())
    if (operand->shape().size() != node.result()->shape().size())
      return "TOSA broadcasts tensors of one rank only";
  return {};
}

std::string refuse_matrices(const Node& node) {
  const Shape& a = node.operand(0)->shape();
  const Shape& b = node.operand(1)->shape();
  if (a.size() != 3 || b.size() != 3 || a[0] != b[0])
    return "TOSA multiplies matrices [N,H,C] and [N,C,W] of one batch";
  return node.attrs<MatmulAttrs>().transpose_b ? "TOSA has no transposed operands" : "";
}

std::string refuse_conv_windows(const Node& node) {
  const auto& attrs = node.attrs<ConvAttrs>();
  const size_t rank = node.operand(0)->shape().size();
  const Ints kernel = kernel_of(node);
  if (rank == 3) return "TOSA convolves two or three spatial axes";
  if (!is_exact(node, attrs, kernel)) return "the windows do not end where the operand does";
  if (too_large(kernel) || too_large(attrs.stride))
    return "a kernel or stride over 8192 (level 8K); split the convolution";
  if (attrs.groups == 1) return {};
  const bool depthwise =
      node.operand(1)->shape().back().is_one() && rank == 4 && stored_constant(node.operand(1));
  return depthwise ? "" : "TOSA has no grouped convolutions";
}

std::string refuse_transposed_windows(const Node& node) {
  const auto& attrs = node.attrs<ConvTransposeAttrs>();
  const Ints kernel = kernel_of(node);
  if (kernel.size() != 2) return "TOSA's transposed convolution has two spatial axes";
  if (attrs.groups != 1) return "TOSA's transposed convolution has no groups";
  if (too_large(kernel) || too_large(attrs.stride))
    return "a kernel or stride over 8192 (level 8K)";
  for (size_t i = 0; i < 2; ++i) {
    if (attrs.dilation[i] != 1) return "TOSA's transposed convolution has no dilation";
    if (attrs.low[i] >= kernel[i] || attrs.high[i] - attrs.extra[i] >= kernel[i])
      return "TOSA crops less than the kernel";
  }
  return {};
}

std::string refuse_pool_windows(const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  if (attrs.kernel.size() != 2) return "TOSA pools two spatial axes";
  const auto zero = [](int64_t value) { return value == 0; };
  if (attrs.count_padding &&
      !(std::ranges::all_of(attrs.low, zero) && std::ranges::all_of(attrs.high, zero)))
    return "TOSA's averages do not count padding";
  if (attrs.dilation != Ints{1, 1}) return "TOSA's pools have no dilation";
  if (!is_exact(node, attrs, attrs.kernel)) return "the windows do not end where the operand does";
  for (size_t i = 0; i < 2; ++i)
    if (std::max(attrs.low[i], attrs.high[i]) >= attrs.kernel[i])
      return "TOSA's pools pad less than the kernel";
  return too_large(attrs.kernel) || too_large(attrs.stride)
             ? "a kernel or stride over 8192 (level 8K)"
             : "";
}

unsigned kind(DType dtype) {
  if (is_float(dtype)) return kFloat;
  if (dtype == DType::boolean) return kBool;
  return element_type(dtype) == fb::DType::INT32 ? kInt32 : kNarrow;
}

const Kernel* find_kernel(Op op) {
  static const auto rows = rows_by_op<Kernel>(kKernels);
  return rows[static_cast<size_t>(op)];
}

std::string refusal(const Value* value) {
  std::string why = refuse_tensor(value);
  return why.empty() ? refuse_axes(value) : why;
}

std::string refusal(const Node& node) {
  if (is_quantised(node)) return refuse_quantised(node);
  const auto refuse =
      node.is(Op::relayout) ? refuse_tensor : [](const Value* value) { return refusal(value); };
  for (const Value* operand : node.operands())
    if (std::string why = refuse(operand); !why.empty()) return why;
  if (std::string why = refuse(node.result()); !why.empty()) return why;
  const Kernel* kernel = find_kernel(node.op());
  if (kernel == nullptr) return fmt::format("TOSA has no {}", name(node.op()));
  const DType dtype = node.operand(node.is(Op::where) ? 1 : 0)->dtype();
  if ((kernel->types & kind(dtype)) == 0)
    return fmt::format("TOSA has no {} of {}", name(node.op()), name(dtype));
  return kernel->refuse(node);
}

}  // namespace layline::tosa
