// The payload of an XNNPACK delegate: a graph of values and nodes in the terms of XNNPACK's
// subgraph API, as ExecuTorch serialises it. Plain descriptions in, bytes out.
//
//   0   4 zero bytes, "XH00", u16 header size 30
//   10  u32 flatbuffer offset (32), u32 flatbuffer size
//   18  u32 constants offset, u64 constants size (here always 0: see Constant)
//   30  padding to 32, then the flatbuffer "XN01"
//
// What holds for every graph:
// - Tensors are dense and row-major over `dims`, at most 6 of them; image operators take NHWC.
// - Values and nodes are defined in the given order; a node's inputs must be written before it.
// - The runtime reshapes the graph at every execution from the sizes of the actual inputs, so the
//   dims of non-constant values are upper bounds and hints; those in nodes (reshape, slice) hold.
// - `Range` clamps a node's output. Only the nodes that have one here honour it.
// - Zero-size and rank-0 values work, as do inputs that nothing reads, outputs that other nodes
//   read, and constants that nothing reads. One value cannot be two externals: copy it.
// - fp16: every value of a node is kFp16 (mixing with kFp32 is refused), and every node runs, with
//   emulated arithmetic on x86, except arg max pooling, and transposed convolution unless its
//   filter and bias are kFp32. Other filters and biases may be kFp32, too, and a fully-connected
//   node on kFp32 may have a kFp16 filter: XNNPACK converts them as it packs them.
// - int32: add, multiply, minimum, maximum, negate, slice, concatenate, transpose, copy, convert
//   from and to fp32; division is not torch's. An int64 tensor of the program may be a kInt32
//   output, which the runtime widens, but never an input: its bytes would be taken for int32.
// - bf16: elementwise nodes, convert, transpose and fully connected run; convolution is not known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace layline::xnnpack {

/// Numbers of the serialised schema (they differ from those of XNNPACK's own header).
enum class Datatype : int16_t {
  kFp32 = 1,
  kFp16 = 2,
  kQInt8 = 3,    ///< PerTensor
  kQUInt8 = 4,   ///< PerTensor
  kQInt32 = 5,   ///< PerTensor: a bias, scale = input scale * filter scale
  kQCInt8 = 6,   ///< PerChannel
  kQCInt32 = 7,  ///< PerChannel: a bias
  kQCInt4 = 8,   ///< PerChannel: two to a byte, (odd + 8) << 4 | (even + 8)
  kQDInt8 = 9,   ///< PerTokenDynamic: written by Convert, never constant or external
  kQBInt4 = 10,  ///< PerGroup: packed as kQCInt4
  kInt32 = 12,
  kBf16 = 14,
};

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = std::numeric_limits<uint32_t>::max();

/// How many inputs and outputs together the runtime lets a delegate have.
inline constexpr size_t kMaxExternals = 4096;

/// Named data of the program that holds a constant. It is never inline in the payload: the runtime
/// frees the payload after init, and only filters and biases have been packed by then. For the same
/// reason a value that is a filter or bias of one node must not also be the plain operand of
/// another: define it twice, with the same key.
struct PayloadConstant {
  std::string key;
  uint64_t bytes = 0;
};

struct PerTensor {
  float scale = 1.0f;
  int32_t zero_point = 0;
};
struct PerChannel {
  int32_t channel_dim = 0;
  PayloadConstant scales;  ///< float32, one per channel; the zero point is 0, for 4 bits 8
};
struct PerGroup {
  int32_t channel_dim = 0;
  int32_t group_size = 32;  ///< a multiple of 32
  PayloadConstant scales;   ///< bfloat16, [channels, inputs / group_size]
};
struct PerTokenDynamic {
  int32_t num_nonbatch_dims = 1;  ///< 1 for fully connected: per row; 3 for conv: per image
};
using PayloadQuantisation =
    std::variant<std::monostate, PerTensor, PerChannel, PerGroup, PerTokenDynamic>;

struct PayloadValue {
  Datatype datatype = Datatype::kFp32;
  std::vector<uint32_t> dims;
  std::optional<PayloadConstant> constant;
  PayloadQuantisation quantisation;
};

