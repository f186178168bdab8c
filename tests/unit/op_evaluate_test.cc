// Every op on numbers worked out by hand or by torch, and the larger ones against another formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "make_tensor.h"

namespace layline {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  Op op;
  std::vector<Tensor> operands;
  Attributes attributes;
  Tensor expected;
};

const Tensor kSigned = f32({4}, {-2, -0.5, 0.5, 3});
const Tensor kPositive = f32({4}, {0.25, 1, 2, 9});

Case unary(Op op, const Tensor& x, const std::vector<double>& expected,
           Attributes attributes = {}) {
  return {op, {x}, std::move(attributes), make_tensor(x.dtype(), x.type().shape, expected)};
}

std::vector<Case> movement_cases() {
  const Tensor x = iota({2, 3});
  return {
      {Op::constant, {}, ConstantAttrs{Constant::scalar(DType::f32, 2.5)}, f32({}, {2.5})},
      {Op::relayout,
       {x},
       RelayoutAttrs{Relayout::permute({2, 3}, std::vector<int>{1, 0})},
       f32({3, 2}, {0, 3, 1, 4, 2, 5})},
      {Op::expand,
       {f32({2, 1}, {7, 8})},
       ShapeAttrs{{2, 2, 3}},
       f32({2, 2, 3}, {7, 7, 7, 8, 8, 8, 7, 7, 7, 8, 8, 8})},
      {Op::slice,
       {iota({3, 5})},
       SliceAttrs{{1, 0}, {2, 3}, {1, 2}},
       f32({2, 3}, {5, 7, 9, 10, 12, 14})},
      {Op::counted_slice,
       {x, i64({}, {2})},
       CountedSliceAttrs{1, {1, 1}, {1, 2}},
       f32({1, 2}, {4, 5})},
      {Op::slice, {x}, SliceAttrs{{0, 3}, {2, 0}, {1, 1}}, f32({2, 0}, {})},
      {Op::concat,
       {x, f32({2, 1}, {8, 9}), f32({2, 0}, {})},
       AxisAttrs{1},
       f32({2, 4}, {0, 1, 2, 8, 3, 4, 5, 9})},
      {Op::pad,
       {f32({1, 2}, {1, 2})},
       PadAttrs{{1, 0}, {0, 2}, PadMode::constant, -3},
       f32({2, 4}, {-3, -3, -3, -3, 1, 2, -3, -3})},
      {Op::pad,
       {x},
       PadAttrs{{0, 2}, {0, 1}, PadMode::reflect, 0},
       f32({2, 6}, {2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4})},
      {Op::pad,
       {x},
       PadAttrs{{0, 2}, {0, 1}, PadMode::replicate, 0},
       f32({2, 6}, {0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 5, 5})},
      {Op::pad,
       {x},
       PadAttrs{{0, 2}, {0, 1}, PadMode::circular, 0},
       f32({2, 6}, {1, 2, 0, 1, 2, 0, 4, 5, 3, 4, 5, 3})},
      {Op::pad, {f32({0}, {})}, PadAttrs{{1}, {1}, PadMode::constant, 4}, f32({2}, {4, 4})},
      {Op::flip, {x}, AxesAttrs{{0, 1}}, f32({2, 3}, {5, 4, 3, 2, 1, 0})},
      {Op::roll, {x}, RollAttrs{{1}, {1}}, f32({2, 3}, {2, 0, 1, 5, 3, 4})},
      {Op::roll, {x}, RollAttrs{{0, 1}, {-1, -7}}, f32({2, 3}, {4, 5, 3, 1, 2, 0})},
      {Op::gather,
       {x, i64({2, 2}, {2, 0, -1, 1})},
       AxisAttrs{1},
       f32({2, 2, 2}, {2, 0, 2, 1, 5, 3, 5, 4})},
      {Op::gather, {x, i64({}, {1})}, AxisAttrs{0}, f32({3}, {3, 4, 5})},
      {Op::gather_elements,
       {x, i64({2, 2}, {2, 0, 1, 1})},
       AxisAttrs{1},
       f32({2, 2}, {2, 0, 4, 4})},
      {Op::gather_elements, {x, i64({1, 2}, {1, 0})}, AxisAttrs{0}, f32({1, 2}, {3, 1})},
      {Op::scatter,
       {x, i64({1, 2}, {2, 0}), f32({2, 2}, {6, 7, 8, 9})},
       AxisAttrs{1},
       f32({2, 3}, {7, 1, 6, 9, 4, 8})},
      {Op::scatter,
       {x, i64({2, 1}, {1, 1}), f32({2, 3}, {6, 7, 8, 9, 10, 11})},
       AxisAttrs{0},
       f32({2, 3}, {0, 1, 2, 9, 10, 11})},
      {Op::scatter_elements,
       {x, i64({2, 2}, {2, 0, 1, 1}), f32({2, 2}, {6, 7, 8, 9})},
       AxisAttrs{1},
       f32({2, 3}, {7, 1, 6, 3, 9, 5})},
      {Op::scatter_add,
       {x, i64({2, 2}, {2, 0, 1, 1}), f32({2, 2}, {6, 7, 8, 9})},
       AxisAttrs{1},
       f32({2, 3}, {7, 1, 8, 3, 21, 5})},
  };
}

