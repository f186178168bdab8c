#include "targets/xnnpack/payload.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "base/error.h"
#include "schema/xnnpack_generated.h"
#include "targets/xnnpack/payload_check.h"

namespace layline::xnnpack {
namespace {

namespace fb = fb_xnnpack;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Flags of values and nodes, as XNNPACK numbers them.
constexpr uint32_t kExternalInput = 1;
constexpr uint32_t kExternalOutput = 2;
constexpr uint32_t kTransposeWeights = 0x1;
constexpr uint32_t kTransposeB = 0x1;
constexpr uint32_t kLegacyResize = 0x4;
constexpr uint32_t kAlignCorners = 0x8;
constexpr uint32_t kKeepDims = 0x40;

/// The graph's flatbuffer, built value by value and node by node.
class Serialiser {
 public:
  /// The index of a constant in the payload's table; one entry for each key.
  uint32_t constant_index(const PayloadConstant& constant) {
    const auto [at, added] =
        constant_indices_.emplace(constant.key, static_cast<uint32_t>(constants_.size()));
    if (added) {
      constants_.push_back(fb::CreateConstantDataOffset(fbb_, std::numeric_limits<uint64_t>::max(),
                                                        constant.bytes,
                                                        fbb_.CreateString(constant.key)));
    }
    return at->second;
  }

  /// A list in the flatbuffer. Values of one shape share theirs.
  Offset<flatbuffers::Vector<uint32_t>> list(const std::vector<uint32_t>& numbers) {
    const auto [at, added] = lists_.try_emplace(numbers);
    if (added) at->second = fbb_.CreateVector(numbers);
    return at->second;
  }

  void value(const PayloadValue& value, uint32_t id, uint32_t external_id, uint32_t flags) {
    const uint32_t constant = value.constant ? constant_index(*value.constant) : 0;
    const auto tensor =
        fb::CreateXNNTensorValue(fbb_, static_cast<fb::XNNDatatype>(value.datatype),
                                 static_cast<uint32_t>(value.dims.size()), list(value.dims),
                                 constant, external_id, flags, id);
    if (std::holds_alternative<std::monostate>(value.quantisation)) {
      values_.push_back(fb::CreateXValue(fbb_, fb::XValueUnion::XNNTensorValue, tensor.Union()));
      return;
    }
    const auto [kind, params] =
        std::visit([this](const auto& q) { return quantisation(q); }, value.quantisation);
    const auto quantised = fb::CreateXNNQuantizedTensorValue(fbb_, tensor, kind, params);
    values_.push_back(
        fb::CreateXValue(fbb_, fb::XValueUnion::XNNQuantizedTensorValue, quantised.Union()));
  }

  void node(const PayloadNode& node, uint32_t debug_handle) {
    const Made made = std::visit([this](const auto& n) { return make(n); }, node);
    Offset<fb::OutputMinMax> range;
    if (made.range) range = fb::CreateOutputMinMax(fbb_, made.range->min, made.range->max);
    nodes_.push_back(fb::CreateXNode(fbb_, made.kind, made.node, debug_handle, range));
  }

  std::span<const uint8_t> finish(const std::vector<uint32_t>& inputs,
                                  const std::vector<uint32_t>& outputs) {
    const auto version = fbb_.CreateString("0");
    const auto nodes = fbb_.CreateVector(nodes_);
    const auto values = fbb_.CreateVector(values_);
    const auto input_ids = fbb_.CreateVector(inputs);
    const auto output_ids = fbb_.CreateVector(outputs);
    const auto constants = fbb_.CreateVector(constants_);
    const auto externals = static_cast<uint32_t>(inputs.size() + outputs.size());
    fb::FinishXNNGraphBuffer(fbb_, fb::CreateXNNGraph(fbb_, version, nodes, values, externals,
                                                      input_ids, output_ids, constants));
    return {fbb_.GetBufferPointer(), fbb_.GetSize()};
  }

 private:
  struct Made {
    fb::XNodeUnion kind;
    Offset<void> node;
    std::optional<Range> range = std::nullopt;
  };
  using Params = std::pair<fb::XNNQuantParams, Offset<void>>;

