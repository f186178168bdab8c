// Pools on integers.
#include <algorithm>
#include <cmath>

#include "targets/tosa/integer_kernels.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/npu_limits.h"
#include "targets/tosa/rescale.h"
#include "targets/tosa/window_attributes.h"

namespace layline::tosa {
namespace {

/// Sums over windows, and the factor that makes averages of them.
struct WindowSums {
  std::string tensor;
  double scale;
};

double window_area(const Node& node) {
  const Ints& kernel = node.attrs<PoolAttrs>().kernel;
  return static_cast<double>(kernel[0]) * static_cast<double>(kernel[1]);
}

bool is_wide(const Node& node) { return node.operand(0)->dtype() == DType::i16; }

bool is_padded(const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  return std::ranges::any_of(attrs.low, [](int64_t n) { return n > 0; }) ||
         std::ranges::any_of(attrs.high, [](int64_t n) { return n > 0; });
}

/// The strides of windows; 1 will do if there is only one window.
std::vector<int32_t> window_strides(const Node& node) {
  std::vector<int32_t> strides = ints(node.attrs<PoolAttrs>().stride);
  for (size_t i = 0; i < strides.size(); ++i)
    if (node.result()->shape()[i + 1] == Dim(1)) strides[i] = 1;
  return strides;
}

/// Whether sums fit, and the NPU has a depthwise convolution of this window.
bool sums_run(const BlockBuilder& block, const Node& node) {
  constexpr int64_t kMostRows = 64, kMostArea = 4096;
  if (window_area(node) >= 0x1p15) return false;
  if (block.accelerator() == nullptr || block.accelerator()->is_u85) return true;
  return node.attrs<PoolAttrs>().kernel[0] <= kMostRows && window_area(node) <= kMostArea &&
         std::ranges::max(window_strides(node)) <= kNpuStride;
}

/// How many elements of the operand each window of an axis has.
std::vector<int64_t> window_counts(const Node& node, size_t axis) {
  const auto& attrs = node.attrs<PoolAttrs>();
  const int64_t size = node.operand(0)->shape()[axis + 1].value();
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < node.result()->shape()[axis + 1].value(); ++i) {
    const int64_t start = i * attrs.stride[axis] - attrs.low[axis];
    counts.push_back(std::min(start + attrs.kernel[axis], size) - std::max<int64_t>(start, 0));
  }
  return counts;
}

/// 2^bits divided by how many elements each window has: [1, height, width, 1].
Constant window_divisors(const Node& node, int bits) {
  std::vector<int64_t> values;
  for (int64_t rows : window_counts(node, 0))
    for (int64_t columns : window_counts(node, 1))
      values.push_back(std::llrint(std::ldexp(1.0 / static_cast<double>(rows * columns), bits)));
  const Constant data = list(DType::i32, values);
  const Shape& shape = node.result()->shape();
  return data.relaid(Relayout::view(data.shape(), {1, shape[1], shape[2], 1}));
}

/// How sums are divided by each window's own count: MUL multiplies with 2^divisor_bits / count and
/// drops `shift` bits of the product, which has 64. What is left is as fine as 32 bits allow: an
/// average has 9 of them, or 16, with its sign.
struct Quotients {
  int divisor_bits;
  int shift;
};

Quotients quotients_of(bool wide) { return wide ? Quotients{30, 15} : Quotients{22, 0}; }

/// Sums by a depthwise convolution with ones.
WindowSums window_sums(BlockBuilder& block, const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  const Value* x = node.operand(0);
  const Shape& shape = node.result()->shape();
  const bool wide = is_wide(node);
  const Shape filter = {attrs.kernel[0], attrs.kernel[1], x->shape().back(), 1};
  const auto count = static_cast<size_t>(element_count(filter).value());
  const Constant ones =
      Constant::owned(DType::i8, filter, std::vector<std::byte>(count, std::byte{1}));
  fb::DepthwiseConv2dAttributeT attribute;
  attribute.pad = pads(attrs.low, attrs.high);
  attribute.stride = window_strides(node);
  attribute.dilation = {1, 1};
  attribute.acc_type = wide ? fb::DType::INT48 : fb::DType::INT32;
  std::string sums =
      block.step(node, std::move(attribute),
                 {block.in(node, 0), block.constant(node, "ones", ones),
                  wide ? block.zero48() : block.scalar(DType::i32, 0),
                  block.scalar(x->dtype(), integers_of(x).zero_point), block.scalar(DType::i8, 0)},
                 wide ? fb::DType::INT48 : fb::DType::INT32, shape);
  if (wide) sums = narrowed_sums(block, node, sums, 0, shape);
  if (!is_padded(node)) return {sums, 1 / window_area(node)};
  const Quotients quotients = quotients_of(wide);
  sums = block.step(
      node, fb::MulAttributeT{},
      {sums, block.constant(node, "divisors", window_divisors(node, quotients.divisor_bits)),
       block.scalar(DType::i8, quotients.shift)},
      DType::i32, shape);
  return {sums, std::ldexp(1, quotients.shift - quotients.divisor_bits)};
}

}  // namespace

std::string refuse_integer_max_pool(const Node& node) {
  if (!are_activations(node) || !keeps_scale(node)) return std::string(kIntegers);
  return refuse_pool_windows(node);
}

std::string refuse_integer_avg_pool(const Node& node) {
  if (!are_activations(node)) return std::string(kIntegers);
  if (std::string why = refuse_pool_windows(node); !why.empty()) return why;
  const double ratio = scale(node.operand(0)) / scale(node.result());
  return has_multipliers({ratio}) ? "" : std::string(kScales);
}

/// AVG_POOL2D averages in the scale of its operand and rounds there. For a result of another scale
/// that would be once too often: sums are rounded once. Padding does not count; where it is, each
/// window has a divisor of its own.
void emit_integer_avg_pool(BlockBuilder& block, const Node& node) {
  const Value* x = node.operand(0);
  const Integers own = integers_of(x);
  const Shape& shape = node.result()->shape();
  const double ratio = scale(x) / scale(node.result());
  if (!keeps_scale(node) && sums_run(block, node)) {
    const WindowSums sums = window_sums(block, node);
    rescale_to_result(block, node, sums.tensor, kSums, {ratio * sums.scale}, shape);
    return;
  }
  const std::string zero = block.scalar(own.dtype, own.zero_point);
  const std::vector<std::string> operands = {block.in(node, 0), zero, zero};
  auto attribute = avg_pool_attribute(node, fb::DType::INT32);
  if (keeps_scale(node) && node.attrs<PoolAttrs>().bounds.unbounded()) {
    block.result(node, std::move(attribute), operands);
    return;
  }
  const std::string average = block.step(node, std::move(attribute), operands, own.dtype, shape);
  rescale_to_result(block, node, average, own, {ratio}, shape);
}

void emit_integer_max_pool(BlockBuilder& block, const Node& node) {
  if (node.attrs<PoolAttrs>().bounds.unbounded())
    return block.result(node, max_pool_attribute(node), {block.in(node, 0)});
  clamp_to_result(block, node,
                  block.step(node, max_pool_attribute(node), {block.in(node, 0)},
                             node.result()->dtype(), node.result()->shape()));
}

}  // namespace layline::tosa