std::vector<Case> attention_cases() {
  // Two heads share their keys. The first query sees keys 0 and 1, which score alike for the first
  // head; the second sees all three.
  const double far = 1000;
  return {{Op::causal_attention,
           {f32({1, 2, 2, 1}, {0, far, far, -far}), f32({1, 3, 1, 1}, {0, 1, 2}),
            f32({1, 3, 1, 1}, {10, 20, 40}), i64({}, {1})},
           NoAttrs{},
           f32({1, 2, 2, 1}, {15, 20, 40, 10})}};
}

/// A running sum, twice the element that is added, and what the sum was before.
std::vector<Case> scan_cases() {
  const auto body = std::make_shared<Graph>(parse_graph(R"(graph "step" {
    input "sum" %sum : f32[]
    input "x" %x : f32[]
    %next = add(%x, %sum)
    %twice = add(%x, %x)
    write %next to %sum
    output "sums" %next
    output "twice" %twice
    output "before" %sum
  })",
                                                        "body"));
  const std::vector<Tensor> inputs = {f32({}, {10}), f32({3}, {1, 2, 3})};
  return {{Op::scan, inputs, ScanAttrs{{body}, 0}, f32({}, {16})},
          {Op::scan, inputs, ScanAttrs{{body}, 1}, f32({3}, {11, 13, 16})},
          {Op::scan, inputs, ScanAttrs{{body}, 1, true}, f32({3}, {16, 15, 13})},
          {Op::scan, inputs, ScanAttrs{{body}, 2}, f32({3}, {2, 4, 6})},
          {Op::scan, inputs, ScanAttrs{{body}, 3}, f32({3}, {10, 11, 13})}};
}

std::vector<Case> binary_cases() {
  const Tensor a = f32({5}, {7, -7, 7, -7, 5.5});
  const Tensor b = f32({5}, {3, 3, -3, -3, 0.5});
  const Tensor left = i64({4}, {7, -7, 7, -7});
  const Tensor right = i64({4}, {3, 3, -3, -3});
  const Tensor low = f32({3}, {1, 2, kNan});
  const Tensor high = f32({3}, {2, 2, 1});
  const Tensor t = boolean({4}, {0, 0, 1, 1});
  const Tensor u = boolean({4}, {0, 1, 0, 1});
  const NoAttrs none;
  return {
      {Op::add, {iota({2, 1}), iota({3})}, BinaryAttrs{}, f32({2, 3}, {0, 1, 2, 1, 2, 3})},
      {Op::add, {a, b}, BinaryAttrs{{0, 6}}, f32({5}, {6, 0, 4, 0, 6})},
      {Op::add,
       {make_tensor(DType::i8, {2}, {127, -128}), make_tensor(DType::i8, {2}, {1, -1})},
       BinaryAttrs{},
       make_tensor(DType::i8, {2}, {-128, 127})},
      {Op::sub, {a, f32({}, {1})}, BinaryAttrs{}, f32({5}, {6, -8, 6, -8, 4.5})},
      {Op::mul, {left, right}, BinaryAttrs{{-kInf, 20.5}}, i64({4}, {20, -21, -21, 20})},
      {Op::div, {f32({3}, {1, -1, 0}), f32({}, {0})}, BinaryAttrs{}, f32({3}, {kInf, -kInf, kNan})},
      {Op::minimum, {low, high}, none, f32({3}, {1, 2, kNan})},
      {Op::minimum, {high, low}, none, f32({3}, {1, 2, kNan})},
      {Op::maximum, {low, high}, none, f32({3}, {2, 2, kNan})},
      {Op::maximum, {high, low}, none, f32({3}, {2, 2, kNan})},
      {Op::pow, {f32({3}, {2, 9, -2}), f32({3}, {10, 0.5, 3})}, none, f32({3}, {1024, 3, -8})},
      {Op::pow,
       {i64({4}, {3, -2, -1, 5}), i64({4}, {4, 3, -3, -1})},
       none,
       i64({4}, {81, -8, -1, 0})},
      {Op::floor_div, {a, b}, none, f32({5}, {2, -3, -3, 2, 11})},
      {Op::floor_div, {left, right}, none, i64({4}, {2, -3, -3, 2})},
      {Op::remainder, {a, b}, none, f32({5}, {1, 2, -2, -1, 0})},
      {Op::remainder, {left, right}, none, i64({4}, {1, 2, -2, -1})},
      {Op::fmod, {a, b}, none, f32({5}, {1, -1, 1, -1, 0})},
      {Op::fmod, {left, right}, none, i64({4}, {1, -1, 1, -1})},
      {Op::bitwise_and, {left, right}, none, i64({4}, {3, 1, 5, -7})},
      {Op::bitwise_or, {left, right}, none, i64({4}, {7, -5, -1, -3})},
      {Op::bitwise_xor, {left, right}, none, i64({4}, {4, -6, -6, 4})},
      {Op::left_shift, {left, i64({}, {2})}, none, i64({4}, {28, -28, 28, -28})},
      {Op::right_shift, {left, i64({}, {1})}, none, i64({4}, {3, -4, 3, -4})},
      {Op::right_shift, {left, i64({}, {70})}, none, i64({4}, {0, -1, 0, -1})},
      {Op::atan2,
       {f32({3}, {1, 0, -1}), f32({3}, {0, -1, 0})},
       none,
       f32({3}, {1.5707964, 3.1415927, -1.5707964})},
      {Op::equal, {low, high}, none, boolean({3}, {0, 1, 0})},
      {Op::not_equal, {low, high}, none, boolean({3}, {1, 0, 1})},
      {Op::less, {low, high}, none, boolean({3}, {1, 0, 0})},
      {Op::less_equal, {low, high}, none, boolean({3}, {1, 1, 0})},
      {Op::greater, {high, low}, none, boolean({3}, {1, 0, 0})},
      {Op::greater_equal, {high, low}, none, boolean({3}, {1, 1, 0})},
      {Op::logical_and, {t, u}, none, boolean({4}, {0, 0, 0, 1})},
      {Op::logical_or, {t, u}, none, boolean({4}, {0, 1, 1, 1})},
      {Op::logical_xor, {t, u}, none, boolean({4}, {0, 1, 1, 0})},
      {Op::prelu,
       {f32({2, 2}, {-1, -1, 3, kNan}), f32({2}, {0.5, 2})},
       none,
       f32({2, 2}, {-0.5, -2, 3, kNan})},
      {Op::where,
       {boolean({2, 1}, {1, 0}), f32({2}, {1, kNan}), f32({}, {5})},
       none,
       f32({2, 2}, {1, kNan, 5, 5})},
  };
}