struct Range {
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

enum class UnaryKind {
  kAbs,
  kCeiling,
  kConvert,  ///< fp32 <-> fp16, quantise, dequantise, requantise
  kCopy,
  kCos,
  kExp,
  kFloor,
  kGelu,  ///< the exact one (erf)
  kHardswish,
  kLog,
  kNegate,
  kReciprocalSquareRoot,
  kSigmoid,
  kSin,
  kSoftmax,  ///< over the last axis
  kSquare,
  kSquareRoot,
  kTanh,
};
struct Unary {
  UnaryKind kind;
  ValueId input, output;
};
struct Clamp {
  ValueId input, output;
  Range range;
};
struct LeakyRelu {
  ValueId input, output;
  float negative_slope;
};
struct Elu {
  ValueId input, output;
  float alpha;
};

enum class BinaryKind { kAdd, kSubtract, kMultiply, kDivide, kMinimum, kMaximum, kPRelu };
/// Broadcasts as numpy does, also PRelu, whose second input are the slopes. `range` must be absent
/// for minimum, maximum and prelu, which ignore it.
struct Binary {
  BinaryKind kind;
  ValueId input1, input2, output;
  std::optional<Range> range;
};

/// [..., m, k] x [..., k, n], or [..., n, k] if `transpose_b`. Leading dims broadcast.
struct BatchMatMul {
  ValueId input1, input2, output;
  bool transpose_b = false;
};

/// [..., in] x [out, in] (or [in, out] if `transposed_filter`) + [out]. The bias may be kNoValue,
/// the filter need not be constant, the input may have any rank from 1.
struct FullyConnected {
  ValueId input, filter, bias, output;
  bool transposed_filter = false;
  std::optional<Range> range;
};

struct Padding {
  uint32_t top = 0, right = 0, bottom = 0, left = 0;
};
struct Pair {
  uint32_t height = 1, width = 1;
};

/// Filter [groups * group_output_channels, kernel h, kernel w, group_input_channels], constant. The
/// bias may be kNoValue. Padding may be asymmetric.
struct Conv {
  ValueId input, filter, bias, output;
  Padding padding;
  Pair kernel, stride, dilation;
  uint32_t groups = 1, group_input_channels, group_output_channels;
  std::optional<Range> range;
};
/// Conv with one input channel a group. Filter [1, kernel h, kernel w, groups * multiplier].
struct DepthwiseConv {
  ValueId input, filter, bias, output;
  Padding padding;
  Pair kernel, stride, dilation;
  uint32_t groups, multiplier = 1;
  std::optional<Range> range;
};
/// Filter as for Conv. `adjustment` is the output padding: extra rows and columns at the bottom
/// and right, fewer than the stride. `padding` crops the output.
struct ConvTranspose {
  ValueId input, filter, bias, output;
  Padding padding;
  Pair kernel, stride, dilation;
  Pair adjustment{0, 0};
  uint32_t groups = 1, group_input_channels, group_output_channels;
  std::optional<Range> range;
};

/// Padding never wins. A stride over the kernel and a 1x1 kernel are fine, here and in AvgPool; to
/// round the output size up, pad at the bottom and right.
struct MaxPool {
  ValueId input, output;
  Padding padding;
  Pair kernel, stride, dilation;
  std::optional<Range> range;
};
/// Padding does not count in the averages.
struct AvgPool {
  ValueId input, output;
  Padding padding;
  Pair kernel, stride;
  std::optional<Range> range;
};
/// The stride is the kernel. An index is a position in its window, counted down the columns:
/// column * kernel height + row.
struct ArgMaxPool {
  ValueId input, output_value, output_index;
  Padding padding;
  Pair kernel;
};
/// The mean over the two dims before the last, at any rank from 3.
struct GlobalAvgPool {
  ValueId input, output;
  bool keep_dims = true;  ///< [..., 1, 1, c] or [..., c]
  std::optional<Range> range;
};

struct Transpose {
  ValueId input, output;
  std::vector<uint32_t> perm;
};
/// One dim may be 0: it is inferred. Free between intermediates; where the input is external or the
/// output is, the bytes are copied.
struct Reshape {
  ValueId input, output;
  std::vector<uint32_t> shape;
};
/// A size of 0 with offset 0 takes the whole dim, whatever its length at run time; with another
/// offset it takes nothing.
struct Slice {
  ValueId input, output;
  std::vector<uint32_t> offsets, sizes;
};
struct ConstantPad {
  ValueId input, output;
  std::vector<uint32_t> before, after;
  float value = 0.0f;
};
enum class ResizeAlignment {
  kHalfPixel,     ///< torch's align_corners=False
  kAlignCorners,  ///< torch's align_corners=True
  kLegacy,        ///< TensorFlow 1: source = target * scale
};
struct ResizeBilinear {
  ValueId input, output;
  Pair size;
  ResizeAlignment alignment = ResizeAlignment::kHalfPixel;
};
/// Two to five inputs.
struct Concatenate {
  std::vector<ValueId> inputs;
  ValueId output;
  uint32_t axis;
};

using PayloadNode =
    std::variant<Unary, Clamp, LeakyRelu, Elu, Binary, BatchMatMul, FullyConnected, Conv,
                 DepthwiseConv, ConvTranspose, MaxPool, AvgPool, ArgMaxPool, GlobalAvgPool,
                 Transpose, Reshape, Slice, ConstantPad, ResizeBilinear, Concatenate>;

/// The externals' ids are positions in the DelegateCall's arguments: all inputs, in the order of
/// their definition, then all outputs. So define every input before the first output.
class Payload {
 public:
  ValueId define_input(PayloadValue value);
  ValueId define_output(PayloadValue value);
  /// An intermediate or constant value.
  ValueId define_value(PayloadValue value);

  /// Adds a node. Checks what the runtime checks when it loads the graph, so far as it can be known
  /// here. The handle names the node in the runtime's messages and in what reads traces.
  void add(PayloadNode node, uint32_t debug_handle = 0);

  const PayloadValue& value(ValueId id) const;
  size_t num_inputs() const { return num_inputs_; }
  size_t num_outputs() const { return num_outputs_; }
  const std::vector<PayloadNode>& nodes() const { return nodes_; }

  std::vector<std::byte> serialize() const;

 private:
  enum class Role : uint8_t { kInternal, kInput, kOutput };
  struct Entry {
    PayloadValue value;
    Role role;
    uint32_t external_id;
    bool ready;    ///< an input, a constant, or written by a node
    bool weight;   ///< used as a filter or bias
    bool operand;  ///< used as anything else
  };

  ValueId define(PayloadValue value, Role role, uint32_t external_id);
  Entry& entry(ValueId id);

  std::vector<Entry> values_;
  std::vector<PayloadNode> nodes_;
  std::vector<uint32_t> debug_handles_;  ///< one for each node
  uint32_t num_inputs_ = 0;
  uint32_t num_outputs_ = 0;
};

}  // namespace layline::xnnpack