  Params quantisation(const std::monostate&) { return {fb::XNNQuantParams::NONE, 0}; }
  Params quantisation(const PerTensor& q) {
    return {fb::XNNQuantParams::PerTensorQuant,
            fb::CreatePerTensorQuant(fbb_, q.scale, q.zero_point).Union()};
  }
  Params quantisation(const PerChannel& q) {
    // The runtime dereferences the inline scales even where it does not use them.
    const auto no_scales = fbb_.CreateVector(std::vector<float>());
    const auto count = static_cast<uint32_t>(q.scales.bytes / sizeof(float));
    return {
        fb::XNNQuantParams::PerChannelQuant,
        fb::CreatePerChannelQuant(fbb_, no_scales, q.channel_dim, constant_index(q.scales), count)
            .Union()};
  }
  Params quantisation(const PerGroup& q) {
    const auto no_scales = fbb_.CreateVector(std::vector<float>());
    const auto count = static_cast<uint32_t>(q.scales.bytes / sizeof(uint16_t));
    return {fb::XNNQuantParams::PerChannelGroupQuant,
            fb::CreatePerChannelGroupQuant(fbb_, no_scales, q.channel_dim, q.group_size,
                                           constant_index(q.scales), count)
                .Union()};
  }
  Params quantisation(const PerTokenDynamic& q) {
    return {fb::XNNQuantParams::PerTokenDynamicQuant,
            fb::CreatePerTokenDynamicQuant(fbb_, q.num_nonbatch_dims).Union()};
  }

  Offset<void> one_to_one(ValueId input, ValueId output, uint32_t flags = 0) {
    return fb::Create_XNNNode1x1(fbb_, input, output, flags).Union();
  }
  Offset<void> two_to_one(ValueId input1, ValueId input2, ValueId output, uint32_t flags = 0) {
    return fb::Create_XNNNode2x1(fbb_, input1, input2, output, flags).Union();
  }
  template <typename N>
  Offset<void> conv(const N& n, uint32_t group_inputs, uint32_t group_outputs,
                    Pair adjustment = {0, 0}) {
    return fb::Create_XNNNodeConv(fbb_, n.padding.top, n.padding.right, n.padding.bottom,
                                  n.padding.left, n.kernel.height, n.kernel.width, n.stride.height,
                                  n.stride.width, n.dilation.height, n.dilation.width, group_inputs,
                                  group_outputs, n.groups, adjustment.height, adjustment.width,
                                  n.input, n.filter, n.bias, n.output)
        .Union();
  }
  template <typename N>
  Offset<void> pool(const N& n, Pair dilation) {
    return fb::Create_XNNPooling2D(fbb_, n.padding.top, n.padding.right, n.padding.bottom,
                                   n.padding.left, n.kernel.height, n.kernel.width, n.stride.height,
                                   n.stride.width, dilation.height, dilation.width, n.input,
                                   n.output)
        .Union();
  }

  static fb::XNodeUnion kind_of(UnaryKind kind) {
    switch (kind) {
      case UnaryKind::kAbs:
        return fb::XNodeUnion::XNNAbs;
      case UnaryKind::kCeiling:
        return fb::XNodeUnion::XNNCeiling;
      case UnaryKind::kConvert:
        return fb::XNodeUnion::XNNConvert;
      case UnaryKind::kCopy:
        return fb::XNodeUnion::XNNCopy;
      case UnaryKind::kCos:
        return fb::XNodeUnion::XNNCos;
      case UnaryKind::kExp:
        return fb::XNodeUnion::XNNExp;
      case UnaryKind::kFloor:
        return fb::XNodeUnion::XNNFloor;
      case UnaryKind::kGelu:
        return fb::XNodeUnion::XNNGelu;
      case UnaryKind::kHardswish:
        return fb::XNodeUnion::XNNHardswish;
      case UnaryKind::kLog:
        return fb::XNodeUnion::XNNLog;
      case UnaryKind::kNegate:
        return fb::XNodeUnion::XNNNegate;
      case UnaryKind::kReciprocalSquareRoot:
        return fb::XNodeUnion::XNNReciprocalSquareRoot;
      case UnaryKind::kSigmoid:
        return fb::XNodeUnion::XNNSigmoid;
      case UnaryKind::kSin:
        return fb::XNodeUnion::XNNSin;
      case UnaryKind::kSoftmax:
        return fb::XNodeUnion::XNNSoftmax;
      case UnaryKind::kSquare:
        return fb::XNodeUnion::XNNSquare;
      case UnaryKind::kSquareRoot:
        return fb::XNodeUnion::XNNSquareRoot;
      case UnaryKind::kTanh:
        return fb::XNodeUnion::XNNTanh;
    }
    throw InternalError("unknown unary kind");
  }

