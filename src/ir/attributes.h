// What an op instance is told besides its operands: one struct for each family of ops. Every
// struct lists its fields once, in `fields`, from which the printer, the parser and the comparison
// of attributes are made.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "algebra/relayout.h"
#include "ir/constant.h"
#include "ir/dtype.h"
#include "ir/quantisation.h"

namespace layline {

class Graph;

using Ints = std::vector<int64_t>;

/// A fused activation: results are clamped to [min, max].
struct Bounds {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool operator==(const Bounds&) const = default;
  bool unbounded() const { return *this == Bounds{}; }
};

enum class PadMode : uint8_t { constant, reflect, replicate, circular };
enum class ResizeMode : uint8_t { nearest, bilinear };
/// What is read at a place outside an image: 0, the nearest pixel, or the pixel reflected there.
enum class OutsideMode : uint8_t { zeros, border, reflection };

struct NoAttrs {
  static void fields(auto&&, auto&&) {}
};

struct ConstantAttrs {
  Constant data;
  QuantisationRef quantisation = {};  // what the numbers stand for
  static void fields(auto& self, auto&& field) {
    field("data", self.data);
    field("quantisation", self.quantisation);
  }
};

/// How an op's result is quantised, in the ops that have the field `quantisation`. The op computes
/// on the real numbers that its operands stand for, and rounds its result to integers. Without it
/// the result is real.
///
/// The result of `quantize` has this quantisation. The result of `reinterpret` has the same
/// integers as its operand, which then stand for other numbers, or without it for themselves.
struct QuantisationAttrs {
  QuantisationRef quantisation;
  static void fields(auto& self, auto&& field) { field("quantisation", self.quantisation); }
};

/// choose_scale, choose_zero_point: the quantisation to integers in [min, max] that covers 0 and
/// the elements that share a result element. It may be symmetric around 0.
struct ChooseAttrs {
  Ints axes;  // elements along these share one result element
  int64_t min = -128, max = 127;
  double eps = 0;  // the least scale
  bool symmetric = false;
  /// The zero point is taken from the end of [min, max] that it fits better, not always the lower.
  bool balanced = false;
  static void fields(auto& self, auto&& field) {
    field("axes", self.axes);
    field("min", self.min);
    field("max", self.max);
    field("eps", self.eps);
    field("symmetric", self.symmetric);
    field("balanced", self.balanced);
  }
};

/// quantize_by: integers of a dtype in [min, max].
struct IntegerAttrs {
  DType to = DType::i8;
  int64_t min = -128, max = 127;
  static void fields(auto& self, auto&& field) {
    field("to", self.to);
    field("min", self.min);
    field("max", self.max);
  }
};

struct RelayoutAttrs {
  Relayout relayout;
  static void fields(auto& self, auto&& field) { field("relayout", self.relayout); }
};

/// expand: the shape to broadcast to.
struct ShapeAttrs {
  Shape shape;
  static void fields(auto& self, auto&& field) { field("shape", self.shape); }
};

/// One axis, never negative: concat, softmax, cumsum, gather, argmax ...
struct AxisAttrs {
  int64_t axis = 0;
  static void fields(auto& self, auto&& field) { field("axis", self.axis); }
};

/// Axes that are sorted, distinct and never negative: reductions, flip.
struct AxesAttrs {
  Ints axes;
  QuantisationRef quantisation = {};
  static void fields(auto& self, auto&& field) {
    field("axes", self.axes);
    field("quantisation", self.quantisation);
  }
};

/// Element i of the result's axis a is element start[a] + i * step[a] of the operand's, step > 0.
struct SliceAttrs {
  Ints start;
  Shape size;
  Ints step;
  static void fields(auto& self, auto&& field) {
    field("start", self.start);
    field("size", self.size);
    field("step", self.step);
  }
};

/// Like a slice with step 1. How much of one axis is taken is known only when the graph runs: the
/// symbol size[axis] is that number.
struct CountedSliceAttrs {
  int64_t axis = 0;
  Ints start;
  Shape size;
  static void fields(auto& self, auto&& field) {
    field("axis", self.axis);
    field("start", self.start);
    field("size", self.size);
  }
};

struct PadAttrs {
  Ints low, high;  // one entry for each axis, never negative (a crop is a slice)
  PadMode mode = PadMode::constant;
  double value = 0;
  static void fields(auto& self, auto&& field) {
    field("low", self.low);
    field("high", self.high);
    field("mode", self.mode);
    field("value", self.value);
  }
};

/// Element i of the result is element (i - shift) modulo the axis length.
struct RollAttrs {
  Ints axes, shifts;
  static void fields(auto& self, auto&& field) {
    field("axes", self.axes);
    field("shifts", self.shifts);
  }
};

struct BinaryAttrs {
  Bounds bounds;
  QuantisationRef quantisation = {};
  static void fields(auto& self, auto&& field) {
    field("bounds", self.bounds);
    field("quantisation", self.quantisation);
  }
};

struct ClampAttrs {
  Bounds bounds;
  QuantisationRef quantisation = {};
  static void fields(auto& self, auto&& field) {
    field("bounds", self.bounds);
    field("quantisation", self.quantisation);
  }
};

/// The one parameter of elu (alpha) and leaky_relu (slope).
struct AlphaAttrs {
  double alpha = 0;
  static void fields(auto& self, auto&& field) { field("alpha", self.alpha); }
};

struct GeluAttrs {
  bool tanh = false;  // the tanh approximation; otherwise erf
  static void fields(auto& self, auto&& field) { field("tanh", self.tanh); }
};

struct ConvertAttrs {
  DType to = DType::f32;
  static void fields(auto& self, auto&& field) { field("to", self.to); }
};

/// Spatial attributes have one entry for each spatial axis of the channels-last operand.
struct ConvAttrs {
  Ints stride, dilation;
  Ints low, high;  // zero padding before and after each spatial axis
  int64_t groups = 1;
  Bounds bounds;
  QuantisationRef quantisation = {};
  bool dynamic = false;  // as in LinearAttrs
  static void fields(auto& self, auto&& field) {
    field("stride", self.stride);
    field("dilation", self.dilation);
    field("low", self.low);
    field("high", self.high);
    field("groups", self.groups);
    field("bounds", self.bounds);
    field("quantisation", self.quantisation);
    field("dynamic", self.dynamic);
  }
};

/// low and high crop the full result, as in torch; extra extends it after cropping
/// (output_padding).
struct ConvTransposeAttrs {
  Ints stride, dilation;
  Ints low, high;
  Ints extra;
  int64_t groups = 1;
  Bounds bounds;
  QuantisationRef quantisation = {};
  bool dynamic = false;  // as in LinearAttrs
  static void fields(auto& self, auto&& field) {
    field("stride", self.stride);
    field("dilation", self.dilation);
    field("low", self.low);
    field("high", self.high);
    field("extra", self.extra);
    field("groups", self.groups);
    field("bounds", self.bounds);
    field("quantisation", self.quantisation);
    field("dynamic", self.dynamic);
  }
};

/// `dynamic`: a contraction with quantised weights quantises x as it reads it, to 8 bits with one
/// scale for each row (linear) or image (convolutions).
struct LinearAttrs {
  Bounds bounds;
  QuantisationRef quantisation = {};
  bool dynamic = false;
  static void fields(auto& self, auto&& field) {
    field("bounds", self.bounds);
    field("quantisation", self.quantisation);
    field("dynamic", self.dynamic);
  }
};

struct MatmulAttrs {
  bool transpose_b = false;  // b is [..., n, k] instead of [..., k, n]
  QuantisationRef quantisation = {};
  static void fields(auto& self, auto&& field) {
    field("transpose_b", self.transpose_b);
    field("quantisation", self.quantisation);
  }
};

struct PoolAttrs {
  Ints kernel, stride, dilation;
  Ints low, high;
  bool count_padding = false;  // average pools: padding counts in the divisor
  Bounds bounds;
  QuantisationRef quantisation = {};
  static void fields(auto& self, auto&& field) {
    field("kernel", self.kernel);
    field("stride", self.stride);
    field("dilation", self.dilation);
    field("low", self.low);
    field("high", self.high);
    field("count_padding", self.count_padding);
    field("bounds", self.bounds);
    field("quantisation", self.quantisation);
  }
};

/// Normalises over all `axes` together: (x - mean) / sqrt(variance + eps), with the variance of the
/// population; or, without centring, x / sqrt(mean of squares + eps).
struct NormalizeAttrs {
  Ints axes;
  double eps = 0;
  bool center = true;
  static void fields(auto& self, auto&& field) {
    field("axes", self.axes);
    field("eps", self.eps);
    field("center", self.center);
  }
};

/// Resizes the spatial axes of a channels-last operand. Source coordinate of output i is
/// i * step (align_corners, and nearest) or (i + 0.5) * step - 0.5 (bilinear otherwise).
struct ResizeAttrs {
  /// Stands for a step that is the ratio of the sizes, and known only when they are.
  static constexpr double kRatio = -1;
  Shape size;
  std::vector<double> step;
  ResizeMode mode = ResizeMode::bilinear;
  bool align_corners = false;
  static void fields(auto& self, auto&& field) {
    field("size", self.size);
    field("step", self.step);
    field("mode", self.mode);
    field("align_corners", self.align_corners);
  }
};

/// Reads a channels-last image at the places of a grid, [n, rows, columns, 2] with x before y, from
/// -1 to 1: the centres of the first and the last pixel (align_corners), or their outer edges.
struct GridSampleAttrs {
  ResizeMode mode = ResizeMode::bilinear;
  OutsideMode outside = OutsideMode::zeros;
  bool align_corners = false;
  static void fields(auto& self, auto&& field) {
    field("mode", self.mode);
    field("outside", self.outside);
    field("align_corners", self.align_corners);
  }
};

/// A graph that an op runs; never changed. Equal ones compute the same in the same way.
struct BodyRef {
  std::shared_ptr<const Graph> graph;
  bool operator==(const BodyRef& other) const;
};

/// scan: runs `body` once for each element of its sequences' first axis. Operands are the body's
/// inputs. An input that the body writes is carried from step to step; its operand is what the
/// first step finds. Any other input is given one element of its operand, which has one axis more.
/// The result is the body's output number `output`: what the last step writes, or what all steps
/// give, one after the other. Scans that differ in `output` alone are one loop.
struct ScanAttrs {
  BodyRef body = {};
  int64_t output = 0;
  bool backwards = false;  // from the last element to the first
  static void fields(auto& self, auto&& field) {
    field("output", self.output);
    field("backwards", self.backwards);
    field("body", self.body);
  }
};

using AnyAttrs =
    std::variant<NoAttrs, ConstantAttrs, RelayoutAttrs, ShapeAttrs, AxisAttrs, AxesAttrs,
                 SliceAttrs, CountedSliceAttrs, PadAttrs, RollAttrs, BinaryAttrs, ClampAttrs,
                 AlphaAttrs, GeluAttrs, ConvertAttrs, ConvAttrs, ConvTransposeAttrs, LinearAttrs,
                 MatmulAttrs, PoolAttrs, ResizeAttrs, NormalizeAttrs, GridSampleAttrs,
                 QuantisationAttrs, ChooseAttrs, IntegerAttrs, ScanAttrs>;

/// The attributes of one op. They are copied, moved and destroyed in attributes.cc only. The
/// variant has so many alternatives that this code took a tenth of each file's compile time.
struct Attributes : AnyAttrs {
  using AnyAttrs::AnyAttrs;
  Attributes();
  Attributes(const Attributes&);
  Attributes(Attributes&&) noexcept;
  Attributes& operator=(const Attributes&);
  Attributes& operator=(Attributes&&) noexcept;
  ~Attributes();
};

bool operator==(const Attributes& a, const Attributes& b);

/// The attributes' quantisation, or null for ops that have none.
const QuantisationRef* quantisation_of(const Attributes& attributes);
QuantisationRef* quantisation_of(Attributes& attributes);
/// The attributes' fused clamp, or null for ops that have none.
const Bounds* bounds_of(const Attributes& attributes);
Bounds* bounds_of(Attributes& attributes);
/// Whether x is quantised as it is read (see LinearAttrs).
bool is_dynamic(const Attributes& attributes);

}  // namespace layline
