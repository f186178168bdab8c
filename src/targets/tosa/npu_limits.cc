#include "targets/tosa/npu_limits.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/error.h"

namespace layline::tosa {
namespace {

constexpr int64_t kMostAxis = int64_t{1} << 16;      // the NPU counts no further along an axis
constexpr int64_t kMostWideAxis = int64_t{1} << 14;  // in a transpose of 32-bit elements

/// An operator with the tensors that it reads and writes; shapes that are no tensors are null.
struct Use {
  const Operator& op;
  std::vector<const NamedTensor*> inputs;
  const NamedTensor* output;

  const std::vector<int32_t>& shape(size_t input = 0) const { return inputs[input]->shape; }
  fb::DType type(size_t input = 0) const { return inputs[input]->type; }
};

bool is_float(fb::DType type) { return type == fb::DType::FP32 || type == fb::DType::FP16; }

int64_t product(auto first, auto last) {
  return std::accumulate(first, last, int64_t{1}, std::multiplies<>());
}

bool over(const auto& values, int64_t limit) {
  return std::ranges::any_of(values, [&](int64_t value) { return value > limit; });
}

// Each says why the operator does not run, or nothing. The limits are those of Vela's own report
// (`vela --supported-ops-report`, TOSA), where Vela 5.1.0 does hold to them: of much that the
// report excludes it makes several operations by itself.

std::string missing(const Use& use) {
  return fmt::format("it has no {}", fb::EnumNameOp(use.op.op()));
}

std::string depthwise(const Use& use) {
  const auto& stride = use.op.attribute.AsDepthwiseConv2dAttribute()->stride;
  return over(stride, kNpuStride) ? fmt::format("a depthwise stride of {}, the most is {}",
                                                std::ranges::max(stride), kNpuStride)
                                  : "";
}

std::string many_channels(const Use& use) {
  return use.shape().back() > kMostAxis
             ? fmt::format("{} channels, the most are {}", use.shape().back(), kMostAxis)
             : "";
}

/// Why the NPU cannot run a kernel [O, depth, height, width, I].
std::string deep_kernel(const Use& use) {
  return use.shape(1)[1] != 1
             ? fmt::format("a kernel of depth {}, the only one is 1", use.shape(1)[1])
             : "";
}

std::string computed_weights(const Use& use) {
  return use.inputs[1]->data && use.inputs[2]->data ? "" : "weights that are not constant";
}

std::string transposed_strides(const Use& use) {
  const auto& stride = use.op.attribute.AsTransposeConv2dAttribute()->stride;
  const bool flat = use.shape()[1] == 1 && use.shape(1)[1] == 1;
  const bool thin = use.shape()[2] == 1 && use.shape(1)[2] == 1;
  const std::pair strides(stride[0], stride[1]);
  if (strides == std::pair(1, 1) || strides == std::pair(2, 2)) return {};
  if ((strides == std::pair(1, 2) && flat) || (strides == std::pair(2, 1) && thin)) return {};
  return fmt::format("transposed strides of {}x{}, there are 1x1 and 2x2", stride[0], stride[1]);
}

std::string padded_average(const Use& use) {
  constexpr int64_t kMostPadded = 8;
  const auto& attrs = *use.op.attribute.AsAvgPool2dAttribute();
  return over(attrs.pad, 0) && over(attrs.kernel, kMostPadded)
             ? fmt::format("a padded average over {}x{}, the most is {}x{}", attrs.kernel[0],
                           attrs.kernel[1], kMostPadded, kMostPadded)
             : "";
}

std::string wide_matmul(const Use& use) {
  if (use.type() != fb::DType::INT8) return "it multiplies matrices of 8-bit integers";
  return std::max(use.shape().back(), use.shape(1).back()) > kMostAxis ? "rows over 65536" : "";
}

std::string wide_extremum(const Use& use) {
  return use.type() == fb::DType::INT32 ? "its extrema are of 8 or 16-bit integers" : "";
}

/// Vela transposes first unless the sum is along the last axis.
std::string long_sum(const Use& use) {
  const auto& shape = use.shape();
  const auto axis = shape.begin() + use.op.attribute.AsReduceSumAttribute()->axis;
  if (*axis > kMostAxis) return fmt::format("a sum of {}, the most are {}", *axis, kMostAxis);
  if (axis + 1 == shape.end()) return {};
  const int64_t outer = product(shape.begin(), axis), inner = product(axis + 1, shape.end());
  return std::max(outer, inner) > kMostAxis
             ? fmt::format(
                   "a sum along one axis with {} elements outside and {} inside, the most "
                   "are {}",
                   outer, inner, kMostAxis)
             : "";
}

std::string reversed_channels(const Use& use) {
  const auto last = static_cast<int32_t>(use.shape().size()) - 1;
  return use.op.attribute.AsReverseAttribute()->axis == last ? "it reverses no channels" : "";
}

std::string narrowing(const Use& use) {
  return use.type() == fb::DType::INT32 && use.output->type != fb::DType::INT32
             ? "it does not cast 32-bit integers to fewer bits"
             : "";
}

std::string many_classes(const Use& use) {
  constexpr int64_t kMostClasses = 127, kMostRank = 4;
  const auto& shape = use.shape();
  const auto last = static_cast<int32_t>(shape.size()) - 1;
  if (use.op.attribute.AsArgMaxAttribute()->axis != last || shape.back() > kMostClasses ||
      static_cast<int64_t>(shape.size()) > kMostRank ||
      product(shape.begin(), shape.end() - 1) > kMostAxis)
    return fmt::format("its argmax is along the last of at most {} axes, of at most {} elements",
                       kMostRank, kMostClasses);
  return {};
}

int byte_size(fb::DType type) {
  return type == fb::DType::INT8 ? 1 : type == fb::DType::INT16 ? 2 : 4;
}

std::string large_transpose(const Use& use) {
  std::vector<int64_t> sizes;
  for (int32_t size : use.shape())
    if (size != 1) sizes.push_back(size);
  return can_transpose(sizes, byte_size(use.type()), Accelerator{"", false, false, 0})
             ? ""
             : fmt::format("a transpose of [{}]", fmt::join(use.shape(), ","));
}

/// The scales must be powers of two from 2 to 8. Vela 5.1.0 takes no interpolation from torch's
/// centres of elements.
std::string resize_scale(const Use& use) {
  if (use.op.attribute.AsResizeAttribute()->mode == fb::ResizeMode::BILINEAR)
    return "it does not interpolate when it resizes";
  const auto& from = use.shape();
  const auto& to = use.output->shape;
  for (size_t axis : {1, 2}) {
    const bool grows =
        to[axis] == from[axis] * 2 || to[axis] == from[axis] * 4 || to[axis] == from[axis] * 8;
    if (!grows) return "it resizes both axes to 2, 4 or 8 times their size";
  }
  return {};
}

struct Row {
  fb::Op op;
  std::string (*refuse)(const Use& use);
  bool on_u85 = false;
};

constexpr Row kRows[] = {
    {fb::Op::INTDIV, missing},
    {fb::Op::BITWISE_AND, missing},
    {fb::Op::BITWISE_OR, missing},
    {fb::Op::BITWISE_XOR, missing},
    {fb::Op::BITWISE_NOT, missing},
    {fb::Op::LOGICAL_RIGHT_SHIFT, missing},
    {fb::Op::LOGICAL_AND, missing},
    {fb::Op::LOGICAL_OR, missing},
    {fb::Op::LOGICAL_XOR, missing},
    {fb::Op::LOGICAL_NOT, missing},
    {fb::Op::SELECT, missing},
    {fb::Op::EQUAL, missing},
    {fb::Op::GREATER, missing},
    {fb::Op::GREATER_EQUAL, missing},
    {fb::Op::REDUCE_ALL, missing},
    {fb::Op::REDUCE_ANY, missing},
    {fb::Op::GATHER, missing},
    {fb::Op::SCATTER, missing},
    {fb::Op::CONV2D, many_channels, true},
    {fb::Op::DEPTHWISE_CONV2D, depthwise},
    {fb::Op::CONV3D, deep_kernel},
    {fb::Op::CONV3D, computed_weights, true},
    {fb::Op::TRANSPOSE_CONV2D, transposed_strides},
    {fb::Op::TRANSPOSE_CONV2D, computed_weights, true},
    {fb::Op::AVG_POOL2D, padded_average},
    {fb::Op::MATMUL, wide_matmul},
    {fb::Op::REDUCE_MAX, wide_extremum},
    {fb::Op::REDUCE_MIN, wide_extremum},
    {fb::Op::REDUCE_SUM, long_sum},
    {fb::Op::REVERSE, reversed_channels},
    {fb::Op::CAST, narrowing},
    {fb::Op::ARGMAX, many_classes},
    {fb::Op::RESIZE, resize_scale},
    {fb::Op::TRANSPOSE, large_transpose},
};

std::string refusal_on(const Use& use, const Accelerator& accelerator) {
  std::vector<const NamedTensor*> tensors = use.inputs;
  tensors.push_back(use.output);
  for (const NamedTensor* tensor : tensors) {
    if (tensor == nullptr) continue;
    if (is_float(tensor->type)) return "floats, and it has integers only: quantise the model there";
    if (tensor->type == fb::DType::BOOL && !accelerator.is_u85) return "it has no truth values";
  }
  for (const Row& row : kRows)
    if (row.op == use.op.op() && (row.on_u85 || !accelerator.is_u85))
      if (std::string why = row.refuse(use); !why.empty()) return why;
  return {};
}

}  // namespace

bool can_transpose(const std::vector<int64_t>& sizes, int element_bytes,
                   const Accelerator& accelerator) {
  if (accelerator.is_u85 || sizes.size() <= 1) return true;
  const int64_t most = element_bytes > 2 ? kMostWideAxis : kMostAxis;
  constexpr size_t kFreeAxes = 3;  // height, width and channels may change places as they like
  if (over(sizes, most)) return false;
  if (sizes.size() <= kFreeAxes) return true;
  // The product of all axes but any two.
  std::vector<int64_t> sorted = sizes;
  std::ranges::sort(sorted);
  return product(sorted.begin() + 2, sorted.end()) <= most;
}

std::vector<NpuProblem> npu_problems(const Program& program, const Accelerator& accelerator) {
  std::unordered_map<std::string_view, const NamedTensor*> tensors;
  for (const NamedTensor& tensor : program.tensors) tensors.emplace(tensor.name, &tensor);
  const auto find = [&](const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : found->second;
  };
  std::vector<NpuProblem> problems;
  for (size_t i = 0; i < program.operators.size(); ++i) {
    const Operator& op = program.operators[i];
    if (op.op() == fb::Op::CONST || op.op() == fb::Op::CONST_SHAPE) continue;
    Use use{op, {}, find(op.outputs[0])};
    for (const std::string& input : op.inputs) use.inputs.push_back(find(input));
    if (std::string why = refusal_on(use, accelerator); !why.empty())
      problems.push_back({i, std::move(why)});
  }
  return problems;
}

}  // namespace layline::tosa