std::vector<Case> unary_cases() {
  const Tensor halves = f32({6}, {-1.5, -0.5, 0.5, 1.5, 2.5, -2.7});
  const Tensor integers = i64({3}, {-4, 0, 5});
  return {
      unary(Op::abs, kSigned, {2, 0.5, 0.5, 3}),
      unary(Op::abs, integers, {4, 0, 5}),
      unary(Op::neg, kSigned, {2, 0.5, -0.5, -3}),
      unary(Op::exp, kSigned, {0.1353353, 0.6065307, 1.6487213, 20.0855369}),
      unary(Op::expm1, f32({3}, {-1, 1e-10, 2}), {-0.6321206, 1e-10, 6.3890561}),
      unary(Op::log1p, f32({3}, {-0.5, 1e-10, 3}), {-0.6931472, 1e-10, 1.3862944}),
      unary(Op::log, kPositive, {-1.3862944, 0, 0.6931472, 2.1972246}),
      unary(Op::sqrt, kPositive, {0.5, 1, 1.4142136, 3}),
      unary(Op::rsqrt, kPositive, {2, 1, 0.7071068, 0.3333333}),
      unary(Op::reciprocal, kSigned, {-0.5, -2, 2, 0.3333333}),
      unary(Op::sin, kSigned, {-0.9092974, -0.4794255, 0.4794255, 0.14112}),
      unary(Op::cos, kSigned, {-0.4161468, 0.8775826, 0.8775826, -0.9899925}),
      unary(Op::atan, kSigned, {-1.1071487, -0.4636476, 0.4636476, 1.2490458}),
      unary(Op::asin, f32({4}, {-0.75, -0.5, 0.5, 0.9}),
            {-0.8480621, -0.5235988, 0.5235988, 1.1197695}),
      unary(Op::acos, f32({4}, {-0.75, -0.5, 0.5, 0.9}),
            {2.4188584, 2.0943951, 1.0471976, 0.4510268}),
      unary(Op::sinh, f32({2}, {-2, 0.5}), {-3.6268604, 0.5210953}),
      unary(Op::cosh, f32({2}, {-2, 0.5}), {3.7621957, 1.1276260}),
      unary(Op::asinh, f32({2}, {-2, 0.5}), {-1.4436355, 0.4812118}),
      unary(Op::acosh, f32({2}, {1, 3}), {0.0000000, 1.7627472}),
      unary(Op::atanh, f32({4}, {-0.75, -0.5, 0.5, 0.9}),
            {-0.9729551, -0.5493061, 0.5493061, 1.4722195}),
      unary(Op::tanh, kSigned, {-0.9640276, -0.4621172, 0.4621172, 0.9950548}),
      unary(Op::sigmoid, kSigned, {0.1192029, 0.3775407, 0.6224593, 0.9525741}),
      unary(Op::erf, kSigned, {-0.9953223, -0.5204999, 0.5204999, 0.9999779}),
      unary(Op::floor, halves, {-2, -1, 0, 1, 2, -3}),
      unary(Op::floor, integers, {-4, 0, 5}),
      unary(Op::ceil, halves, {-1, 0, 1, 2, 3, -2}),
      unary(Op::round, halves, {-2, 0, 0, 2, 2, -3}),
      unary(Op::trunc, halves, {-1, 0, 0, 1, 2, -2}),
      unary(Op::square, kSigned, {4, 0.25, 0.25, 9}),
      unary(Op::sign, f32({4}, {-3, 0, 2, kNan}), {-1, 0, 1, 0}),
      unary(Op::logical_not, boolean({2}, {0, 1}), {1, 0}),
      unary(Op::hardswish, kSigned, {-0.3333333, -0.2083333, 0.2916667, 3}),
      unary(Op::gelu, kSigned, {-0.0455003, -0.1542688, 0.3457312, 2.9959503}, GeluAttrs{false}),
      unary(Op::gelu, kSigned, {-0.0454023, -0.154286, 0.345714, 2.9963626}, GeluAttrs{true}),
      unary(Op::elu, kSigned, {-0.4323324, -0.1967347, 0.5, 3}, AlphaAttrs{0.5}),
      unary(Op::leaky_relu, kSigned, {-0.2, -0.05, 0.5, 3}, AlphaAttrs{0.1}),
      unary(Op::clamp, f32({4}, {-2, 0.5, 9, kNan}), {0, 0.5, 6, kNan}, ClampAttrs{{0, 6}}),
      unary(Op::clamp, integers, {-3, 0, 5}, ClampAttrs{{-3.5, kInf}}),
      {Op::convert, {halves}, ConvertAttrs{DType::i64}, i64({6}, {-1, 0, 0, 1, 2, -2})},
      {Op::convert,
       {i64({3}, {0, 2, 16777217})},
       ConvertAttrs{DType::f32},
       f32({3}, {0, 2, 16777216})},
      {Op::convert,
       {f32({3}, {0, 0.25, kNan})},
       ConvertAttrs{DType::boolean},
       boolean({3}, {0, 1, 1})},
  };
}