  static fb::XNodeUnion kind_of(BinaryKind kind) {
    switch (kind) {
      case BinaryKind::kAdd:
        return fb::XNodeUnion::XNNAdd;
      case BinaryKind::kSubtract:
        return fb::XNodeUnion::XNNSubtract;
      case BinaryKind::kMultiply:
        return fb::XNodeUnion::XNNMultiply;
      case BinaryKind::kDivide:
        return fb::XNodeUnion::XNNDiv;
      case BinaryKind::kMinimum:
        return fb::XNodeUnion::XNNMinimum;
      case BinaryKind::kMaximum:
        return fb::XNodeUnion::XNNMaximum;
      case BinaryKind::kPRelu:
        return fb::XNodeUnion::XNNPReLU;
    }
    throw InternalError("unknown binary kind");
  }

  Made make(const Unary& n) { return {kind_of(n.kind), one_to_one(n.input, n.output)}; }
  Made make(const Clamp& n) {
    return {fb::XNodeUnion::XNNClamp, one_to_one(n.input, n.output), n.range};
  }
  Made make(const LeakyRelu& n) {
    return {fb::XNodeUnion::XNNLeakyReLU,
            fb::CreateXNNLeakyReLU(fbb_, n.negative_slope, n.input, n.output).Union()};
  }
  Made make(const Elu& n) {
    return {fb::XNodeUnion::XNNELU, fb::CreateXNNELU(fbb_, n.alpha, n.input, n.output).Union()};
  }
  Made make(const Binary& n) {
    return {kind_of(n.kind), two_to_one(n.input1, n.input2, n.output), n.range};
  }
  Made make(const BatchMatMul& n) {
    return {fb::XNodeUnion::XNNBatchMatrixMultiply,
            two_to_one(n.input1, n.input2, n.output, n.transpose_b ? kTransposeB : 0)};
  }
  Made make(const FullyConnected& n) {
    const uint32_t flags = n.transposed_filter ? kTransposeWeights : 0;
    return {fb::XNodeUnion::XNNFullyConnected,
            fb::CreateXNNFullyConnected(fbb_, n.input, n.filter, n.bias, n.output, flags).Union(),
            n.range};
  }
  Made make(const Conv& n) {
    return {fb::XNodeUnion::XNNConv2d, conv(n, n.group_input_channels, n.group_output_channels),
            n.range};
  }
  Made make(const DepthwiseConv& n) {
    // The runtime computes the multiplier as output channels / input channels of a group.
    return {fb::XNodeUnion::XNNDepthwiseConv2d, conv(n, 1, n.multiplier), n.range};
  }
  Made make(const ConvTranspose& n) {
    return {fb::XNodeUnion::XNNConvTranspose2d,
            conv(n, n.group_input_channels, n.group_output_channels, n.adjustment), n.range};
  }
  Made make(const MaxPool& n) {
    return {fb::XNodeUnion::XNNMaxPooling2d, pool(n, n.dilation), n.range};
  }
  Made make(const AvgPool& n) {
    return {fb::XNodeUnion::XNNAvgPooling2d, pool(n, Pair{1, 1}), n.range};
  }
  Made make(const ArgMaxPool& n) {
    return {fb::XNodeUnion::XNNArgMaxPooling2d,
            fb::CreateXNNArgMaxPooling2d(fbb_, n.padding.top, n.padding.right, n.padding.bottom,
                                         n.padding.left, n.kernel.height, n.kernel.width, n.input,
                                         n.output_value, n.output_index)
                .Union()};
  }
  Made make(const GlobalAvgPool& n) {
    return {fb::XNodeUnion::XNNGlobalAvgPooling2d,
            one_to_one(n.input, n.output, n.keep_dims ? kKeepDims : 0), n.range};
  }
  Made make(const Transpose& n) {
    const auto perm = list(n.perm);
    return {fb::XNodeUnion::XNNStaticTranspose,
            fb::CreateXNNStaticTranspose(fbb_, static_cast<uint32_t>(n.perm.size()), perm, n.input,
                                         n.output)
                .Union()};
  }
  Made make(const Reshape& n) {
    const auto shape = list(n.shape);
    return {fb::XNodeUnion::XNNStaticReshape,
            fb::CreateXNNStaticReshape(fbb_, static_cast<uint32_t>(n.shape.size()), shape, n.input,
                                       n.output)
                .Union()};
  }
  Made make(const Slice& n) {
    const auto offsets = list(n.offsets);
    const auto sizes = list(n.sizes);
    return {fb::XNodeUnion::XNNStaticSlice,
            fb::CreateXNNStaticSlice(fbb_, static_cast<uint32_t>(n.sizes.size()), offsets, sizes,
                                     n.input, n.output)
                .Union()};
  }
  Made make(const ConstantPad& n) {
    const auto before = list(n.before);
    const auto after = list(n.after);
    return {
        fb::XNodeUnion::XNNStaticConstantPad,
        fb::CreateXNNStaticConstantPad(fbb_, before, after, n.value, n.input, n.output).Union()};
  }
  Made make(const ResizeBilinear& n) {
    const uint32_t flags = n.alignment == ResizeAlignment::kAlignCorners ? kAlignCorners
                           : n.alignment == ResizeAlignment::kLegacy     ? kLegacyResize
                                                                         : 0;
    return {fb::XNodeUnion::XNNStaticResizeBilinear2D,
            fb::CreateXNNStaticResizeBilinear2D(fbb_, n.size.height, n.size.width, n.input,
                                                n.output, flags)
                .Union()};
  }
  Made make(const Concatenate& n) {
    constexpr std::array kinds{fb::XNodeUnion::XNNConcatenate2, fb::XNodeUnion::XNNConcatenate3,
                               fb::XNodeUnion::XNNConcatenate4, fb::XNodeUnion::XNNConcatenate5};
    std::array<uint32_t, 5> in;
    in.fill(kNoValue);
    std::copy(n.inputs.begin(), n.inputs.end(), in.begin());
    return {kinds[n.inputs.size() - 2], fb::Create_XNNCat(fbb_, n.axis, in[0], in[1], in[2], in[3],
                                                          n.output, /*flags=*/0, in[4])
                                            .Union()};
  }

