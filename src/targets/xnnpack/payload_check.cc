#include "targets/xnnpack/payload_check.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/error.h"

namespace layline::xnnpack {
namespace {

constexpr size_t kMaxRank = 6;

struct PortsOf {
  template <typename N>
  Ports operator()(const N& n) const {
    return {{n.input}, {}, {n.output}};
  }
  Ports operator()(const Binary& n) const { return {{n.input1, n.input2}, {}, {n.output}}; }
  Ports operator()(const BatchMatMul& n) const { return {{n.input1, n.input2}, {}, {n.output}}; }
  Ports operator()(const FullyConnected& n) const { return weighted(n); }
  Ports operator()(const Conv& n) const { return weighted(n); }
  Ports operator()(const DepthwiseConv& n) const { return weighted(n); }
  Ports operator()(const ConvTranspose& n) const { return weighted(n); }
  Ports operator()(const ArgMaxPool& n) const {
    return {{n.input}, {}, {n.output_value, n.output_index}};
  }
  Ports operator()(const Concatenate& n) const { return {n.inputs, {}, {n.output}}; }

 private:
  template <typename N>
  static Ports weighted(const N& n) {
    Ports ports{{n.input}, {n.filter}, {n.output}};
    if (n.bias != kNoValue) ports.weights.push_back(n.bias);
    return ports;
  }
};

bool positive(Pair pair) { return pair.height > 0 && pair.width > 0; }

void check_range(const std::optional<Range>& range) {
  // Written so as to refuse NaN, too.
  LAYLINE_ASSERT(!range || range->min < range->max, "empty output range [{}, {}]", range->min,
                 range->max);
}

class NodeCheck {
 public:
  explicit NodeCheck(const Payload& graph) : graph_(graph) {}

  void operator()(const Unary&) const {}
  void operator()(const LeakyRelu& n) const { finite(n.negative_slope); }
  void operator()(const Elu& n) const { finite(n.alpha); }
  void operator()(const Clamp& n) const {
    LAYLINE_ASSERT(n.range.min <= n.range.max, "clamp to [{}, {}]", n.range.min, n.range.max);
  }
  void operator()(const Binary& n) const {
    const bool ranged = n.kind != BinaryKind::kMinimum && n.kind != BinaryKind::kMaximum &&
                        n.kind != BinaryKind::kPRelu;
    LAYLINE_ASSERT(ranged || !n.range, "an output range that the runtime ignores");
    check_range(n.range);
  }
  void operator()(const BatchMatMul& n) const {
    LAYLINE_ASSERT(rank(n.input1) >= 2 && rank(n.input2) >= 2, "matmul of fewer than 2 dims");
  }
  void operator()(const FullyConnected& n) const {
    LAYLINE_ASSERT(rank(n.filter) == 2, "fully-connected filter of rank {}", rank(n.filter));
    LAYLINE_ASSERT(rank(n.input) >= 1, "fully-connected input of rank 0");
    check_range(n.range);
  }
  void operator()(const Conv& n) const {
    check_conv(n);
    const std::vector<uint32_t> filter{n.groups * n.group_output_channels, n.kernel.height,
                                       n.kernel.width, n.group_input_channels};
    LAYLINE_ASSERT(value(n.filter).dims == filter, "the filter's dims are not the convolution's");
  }
  void operator()(const DepthwiseConv& n) const {
    check_conv(n);
    const std::vector<uint32_t> filter{1, n.kernel.height, n.kernel.width, n.groups * n.multiplier};
    LAYLINE_ASSERT(value(n.filter).dims == filter, "the filter's dims are not the convolution's");
  }
  void operator()(const ConvTranspose& n) const {
    check_conv(n);
    const std::vector<uint32_t> filter{n.groups * n.group_output_channels, n.kernel.height,
                                       n.kernel.width, n.group_input_channels};
    LAYLINE_ASSERT(value(n.filter).dims == filter, "the filter's dims are not the convolution's");
    LAYLINE_ASSERT(n.adjustment.height < n.stride.height && n.adjustment.width < n.stride.width,
                   "output padding not under the stride");
    LAYLINE_ASSERT(value(n.filter).datatype != Datatype::kFp16,
                   "a transposed convolution takes no fp16 filter");
  }
  void operator()(const MaxPool& n) const {
    check_window(n.input, n.kernel, n.stride);
    LAYLINE_ASSERT(positive(n.dilation), "pooling with a zero dilation");
    check_range(n.range);
  }
  void operator()(const AvgPool& n) const {
    check_window(n.input, n.kernel, n.stride);
    check_range(n.range);
  }
  void operator()(const ArgMaxPool& n) const {
    check_window(n.input, n.kernel, n.kernel);
    LAYLINE_ASSERT(value(n.input).datatype == Datatype::kFp32, "arg max pooling is for fp32 only");
    LAYLINE_ASSERT(value(n.output_index).datatype == Datatype::kInt32, "indices are int32");
  }
  void operator()(const GlobalAvgPool& n) const {
    LAYLINE_ASSERT(rank(n.input) >= 3, "global pooling of rank {}", rank(n.input));
    check_range(n.range);
  }
  void operator()(const Transpose& n) const {
    std::vector<uint32_t> sorted = n.perm;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      LAYLINE_ASSERT(sorted[i] == i, "transpose by something that is no permutation");
    LAYLINE_ASSERT(n.perm.size() == rank(n.input), "transpose of rank {} by {} axes", rank(n.input),
                   n.perm.size());
  }
  void operator()(const Reshape& n) const {
    LAYLINE_ASSERT(n.shape.size() <= kMaxRank, "reshape to rank {}", n.shape.size());
    LAYLINE_ASSERT(std::count(n.shape.begin(), n.shape.end(), 0u) <= 1,
                   "reshape with more than one inferred dim");
  }
  void operator()(const Slice& n) const {
    LAYLINE_ASSERT(n.offsets.size() == rank(n.input) && n.sizes.size() == rank(n.input),
                   "slice of rank {} with {} offsets", rank(n.input), n.offsets.size());
    for (size_t i = 0; i < n.sizes.size(); ++i)
      LAYLINE_ASSERT(n.sizes[i] > 0 || n.offsets[i] == 0, "slice of nothing from {}", n.offsets[i]);
  }
  void operator()(const ConstantPad& n) const {
    LAYLINE_ASSERT(n.before.size() == rank(n.input) && n.after.size() == rank(n.input),
                   "pad of rank {} with {} amounts", rank(n.input), n.before.size());
  }
  void operator()(const ResizeBilinear& n) const {
    LAYLINE_ASSERT(positive(n.size) && rank(n.input) == 4, "resize to nothing, or of no image");
  }
  void operator()(const Concatenate& n) const {
    LAYLINE_ASSERT(n.inputs.size() >= 2 && n.inputs.size() <= 5, "concatenation of {} values",
                   n.inputs.size());
    LAYLINE_ASSERT(n.axis < rank(n.output), "concatenation along axis {}", n.axis);
  }