std::vector<Case> contraction_cases() {
  const Tensor line = iota({1, 3, 2});
  const Tensor image = iota({1, 3, 3, 2});
  const Bounds relu{0, kInf};
  return {
      {Op::linear,
       {f32({2, 2}, {1, 2, 3, 4}), f32({3, 2}, {1, 0, 0, 1, -1, -1}), f32({3}, {10, 20, 0})},
       LinearAttrs{relu},
       f32({2, 3}, {11, 22, 0, 13, 24, 0})},
      {Op::linear, {i64({2}, {2, 3}), i64({1, 2}, {5, 7})}, LinearAttrs{}, i64({1}, {31})},
      {Op::matmul, {iota({2, 3}), iota({3, 2})}, MatmulAttrs{false}, f32({2, 2}, {10, 13, 28, 40})},
      {Op::matmul, {iota({2, 3}), iota({2, 3})}, MatmulAttrs{true}, f32({2, 2}, {5, 14, 14, 50})},
      {Op::matmul,
       {iota({2, 1, 1, 2}), iota({3, 2, 1})},
       MatmulAttrs{false},
       f32({2, 3, 1, 1}, {1, 3, 5, 3, 13, 23})},
      {Op::matmul, {f32({1, 0}, {}), f32({0, 2}, {})}, MatmulAttrs{}, f32({1, 2}, {0, 0})},
      {Op::conv,
       {line, iota({2, 3, 2}), f32({2}, {1, 2})},
       ConvAttrs{{1}, {1}, {1}, {1}, 1, {}},
       f32({1, 3, 2}, {27, 64, 56, 147, 27, 112})},
      {Op::conv,
       {image, iota({3, 2, 1, 2})},
       ConvAttrs{{1, 2}, {2, 1}, {0, 0}, {0, 0}, 1, {}},
       f32({1, 1, 2, 3}, {64, 168, 272, 88, 256, 424})},
      {Op::conv,
       {image, iota({2, 2, 2, 1}), f32({2}, {1, -1})},
       ConvAttrs{{2, 2}, {1, 1}, {1, 1}, {1, 1}, 2, {2, 200}},
       f32({1, 2, 2, 2}, {2, 6, 17, 52, 43, 125, 87, 200})},
      {Op::conv_transpose,
       {line, iota({2, 3, 2}), f32({2}, {1, 2})},
       ConvTransposeAttrs{{2}, {1}, {1}, {1}, {1}, 1, {}},
       f32({1, 6, 2}, {4, 11, 9, 46, 14, 45, 29, 114, 24, 79, 42, 97})},
      {Op::conv_transpose,
       {iota({1, 2, 4}), iota({2, 2, 2})},
       ConvTransposeAttrs{{2}, {2}, {0}, {0}, {0}, 2, {}},
       f32({1, 5, 2}, {1, 23, 0, 0, 8, 92, 0, 0, 23, 85})},
  };
}