  FlatBufferBuilder fbb_;
  std::map<std::string, uint32_t, std::less<>> constant_indices_;
  std::map<std::vector<uint32_t>, Offset<flatbuffers::Vector<uint32_t>>> lists_;
  // Index 0 means "not constant".
  std::vector<Offset<fb::ConstantDataOffset>> constants_{fb::CreateConstantDataOffset(fbb_)};
  std::vector<Offset<fb::XValue>> values_;
  std::vector<Offset<fb::XNode>> nodes_;
};

void append(std::vector<std::byte>& out, const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

template <typename T>
void append_little_endian(std::vector<std::byte>& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void pad_to(std::vector<std::byte>& out, size_t alignment) {
  out.resize((out.size() + alignment - 1) / alignment * alignment);
}

}  // namespace

ValueId Payload::define_input(PayloadValue value) {
  LAYLINE_ASSERT(num_outputs_ == 0, "an input defined after an output");
  return define(std::move(value), Role::kInput, num_inputs_++);
}

ValueId Payload::define_output(PayloadValue value) {
  return define(std::move(value), Role::kOutput, num_inputs_ + num_outputs_++);
}

ValueId Payload::define_value(PayloadValue value) {
  return define(std::move(value), Role::kInternal, kNoValue);
}

ValueId Payload::define(PayloadValue value, Role role, uint32_t external_id) {
  check_value(value);
  LAYLINE_ASSERT(role == Role::kInternal || !value.constant, "an external value that is constant");
  const bool ready = role == Role::kInput || value.constant.has_value();
  values_.push_back({std::move(value), role, external_id, ready, false, false});
  return static_cast<ValueId>(values_.size() - 1);
}

const PayloadValue& Payload::value(ValueId id) const {
  LAYLINE_ASSERT(id < values_.size(), "no value {} in the graph", id);
  return values_[id].value;
}

Payload::Entry& Payload::entry(ValueId id) {
  LAYLINE_ASSERT(id < values_.size(), "no value {} in the graph", id);
  return values_[id];
}

void Payload::add(PayloadNode node, uint32_t debug_handle) {
  const Ports ports = ports_of(node);
  for (ValueId id : ports.inputs) {
    LAYLINE_ASSERT(entry(id).ready, "value {} is read before it is written", id);
    entry(id).operand = true;
  }
  for (ValueId id : ports.weights) {
    LAYLINE_ASSERT(entry(id).ready, "value {} is read before it is written", id);
    entry(id).weight = true;
  }
  for (ValueId id : ports.outputs)
    LAYLINE_ASSERT(!entry(id).ready, "value {} is written twice", id);
  check_node(*this, node);
  for (ValueId id : ports.outputs) entry(id).ready = true;
  nodes_.push_back(std::move(node));
  debug_handles_.push_back(debug_handle);
}

std::vector<std::byte> Payload::serialize() const {
  LAYLINE_ASSERT(num_inputs_ + num_outputs_ <= kMaxExternals,
                 "{} inputs and outputs; the runtime takes {}", num_inputs_ + num_outputs_,
                 kMaxExternals);
  Serialiser serialiser;
  std::vector<uint32_t> inputs, outputs;
  for (ValueId id = 0; id < values_.size(); ++id) {
    const Entry& entry = values_[id];
    LAYLINE_ASSERT(entry.ready, "value {} is never written", id);
    LAYLINE_ASSERT(!entry.value.constant || !entry.weight || !entry.operand,
                   "constant {} is both a weight, which is freed once packed, and an operand", id);
    uint32_t flags = 0;
    if (entry.role == Role::kInput) {
      flags = kExternalInput;
      inputs.push_back(id);
    } else if (entry.role == Role::kOutput) {
      flags = kExternalOutput;
      outputs.push_back(id);
    }
    serialiser.value(entry.value, id, entry.external_id, flags);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) serialiser.node(nodes_[i], debug_handles_[i]);
  const std::span<const uint8_t> flatbuffer = serialiser.finish(inputs, outputs);

  constexpr uint16_t kHeaderSize = 30;
  constexpr uint32_t kFlatbufferOffset = 32;
  constexpr size_t kConstantAlignment = 16;
  const auto flatbuffer_size = static_cast<uint32_t>(flatbuffer.size());
  const uint32_t padded_end =
      static_cast<uint32_t>((kFlatbufferOffset + flatbuffer.size() + kConstantAlignment - 1) /
                            kConstantAlignment * kConstantAlignment);
  std::vector<std::byte> out(4);
  out.reserve(padded_end);
  append(out, "XH00", 4);
  append_little_endian(out, kHeaderSize);
  append_little_endian(out, kFlatbufferOffset);
  append_little_endian(out, flatbuffer_size);
  append_little_endian(out, padded_end);   // where inline constants would be
  append_little_endian(out, uint64_t{0});  // and how many bytes of them
  pad_to(out, kFlatbufferOffset);
  append(out, flatbuffer.data(), flatbuffer.size());
  pad_to(out, kConstantAlignment);
  return out;
}

}  // namespace layline::xnnpack