 private:
  const PayloadValue& value(ValueId id) const { return graph_.value(id); }
  size_t rank(ValueId id) const { return value(id).dims.size(); }

  static void finite(float number) {
    LAYLINE_ASSERT(std::isfinite(number), "a slope of {}", number);
  }

  template <typename N>
  void check_conv(const N& n) const {
    LAYLINE_ASSERT(rank(n.input) == 4, "convolution of rank {}", rank(n.input));
    LAYLINE_ASSERT(positive(n.kernel) && positive(n.stride) && positive(n.dilation) && n.groups > 0,
                   "convolution with a zero kernel, stride, dilation or group count");
    LAYLINE_ASSERT(value(n.filter).constant.has_value(), "a convolution's filter must be constant");
    check_range(n.range);
  }

  void check_window(ValueId input, Pair kernel, Pair stride) const {
    LAYLINE_ASSERT(rank(input) == 4, "pooling of rank {}", rank(input));
    LAYLINE_ASSERT(positive(kernel) && positive(stride), "pooling with a zero kernel or stride");
  }

  const Payload& graph_;
};

/// The quantisation that a datatype needs, as an index into the variant.
size_t quantisation_of(Datatype datatype) {
  switch (datatype) {
    case Datatype::kFp32:
    case Datatype::kFp16:
    case Datatype::kInt32:
    case Datatype::kBf16:
      return PayloadQuantisation(std::monostate()).index();
    case Datatype::kQInt8:
    case Datatype::kQUInt8:
    case Datatype::kQInt32:
      return PayloadQuantisation(PerTensor()).index();
    case Datatype::kQCInt8:
    case Datatype::kQCInt32:
    case Datatype::kQCInt4:
      return PayloadQuantisation(PerChannel()).index();
    case Datatype::kQDInt8:
      return PayloadQuantisation(PerTokenDynamic()).index();
    case Datatype::kQBInt4:
      return PayloadQuantisation(PerGroup()).index();
  }
  throw InternalError("unknown XNNPACK datatype");
}

}  // namespace

Ports ports_of(const PayloadNode& node) { return std::visit(PortsOf{}, node); }

void check_value(const PayloadValue& value) {
  LAYLINE_ASSERT(value.dims.size() <= kMaxRank, "a value of rank {}; XNNPACK takes {}",
                 value.dims.size(), kMaxRank);
  LAYLINE_ASSERT(value.quantisation.index() == quantisation_of(value.datatype),
                 "datatype {} with the wrong kind of quantisation",
                 static_cast<int>(value.datatype));
  LAYLINE_ASSERT(value.datatype != Datatype::kQDInt8 || !value.constant,
                 "a dynamically quantised constant");
}

void check_node(const Payload& graph, const PayloadNode& node) {
  std::visit(NodeCheck(graph), node);
}

}  // namespace layline::xnnpack