std::vector<Case> window_cases() {
  const Tensor image = iota({1, 3, 4, 1});
  return {
      {Op::max_pool,
       {image},
       PoolAttrs{{2, 2}, {1, 1}, {2, 2}, {1, 1}, {1, 1}, false, {}},
       f32({1, 3, 4, 1}, {5, 6, 7, 6, 9, 10, 11, 10, 5, 6, 7, 6})},
      {Op::max_pool,
       {f32({1, 3, 1}, {-5, kNan, -2})},
       PoolAttrs{{2}, {2}, {1}, {1}, {0}, false, {}},
       f32({1, 2, 1}, {-5, kNan})},
      {Op::avg_pool,
       {image},
       PoolAttrs{{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false, {}},
       f32({1, 2, 2, 1}, {2.5, 4, 6.5, 8})},
      {Op::avg_pool,
       {image},
       PoolAttrs{{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, true, {2, 5}},
       f32({1, 2, 2, 1}, {2, 2.6666667, 2.8888888, 5})},
      {Op::resize,
       {image},
       ResizeAttrs{{5, 3}, {0.6, 4.0 / 3}, ResizeMode::bilinear, false},
       f32({1, 5, 3, 1}, {0.1666667, 1.5, 2.8333333, 1.7666667, 3.1, 4.4333333, 4.1666667, 5.5,
                          6.8333333, 6.5666667, 7.9, 9.2333333, 8.1666667, 9.5, 10.8333333})},
      {Op::resize,
       {image},
       ResizeAttrs{{5, 3}, {0.5, 1.5}, ResizeMode::bilinear, true},
       f32({1, 5, 3, 1}, {0, 1.5, 3, 2, 3.5, 5, 4, 5.5, 7, 6, 7.5, 9, 8, 9.5, 11})},
      {Op::resize,
       {image},
       ResizeAttrs{{5, 3}, {0.6, 4.0 / 3}, ResizeMode::nearest, false},
       f32({1, 5, 3, 1}, {0, 1, 2, 0, 1, 2, 4, 5, 6, 4, 5, 6, 8, 9, 10})},
      {Op::grid_sample,
       {image, f32({1, 1, 4, 2}, {-1, -1, 1, 1, 0, 0, 3, 0})},
       GridSampleAttrs{ResizeMode::bilinear, OutsideMode::zeros, true},
       f32({1, 1, 4, 1}, {0, 11, 5.5, 0})},
      {Op::grid_sample,
       {image, f32({1, 1, 4, 2}, {-1, -1, 1, 1, 0, 0, 1.5, 0})},
       GridSampleAttrs{ResizeMode::bilinear, OutsideMode::border, false},
       f32({1, 1, 4, 1}, {0, 11, 5.5, 7})},
      {Op::grid_sample,
       {image, f32({1, 1, 3, 2}, {-1.5, 0, 1.5, 0, 0.2, 0.9})},
       GridSampleAttrs{ResizeMode::nearest, OutsideMode::reflection, true},
       f32({1, 1, 3, 1}, {5, 6, 10})},
  };
}

std::vector<Case> axis_cases() {
  const Tensor x = iota({2, 3, 2});
  const Tensor odd = f32({2, 3}, {1, kNan, 3, 4, 4, 2});
  const Tensor m = f32({2, 3}, {1, 2, 3, 0, 0, 5});
  return {
      {Op::reduce_sum, {x}, AxesAttrs{{0, 2}}, f32({1, 3, 1}, {14, 22, 30})},
      {Op::reduce_sum, {i64({2}, {3, 4})}, AxesAttrs{{0}}, i64({1}, {7})},
      {Op::reduce_sum, {f32({2, 0}, {})}, AxesAttrs{{1}}, f32({2, 1}, {0, 0})},
      {Op::reduce_sum, {x}, AxesAttrs{{}}, x},
      {Op::reduce_mean, {x}, AxesAttrs{{1}}, f32({2, 1, 2}, {2, 3, 8, 9})},
      {Op::reduce_max, {odd}, AxesAttrs{{1}}, f32({2, 1}, {kNan, 4})},
      {Op::reduce_max, {i64({2}, {-9, -3})}, AxesAttrs{{0}}, i64({1}, {-3})},
      {Op::reduce_min, {odd}, AxesAttrs{{0}}, f32({1, 3}, {1, kNan, 2})},
      {Op::reduce_prod, {x}, AxesAttrs{{1}}, f32({2, 1, 2}, {0, 15, 480, 693})},
      {Op::reduce_any, {boolean({2, 2}, {0, 1, 0, 0})}, AxesAttrs{{1}}, boolean({2, 1}, {1, 0})},
      {Op::reduce_all, {boolean({2, 2}, {1, 1, 1, 0})}, AxesAttrs{{1}}, boolean({2, 1}, {1, 0})},
      {Op::reduce_any, {odd}, AxesAttrs{{0, 1}}, boolean({1, 1}, {1})},
      {Op::argmax, {odd}, AxisAttrs{1}, i64({2, 1}, {1, 0})},
      {Op::argmin, {odd}, AxisAttrs{0}, i64({1, 3}, {0, 0, 1})},
      {Op::argmin, {i64({4}, {3, 1, 1, 2})}, AxisAttrs{0}, i64({1}, {1})},
      {Op::argsort, {odd}, AxisAttrs{1}, i64({2, 3}, {1, 2, 0, 0, 1, 2})},
      {Op::argsort, {i64({4}, {3, 1, 1, 2})}, AxisAttrs{0}, i64({4}, {0, 3, 1, 2})},
      {Op::softmax,
       {m},
       AxisAttrs{1},
       f32({2, 3}, {0.0900306, 0.2447285, 0.665241, 0.0066484, 0.0066484, 0.9867033})},
      {Op::softmax, {f32({2}, {1000, -kInf})}, AxisAttrs{0}, f32({2}, {1, 0})},
      {Op::log_softmax,
       {m},
       AxisAttrs{0},
       f32({2, 3}, {-0.3132617, -0.126928, -2.126928, -1.3132617, -2.126928, -0.126928})},
      {Op::normalize,
       {f32({2, 2}, {1, 3, -5, 5})},
       NormalizeAttrs{{1}, 0, true},
       f32({2, 2}, {-1, 1, -1, 1})},
      {Op::normalize,
       {f32({2, 2}, {1, 2, 3, 6})},
       NormalizeAttrs{{0, 1}, 0.5, true},
       f32({2, 2}, {-1, -0.5, 0, 1.5})},
      {Op::normalize,
       {f32({2, 2}, {3, 1, 4, 7})},
       NormalizeAttrs{{0}, 0, false},
       f32({2, 2}, {0.8485281, 0.2, 1.1313708, 1.4})},
      {Op::cumsum, {x}, AxisAttrs{1}, f32({2, 3, 2}, {0, 1, 2, 4, 6, 9, 6, 7, 14, 16, 24, 27})},
  };
}

Tensor quantised(Quantisation quantisation, Shape shape, const std::vector<double>& integers) {
  const DType dtype = quantisation.dtype;
  Tensor tensor(TensorType{dtype, std::move(shape), std::move(quantisation)});
  for (size_t i = 0; i < integers.size(); ++i)
    tensor.set_int(static_cast<int64_t>(i), static_cast<int64_t>(integers[i]));
  return tensor;
}

std::vector<Case> quantisation_cases() {
  const Quantisation half = per_tensor(DType::i8, 0.5f, 3);
  // Two rows, groups of two columns.
  Quantisation groups{DType::i8, -8, 7, {2, 2}, {1, 2, 4, 8}, {}};
  Quantisation rows{DType::i8, -128, 127, {2, 1}, {0.25f, 0.5f}, {0, 1}};
  const Tensor x = quantised(half, {2, 2}, {3, 4, 5, 1});  // 0, 0.5, 1, -1
  // Halves go to the even neighbour, and what does not fit to the end.
  return {
      {Op::quantize,
       {f32({7}, {-100, -0.25, 0.25, 0.75, 1, 62, kNan})},
       QuantisationAttrs{half},
       quantised(half, {7}, {-128, 3, 3, 5, 5, 127, 3})},
      {Op::quantize,
       {f32({2, 2}, {1, -1, 1, 2})},
       QuantisationAttrs{rows},
       quantised(rows, {2, 2}, {4, -4, 3, 5})},
      {Op::dequantize, {x}, NoAttrs{}, f32({2, 2}, {0, 0.5, 1, -1})},
      {Op::dequantize,
       {quantised(groups, {2, 4}, {1, 2, 3, 4, 5, 6, 7, -8})},
       NoAttrs{},
       f32({2, 4}, {1, 2, 6, 8, 20, 24, 56, -64})},
      {Op::reinterpret, {x}, QuantisationAttrs{}, make_tensor(DType::i8, {2, 2}, {3, 4, 5, 1})},
      {Op::quantize_by,
       {f32({2, 2}, {1, 3, 1, 3}), f32({2, 1}, {1, 2}), i64({}, {-1})},
       IntegerAttrs{DType::u8, 0, 255},
       make_tensor(DType::u8, {2, 2}, {0, 2, 0, 1})},
      {Op::dequantize_by,
       {make_tensor(DType::u8, {3}, {0, 2, 255}), f32({1}, {0.5}), i64({1}, {2})},
       NoAttrs{},
       f32({3}, {-1, 0, 126.5})},
      {Op::choose_scale,
       {f32({2, 2}, {-1, 1.55, 2, 5.1})},
       ChooseAttrs{{1}},
       f32({2, 1}, {0.01, 0.02})},
      {Op::choose_scale,
       {f32({2}, {-1.27, 0.5})},
       ChooseAttrs{{0}, -127, 127, 0, true},
       f32({1}, {0.01})},
      {Op::choose_scale, {f32({2}, {0, 0})}, ChooseAttrs{{0}, -128, 127, 0.25}, f32({1}, {0.25})},
      {Op::choose_zero_point,
       {f32({2, 2}, {-1, 1.55, 2, 5.1})},
       ChooseAttrs{{1}},
       i64({2, 1}, {-28, -128})},
      // Ops on integers: dequantise, compute, quantise. 0, 0.5, 1, -1 doubled.
      {Op::add,
       {x, x},
       BinaryAttrs{{}, per_tensor(DType::i8, 1, -3)},
       quantised(per_tensor(DType::i8, 1, -3), {2, 2}, {-3, -2, -1, -5})},
      // Clamped to [0, 1.5] on the way, which the zero point does not do.
      {Op::add,
       {x, x},
       BinaryAttrs{{0, 1.5}, per_tensor(DType::i8, 0.5f, -3)},
       quantised(per_tensor(DType::i8, 0.5f, -3), {2, 2}, {-3, -1, 0, -3})},
      {Op::pad,
       {x},
       PadAttrs{{0, 1}, {0, 0}, PadMode::constant, 0},
       quantised(half, {2, 3}, {3, 3, 4, 3, 5, 1})},
      {Op::relayout,
       {quantised(rows, {2, 2}, {1, 2, 3, 4})},
       RelayoutAttrs{Relayout::permute({2, 2}, std::vector<int>{1, 0})},
       quantised({DType::i8, -128, 127, {1, 2}, {0.25f, 0.5f}, {0, 1}}, {2, 2}, {1, 3, 2, 4})},
      // Real rows, integer weights: [1 2 6 8] and [20 24 56 -64].
      {Op::linear,
       {f32({1, 4}, {1, 0, 1, 0}), quantised(groups, {2, 4}, {1, 2, 3, 4, 5, 6, 7, -8})},
       LinearAttrs{},
       f32({1, 2}, {7, 76})},
      // Rows that 8 bits hold: scale 255/255 = 1, and 1/2.
      {Op::linear,
       {f32({2, 2}, {0, 255, 0, 127.5}), quantised(rows, {2, 2}, {4, 4, 3, 1})},
       LinearAttrs{{}, {}, true},
       f32({2, 2}, {255, 0, 127.5, 0})},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (auto family : {movement_cases, attention_cases, scan_cases, binary_cases, unary_cases,
                      contraction_cases, window_cases, axis_cases, quantisation_cases})
    std::ranges::move(family(), std::back_inserter(cases));
  return cases;
}

TEST(OpEvaluate, Cases) {
  for (const Case& test : all_cases()) {
    SCOPED_TRACE(name(test.op));
    EXPECT_EQ(test.attributes.index(), info(test.op).attributes);
    expect_near(evaluate_op(test.op, test.operands, test.attributes), test.expected, 1e-6);
  }
}

TEST(OpEvaluate, EveryOpHasACase) {
  const std::vector<Case> cases = all_cases();
  for (const OpInfo& row : all_ops())
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const Case& test) { return test.op == row.op; }))
        << row.name;
}

TEST(OpEvaluate, DataThatAnOpDoesNotTake) {
  const std::vector<Tensor> zero = {i64({1}, {1}), i64({1}, {0})};
  EXPECT_THROW(evaluate_op(Op::floor_div, zero, NoAttrs{}), UserError);
  const std::vector<Tensor> outside = {iota({2, 3}), i64({1}, {3})};
  EXPECT_THROW(evaluate_op(Op::gather, outside, AxisAttrs{1}), UserError);
}

TEST(OpEvaluate, IntegersAtTheirLimits) {
  Tensor least(TensorType{DType::i64, {1}});
  least.set_int(0, std::numeric_limits<int64_t>::min());
  const std::vector<Tensor> operands = {least, i64({1}, {-1})};
  EXPECT_EQ(evaluate_op(Op::floor_div, operands, NoAttrs{}).get_int(0), least.get_int(0));
  EXPECT_EQ(evaluate_op(Op::remainder, operands, NoAttrs{}).get_int(0), 0);
  EXPECT_EQ(evaluate_op(Op::abs, {&least, 1}, NoAttrs{}).get_int(0), least.get_int(0));
}

TEST(OpEvaluate, EmptyTensorsWithAbsurdSizes) {
  const Tensor empty(TensorType{DType::f32, {int64_t{1} << 40, 0, int64_t{1} << 40}});
  EXPECT_EQ(evaluate_op(Op::softmax, {&empty, 1}, AxisAttrs{0}).count(), 0);
  EXPECT_EQ(evaluate_op(Op::reduce_sum, {&empty, 1}, AxesAttrs{{0, 1, 2}}).get(0), 0);
}

/// The two convolutions from the input's side: each element is sent to every result it adds to.
/// The evaluator goes the other way.
Tensor scatter_convolution(const Tensor& x, const Tensor& weight, const TensorType& result,
                           const ConvTransposeAttrs& attrs, bool transpose) {
  Tensor out(result);
  const int64_t groups = attrs.groups, channels = x.dim(3), outputs = weight.dim(0);
  for (int64_t n = 0; n < x.dim(0); ++n)
    for (int64_t y = 0; y < x.dim(1); ++y)
      for (int64_t i = 0; i < x.dim(2); ++i)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t o = 0; o < outputs; ++o)
            for (int64_t ky = 0; ky < weight.dim(1); ++ky)
              for (int64_t kx = 0; kx < weight.dim(2); ++kx) {
                const int64_t per_group = channels / groups;
                if (c / per_group != o * groups / outputs) continue;
                int64_t to[2] = {y, i};
                const int64_t tap[2] = {ky, kx};
                bool inside = true;
                for (size_t a = 0; a < 2; ++a) {
                  if (transpose) {
                    to[a] = to[a] * attrs.stride[a] + tap[a] * attrs.dilation[a] - attrs.low[a];
                  } else {
                    to[a] += attrs.low[a] - tap[a] * attrs.dilation[a];
                    inside = inside && to[a] >= 0 && to[a] % attrs.stride[a] == 0;
                    to[a] /= attrs.stride[a];
                  }
                  inside = inside && to[a] >= 0 && to[a] < out.dim(static_cast<int64_t>(a) + 1);
                }
                if (!inside) continue;
                const int64_t at = ((n * out.dim(1) + to[0]) * out.dim(2) + to[1]) * outputs + o;
                const double from = x.get(((n * x.dim(1) + y) * x.dim(2) + i) * channels + c);
                const double factor = weight.get(
                    ((o * weight.dim(1) + ky) * weight.dim(2) + kx) * per_group + c % per_group);
                out.set(at, out.get(at) + from * factor);
              }
  return out;
}

TEST(OpEvaluate, ConvolutionsFromTheOtherSide) {
  std::mt19937 random(1);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  // Small integers: sums are exact in any order.
  const auto numbers = [&](Shape shape) {
    Tensor tensor(TensorType{DType::f32, std::move(shape)});
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_int(i, pick(-4, 4));
    return tensor;
  };
  for (int round = 0; round < 60; ++round) {
    const int64_t groups = pick(1, 3);
    const int64_t per_group = pick(1, 2);
    const std::vector<Tensor> operands = {
        numbers({pick(1, 2), pick(5, 7), pick(5, 7), groups * per_group}),
        numbers({groups * pick(1, 2), pick(1, 3), pick(1, 3), per_group})};
    const ConvTransposeAttrs transposed{{pick(1, 3), pick(1, 3)},
                                        {pick(1, 2), pick(1, 2)},
                                        {pick(0, 1), pick(0, 1)},
                                        {pick(0, 1), pick(0, 1)},
                                        {pick(0, 1), pick(0, 1)},
                                        groups,
                                        {}};
    const ConvAttrs plain{
        transposed.stride, transposed.dilation, transposed.low, transposed.high, groups, {}};
    const Tensor conv = evaluate_op(Op::conv, operands, plain);
    expect_near(conv, scatter_convolution(operands[0], operands[1], conv.type(), transposed, false),
                0);
    const Tensor back = evaluate_op(Op::conv_transpose, operands, transposed);
    expect_near(back, scatter_convolution(operands[0], operands[1], back.type(), transposed, true),
                0);
  }
}

/// A conv over one spatial axis is the conv over three with two unit axes, wherever these stand.
TEST(OpEvaluate, ConvolutionsOfAnyRank) {
  const std::vector<Tensor> line = {iota({1, 7, 2}), iota({3, 2, 2})};
  const Tensor expected = evaluate_op(Op::conv, line, ConvAttrs{{2}, {2}, {1}, {0}, 1, {}});
  const std::vector<Tensor> volume = {iota({1, 1, 7, 1, 2}), iota({3, 1, 2, 1, 2})};
  const Tensor actual =
      evaluate_op(Op::conv, volume, ConvAttrs{{1, 2, 1}, {1, 2, 1}, {0, 1, 0}, {0, 0, 0}, 1, {}});
  ASSERT_EQ(actual.count(), expected.count());
  for (int64_t i = 0; i < actual.count(); ++i) EXPECT_EQ(actual.get(i), expected.get(i));
}

TEST(EvaluateGraph, UsesInputsInOrderAndKeepsSharedValues) {
  Graph graph("g");
  Value* a = graph.add_input("a", {DType::f32, {2}});
  graph.add_fixed_input("flag", true);
  Value* b = graph.add_input("b", {DType::f32, {2}});
  Value* two = graph.constant(Constant::scalar(DType::f32, 2), nullptr, "two");
  Value* difference = graph.add(Op::sub, {a, b}, BinaryAttrs{}, nullptr);
  Value* doubled = graph.add(Op::mul, {difference, two}, BinaryAttrs{}, nullptr);
  Value* square = graph.add(Op::mul, {difference, difference}, BinaryAttrs{}, nullptr);
  graph.add_output("doubled", doubled);
  graph.add_output("square", square);
  graph.add_output("again", doubled);
  graph.add_output("input", a);
  const std::vector<Tensor> inputs = {f32({2}, {5, 1}), f32({2}, {2, 3})};
  const std::vector<Tensor> outputs = evaluate(graph, inputs);
  ASSERT_EQ(outputs.size(), 4u);
  expect_near(outputs[0], f32({2}, {6, -4}), 0);
  expect_near(outputs[1], f32({2}, {9, 4}), 0);
  expect_near(outputs[2], outputs[0], 0);
  expect_near(outputs[3], inputs[0], 0);

  EXPECT_THROW(evaluate(graph, std::span(inputs).first(1)), UserError);
  const std::vector<Tensor> wrong = {f32({2}, {5, 1}), f32({3}, {2, 3, 4})};
  EXPECT_THROW(evaluate(graph, wrong), UserError);
}

TEST(EvaluateGraph, SymbolsTakeTheSizesOfTheInputs) {
  Graph graph("g");
  const Dim batch = Dim::symbol(graph.add_symbol({"batch"}));
  Value* x = graph.add_input("x", {DType::f32, {batch, 2, 3}});
  Value* y = graph.add(Op::relayout, {x},
                       RelayoutAttrs{Relayout::permute({batch, 2, 3}, std::vector<int>{2, 0, 1})},
                       nullptr);
  Value* z = graph.add(Op::expand, {graph.constant(Constant::scalar(DType::f32, 1), nullptr)},
                       ShapeAttrs{{batch, 2}}, nullptr);
  graph.add_output("z", graph.add(Op::add, {y, z}, BinaryAttrs{}, nullptr));
  for (const int64_t size : {1, 4}) {
    const Tensor input = iota({size, 2, 3});
    const Tensor output = evaluate(graph, {&input, 1})[0];
    ASSERT_EQ(output.dims(), (std::vector<int64_t>{3, size, 2}));
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t row = 0; row < size * 2; ++row)
        EXPECT_EQ(output.get(c * size * 2 + row), static_cast<double>(row * 3 + c + 1));
  }
}

TEST(EvaluateGraph, ErrorsNameTheNode) {
  Graph graph("g");
  Value* x = graph.add_input("x", {DType::i64, {1}});
  auto origin = std::make_shared<Origin>(Origin{"floor_div_7", "model.py:3", ""});
  graph.add_output("y", graph.add(Op::floor_div, {x, x}, NoAttrs{}, origin));
  const Tensor zero = i64({1}, {0});
  try {
    evaluate(graph, {&zero, 1});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "floor_div_7 (model.py:3): floor_div: integer division by zero");
  }
}

TEST(EvaluateGraph, TensorOfConstant) {
  const Constant constant = Constant::scalar(DType::f16, 1.5);
  EXPECT_EQ(tensor_of(constant).get(0), 1.5);
}

}  // namespace
}  // namespace layline
