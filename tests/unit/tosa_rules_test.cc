// What TOSA has no operator for, written with those that it has: at the numbers where formulas go
// wrong, in double precision where that shows a wrong digit, and with every attribute that counts.
#include "tosa_rules_testing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "targets/tosa/tosa_rewrites.h"

namespace layline::tosa {
namespace {

struct Function {
  std::string_view op;
  std::vector<double> at;
  double tolerance;  // relative, of floats
  double exact;      // of doubles: what the formula itself is off by; 0: not looked at
};

/// Near 0 a difference of exponentials or logarithms would lose digits, and far out a square would
/// overflow. Series of doubles are off by the first term that they leave out.
TEST(TosaRules, CircularAndHyperbolicFunctions) {
  const std::vector<double> small = {0,     1e-6, -1e-6, 1e-4,  -1e-4,
                                     0.003, 0.05, -0.05, 0.099, -0.099};
  const std::vector<double> middle = {0.101, -0.101, 0.2, 0.5, -0.5, 0.75, 1, -1, 1.5, 3, -3, 10};
  const auto with = [](std::vector<double> a, const std::vector<double>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const Function functions[] = {
      {"atan", with(small, {0.5, -0.5, 0.9, 1, -1, 1.1, 2, -2, 100, -1e9, kInf, -kInf, kNan}), 3e-7,
       3e-8},
      {"asin", {0, 1e-4, 0.3, -0.3, 0.7, -0.99, 1, -1, 1.5, -1.5, kNan}, 1e-6, 4e-8},
      {"acos", {0, 1e-4, 0.3, -0.3, 0.7, -0.99, 1, -1, 1.5, -1.5, kNan}, 1e-6, 4e-8},
      {"sinh", with(with(small, middle), {89, -89, 95, -95, kInf, -kInf, kNan}), 2e-5, 1e-13},
      {"cosh", with(with(small, middle), {89, -89, 95, kInf, -kInf, kNan}), 2e-5, 1e-13},
      {"asinh", with(with(small, middle), {1e4, -1e4, 1e10, -1e10, 1e30, -1e30, kInf, kNan}), 2e-6,
       1e-11},
      {"acosh", {1, 1.01, 1.5, 2, 10, 1e4, 1e10, 1e30, kInf, 0.5, -3, kNan}, 5e-6, 1e-12},
      {"atanh", with(small, {0.101, 0.2, -0.5, 0.9, 1, -1, 1.5, kNan}), 2e-6, 2e-11},
  };
  for (const Function& function : functions) {
    const std::string statement = fmt::format("%y = {}(%a)", function.op);
    checked({numbers(DType::f32, function.at)}, statement, function.tolerance);
    checked({numbers(DType::f64, function.at)}, statement, function.exact);
  }
}

/// Of 16 bits a square overflows at 256.
TEST(TosaRules, InverseHyperbolicFunctionsOfHalves) {
  checked({numbers(DType::f16, {0.5, 3, 100, 300, -300, 60000, -60000})}, "%y = asinh(%a)", 2e-3);
  checked({numbers(DType::f16, {1, 3, 100, 300, 40000, 60000})}, "%y = acosh(%a)", 3e-3);
}

TEST(TosaRules, AnglesInAllQuadrantsAndOnTheAxes) {
  std::vector<double> y, x;
  for (const double a : {0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 0.25, kInf, -kInf})
    for (const double b : {0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 0.25, kInf, -kInf}) {
      y.push_back(a);
      x.push_back(b);
    }
  const Both found =
      checked({numbers(DType::f32, y), numbers(DType::f32, x)}, "%y = atan2(%a, %b)", 3e-7);
  for (int64_t i = 0; i < found.before.count(); ++i)
    EXPECT_EQ(std::signbit(found.before.get(i)), std::signbit(found.after.get(i))) << i;
  checked({numbers(DType::f64, y), numbers(DType::f64, x)}, "%y = atan2(%a, %b)", 3e-8);
}

TEST(TosaRules, WholeNumbers) {
  const std::vector<double> x = {0,    0.5,   1.5, 2.5, -0.5, -1.5,    -2.5, 0.49, -0.49,
                                 0.51, -0.51, 3,   -3,  1e10, 8388609, kInf, -kInf};
  checked({numbers(DType::f32, std::vector<double>(x.begin(), x.end() - 2))}, "%y = round(%a)");
  checked({numbers(DType::f32, x)}, "%y = trunc(%a)");
  // Integers have no fraction: nothing is left to compute.
  for (const std::string_view op : {"round", "trunc", "floor", "ceil"}) {
    const Both plain = checked({numbers(DType::i32, {-3, 0, 4})}, fmt::format("%y = {}(%a)", op));
    EXPECT_EQ(plain.graph.first(), nullptr) << op;
  }
}

TEST(TosaRules, QuotientsAndRemainders) {
  const std::vector<double> a = {7, -7, 7, -7, 6, -6, 6, -6, 0, 1, 5.5, -5.5, 1e6, 0.75, 9, 2};
  const std::vector<double> b = {2, 2, -2, -2, 3, 3, -3, -3, 4, 49, 0.5, 0.5, 7, 0.25, 0.7, -3};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double off = dtype == DType::f32 ? 3e-7 : 1e-15;
    checked({numbers(dtype, a), numbers(dtype, b)}, "%y = div(%a, %b)", off);
    checked({numbers(dtype, a), numbers(dtype, b)}, "%y = floor_div(%a, %b)");
  }
  checked({numbers(DType::f32, a), numbers(DType::f32, b)}, "%y = remainder(%a, %b)", 1e-4);
  checked({numbers(DType::f32, a), numbers(DType::f32, b)}, "%y = fmod(%a, %b)", 1e-4);
  // Products with rounded reciprocals fall under or over: all quotients of whole numbers.
  std::vector<double> whole_a, whole_b;
  for (int p = -40; p <= 40; ++p)
    for (int q = -49; q <= 49; ++q) {
      if (q == 0) continue;
      whole_a.push_back(p * q);
      whole_b.push_back(q);
    }
  checked({numbers(DType::f32, whole_a), numbers(DType::f32, whole_b)}, "%y = floor_div(%a, %b)");
  // And just beside them.
  for (const float towards : {-1e9f, 1e9f}) {
    std::vector<double> beside;
    for (const double product : whole_a)
      beside.push_back(product == 0 ? 1 : std::nextafter(static_cast<float>(product), towards));
    checked({numbers(DType::f32, beside), numbers(DType::f32, whole_b)}, "%y = floor_div(%a, %b)");
  }
  const std::vector<layline::Tensor> integers = {numbers(DType::i32, {7, -7, 7, -7, 6, -6, 0, 1}),
                                                 numbers(DType::i32, {2, 2, -2, -2, 3, 3, 5, -4})};
  checked(integers, "%y = remainder(%a, %b)");
  // What is far smaller than the divisor, on either side of 0.
  const std::vector<layline::Tensor> tiny = {numbers(DType::f32, {1e-9, -1e-8, 1e-9, -1e-8}),
                                             numbers(DType::f32, {-1, 1, 1, -1})};
  checked(tiny, "%y = floor_div(%a, %b)");
  checked(tiny, "%y = remainder(%a, %b)");
  checked(integers, "%y = fmod(%a, %b)");
}

/// A reciprocal of 11 bits times a number would be rounded once too often.
TEST(TosaRules, HalvesAreDividedAsFloats) {
  std::vector<double> a, b;
  for (int p = 1; p < 60; ++p)
    for (int q = 1; q < 60; ++q) {
      a.push_back(p);
      b.push_back(q);
    }
  const Both found = checked({numbers(DType::f16, a), numbers(DType::f16, b)}, "%y = div(%a, %b)");
  EXPECT_EQ(found.count(Op::convert), 3);
  EXPECT_EQ(checked({numbers(DType::f32, {6}), numbers(DType::f32, {2})}, "%y = div(%a, %b)")
                .count(Op::convert),
            0);
}

TEST(TosaRules, AFusedClampIsKept) {
  checked({numbers(DType::f32, {9, -9, 1}), numbers(DType::f32, {1, 1, 1})},
          "%y = div(%a, %b) { bounds = [-2,6] }");
  checked({numbers(DType::f32, {9, -9, 1}), numbers(DType::f32, {1, 1, 1})},
          "%y = add(%a, %b) { bounds = [-2,6] }");
}

TEST(TosaRules, Powers) {
  const auto power = [](std::string_view exponent, DType dtype = DType::f32) {
    return checked({numbers(dtype, {2, -2, 3, -3, 0.5, 1, -1})},
                   fmt::format("%e = constant() {{ data = {}[1] ({}) }} %y = pow(%a, %e)",
                               name(dtype), exponent),
                   1e-6);
  };
  EXPECT_EQ(power("2").count(Op::pow), 0);  // a product
  EXPECT_EQ(power("2").count(Op::mul), 1);
  EXPECT_EQ(power("3").count(Op::where), 1);
  EXPECT_EQ(power("4").count(Op::where), 0);
  power("-1");
  power("-2");
  power("5", DType::f16);
}

TEST(TosaRules, Activations) {
  const std::vector<double> x = {0,  0.5, -0.5, 1, -1, 2.9, -2.9, 3,
                                 -3, 3.1, -3.1, 7, -7, 100, -100};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double off = dtype == DType::f32 ? 3e-6 : 1e-13;
    const layline::Tensor values = numbers(dtype, x);
    checked({values}, "%y = hardswish(%a)", off);
    checked({values}, "%y = leaky_relu(%a) { alpha = 0.25 }", off);
    checked({values}, "%y = elu(%a) { alpha = 1.5 }", off);
    checked({values}, "%y = sign(%a)");
    checked({values}, "%y = square(%a)");
    checked({values, numbers(dtype, {0.25})}, "%y = prelu(%a, %b)", off);
    checked({numbers(dtype, {0.1, 0.5, 1, 3, 20})}, "%y = expm1(%a)", off);
    checked({numbers(dtype, {0.1, 0.5, 1, 3, 20})}, "%y = log1p(%a)", off);
    checked({numbers(dtype, {0, 0.25, 2, 1e20, kInf, -1})}, "%y = sqrt(%a)", off);
  }
  checked({numbers(DType::f64, {0, 0.5, -0.5, 1, 2, -1, 4})}, "%y = gelu(%a)", 1e-12);
  checked({numbers(DType::f32, {0, 0.5, -0.5, 1, 2, -1, 4})}, "%y = gelu(%a) { tanh = true }",
          1e-5);
  checked({numbers(DType::f32, {kInf, -kInf})}, "%y = sign(%a)");
  checked({numbers(DType::i32, {5, -5, 0})}, "%y = sign(%a)");
}

TEST(TosaRules, IntegersAreClampedByMinimaAndMaxima) {
  struct Clamp {
    std::string_view bounds;
    int maxima, minima;
  };
  for (const Clamp& wanted : {Clamp{"-1.5,2.5", 1, 1}, Clamp{"-inf,2", 0, 1}, Clamp{"-2,inf", 1, 0},
                              Clamp{"-2147483648,2", 0, 1}, Clamp{"-2147483647,2", 1, 1},
                              Clamp{"-2,2147483647", 1, 0}, Clamp{"-2,2147483646", 1, 1}}) {
    const Both found = checked({numbers(DType::i32, {-5, -2, -1, 0, 2, 3, 2147483647})},
                               fmt::format("%y = clamp(%a) {{ bounds = [{}] }}", wanted.bounds));
    EXPECT_EQ(found.count(Op::maximum), wanted.maxima) << wanted.bounds;
    EXPECT_EQ(found.count(Op::minimum), wanted.minima) << wanted.bounds;
  }
}

TEST(TosaRules, ConversionsAndShifts) {
  checked({numbers(DType::f32, {0, 1, -1, 0.25})}, "%y = convert(%a) { to = bool }");
  checked({boolean({3}, {0, 1, 1})}, "%y = convert(%a) { to = f32 }");
  const layline::Tensor x = numbers(DType::i32, {1, -1, 5, -5, 1, -1, 7, -7, 1, -1});
  const layline::Tensor by = numbers(DType::i32, {0, 1, 31, 31, 32, 32, 40, 40, -1, -1});
  checked({x, by}, "%y = left_shift(%a, %b)");
  checked({x, by}, "%y = right_shift(%a, %b)");
}

/// Narrow integers are computed with in 32 bits, and come back.
TEST(TosaRules, NarrowIntegersAreWidened) {
  const Both found = checked({numbers(DType::i8, {5, -5, -128}), numbers(DType::i8, {100, -7, -1})},
                             "%y = add(%a, %b)");
  EXPECT_EQ(found.count(Op::convert), 3);
  EXPECT_EQ(checked({numbers(DType::i16, {5, -5})}, "%y = abs(%a)").count(Op::convert), 2);
  checked({make_tensor(DType::i8, {2, 2}, {100, 1, -9, 1})}, "%y = reduce_sum(%a) { axes = [1] }");
}

TEST(TosaRules, OperandsGetOneRank) {
  checked({f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({3}, {1, 2, 3})}, "%y = sub(%a, %b)");
  checked({f32({}, {5}), f32({2, 3}, {1, 2, 3, 4, 5, 6})}, "%y = sub(%a, %b)");
  checked({boolean({3}, {0, 1, 0}), f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({}, {9})},
          "%y = where(%a, %b, %c)");
}

TEST(TosaRules, Reductions) {
  const layline::Tensor x = iota({2, 3, 4});
  checked({x}, "%y = reduce_mean(%a) { axes = [0,2] }", 1e-6);
  checked({x}, "%y = softmax(%a) { axis = 1 }", 2e-6);
  checked({f32({3}, {1000, 999, -1000})}, "%y = softmax(%a) { axis = 0 }", 2e-6);
  checked({x}, "%y = argmin(%a) { axis = 2 }");
  checked({make_tensor(DType::i32, {4}, {3, 9, 9, 1})}, "%y = argmax(%a) { axis = 0 }");
  for (const int64_t length : {2, 3, 4, 5, 8, 9})
    checked({iota({2, length, 2})}, "%y = cumsum(%a) { axis = 1 }");
}

/// Steps of doubling length: for 8 numbers three, for 9 four.
TEST(TosaRules, SumsUpToEachPlaceAreLogarithmicallyMany) {
  EXPECT_EQ(checked({iota({8, 1})}, "%y = cumsum(%a) { axis = 0 }").count(Op::add), 3);
  EXPECT_EQ(checked({iota({9, 1})}, "%y = cumsum(%a) { axis = 0 }").count(Op::add), 4);
}

/// Only of quantised numbers it is a convolution.
TEST(TosaRules, SumsOfComputedNumbersAreNoConvolution) {
  EXPECT_EQ(checked({iota({4, 2})}, "%n = neg(%a) %y = cumsum(%n) { axis = 0 }").count(Op::conv),
            0);
}

/// What no rule makes expressible stays as it is: the message names what the model has.
TEST(TosaRules, WhatTosaHasNoTypeForIsLeft) {
  const auto changes = [](const std::vector<std::string>& inputs, std::string_view statements) {
    Graph graph = parse_graph(on_tensors(inputs, statements), "test");
    return legalise(graph);
  };
  constexpr std::string_view kHalf = "%e = constant() { data = f64[1] (0.5) } %y = pow(%a, %e)",
                             kCube =
                                 "%m = abs(%a) %e = constant() { data = f64[1] (3) } "
                                 "%y = pow(%m, %e)",
                             kIntegers = "%e = constant() { data = i32[1] (2) } %y = pow(%a, %e)";
  EXPECT_FALSE(changes({"f64[2]"}, kHalf));
  EXPECT_FALSE(changes({"f64[2]"}, kCube));
  EXPECT_TRUE(changes({"f64[2]"},
                      "%m = neg(%a) %e = constant() { data = f64[1] (3) } "
                      "%y = pow(%m, %e)"));
  EXPECT_FALSE(changes({"i32[2]"}, kIntegers));
  EXPECT_FALSE(changes({"f64[2]"}, "%y = clamp(%a) { bounds = [0,1] }"));
  EXPECT_FALSE(changes({"f64[2]"}, "%y = argmax(%a) { axis = 0 }"));
  EXPECT_FALSE(changes({"i32[2,3]", "i32[3,4]"}, "%y = matmul(%a, %b)"));
  EXPECT_FALSE(changes({"f64[2]"}, "%y = expand(%a) { shape = [3,2] }"));
  EXPECT_FALSE(changes({"f64[2]"}, "%y = expand(%a) { shape = [1,1,1,1,3,2] }"));
  EXPECT_FALSE(changes({"f32[2]"}, "%y = convert(%a) { to = u8 }"));
  EXPECT_FALSE(changes({"u8[2]"}, "%y = convert(%a) { to = bool }"));
  EXPECT_FALSE(changes({"u8[2]"}, "%y = convert(%a) { to = f32 }"));
  EXPECT_FALSE(changes({"bool[2]"}, "%y = convert(%a) { to = u8 }"));
}

TEST(TosaRules, SevenAxesAreExpandedOneByOne) {
  checked({iota({3, 1, 2, 1})}, "%y = expand(%a) { shape = [2,2,2,3,2,2,2] }");
  checked({iota({1, 2, 1, 3, 1, 2, 1})}, "%y = expand(%a) { shape = [2,2,2,3,2,2,3] }");
}

TEST(TosaRules, Scatters) {
  const layline::Tensor data = iota({3, 4, 2});
  const layline::Tensor where =
      make_tensor(DType::i64, {2, 3, 2}, {0, 3, 0, 3, 1, 2, 3, 3, 3, 0, 2, 0});
  const layline::Tensor updates =
      make_tensor(DType::f32, {2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3});
  checked({data, where, updates}, "%y = scatter_add(%a, %b, %c) { axis = 1 }");
  const layline::Tensor rows =
      make_tensor(DType::i64, {3, 2, 2}, {0, 2, 0, 2, 1, 1, 2, 2, 2, 0, 1, 0});
  checked({data, rows, iota({3, 2, 2})}, "%y = scatter_add(%a, %b, %c) { axis = 0 }");
  const layline::Tensor last =
      make_tensor(DType::i64, {2, 4, 3},
                  {0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1});
  checked({data, last, iota({2, 4, 3})}, "%y = scatter_add(%a, %b, %c) { axis = 2 }");
  checked({data, where},
          "%c = constant() { data = f32[2,3,2] splat 7.5 }\n"
          "%y = scatter_elements(%a, %b, %c) { axis = 1 }");
}

TEST(TosaRules, Sorting) {
  checked({f32({2, 5}, {3, 1, 3, kNan, -kInf, kInf, 0, -0.0, kNan, kNan})},
          "%y = argsort(%a) { axis = 1 }");
  checked({make_tensor(DType::i32, {4, 2}, {3, 1, 3, 1, 2, 9, 4, 1})},
          "%y = argsort(%a) { axis = 0 }");
}

/// Comparisons of every index with every place: 2^26 are made, and one row more are not.
TEST(TosaRules, TooManyComparisonsAreLeft) {
  const auto changes = [](std::string_view text) {
    Graph graph = parse_graph(text, "test");
    return legalise(graph);
  };
  const auto scatter = [](int64_t length, int64_t count) {
    return on_tensors({fmt::format("f32[{}]", length), fmt::format("i64[{}]", count),
                       fmt::format("f32[{}]", count)},
                      "%y = scatter_add(%a, %b, %c) { axis = 0 }");
  };
  const auto number = [](int64_t length, int64_t count) {
    return on_tensors({fmt::format("f32[{}]", length), fmt::format("i64[{}]", count)},
                      fmt::format("%c = constant() {{ data = f32[{}] splat 3 }}\n"
                                  "%y = scatter_elements(%a, %b, %c) {{ axis = 0 }}",
                                  count));
  };
  EXPECT_TRUE(changes(number(16384, 4096)));
  EXPECT_FALSE(changes(number(16385, 4096)));
  EXPECT_TRUE(changes(number(8, 1)));
  EXPECT_TRUE(changes(scatter(4, 0)));  // nothing is added
  EXPECT_TRUE(changes(scatter(8192, 8192)));
  EXPECT_FALSE(changes(scatter(8193, 8192)));
  EXPECT_FALSE(changes(scatter(8192, 8193)));
  const auto sort = [](std::string_view type) {
    return on_tensors({std::string(type)}, "%y = argsort(%a) { axis = 1 }");
  };
  EXPECT_TRUE(changes(sort("f32[1,8192]")));
  EXPECT_FALSE(changes(sort("f32[1,8193]")));
  EXPECT_TRUE(changes(sort("f32[1,1]")));
  EXPECT_TRUE(changes(sort("f32[4,4096]")));
  EXPECT_FALSE(changes(sort("f32[5,4096]")));
}

TEST(TosaRules, ImagesAreReadAtTheGridsPlaces) {
  const layline::Tensor image = iota({2, 3, 4, 2});
  // Corners, middles, and outside on every side, by little and by much.
  std::vector<double> places;
  const double at[] = {-1, 1, 0, 0.3, -0.7, -1.2, 1.3, 2.6, -3.4, 5.1};
  for (int n = 0; n < 2; ++n)
    for (const double y : at)
      for (const double x : at) {
        places.push_back(n == 0 ? x : -x);
        places.push_back(y);
      }
  const layline::Tensor grid = make_tensor(DType::f32, {2, 10, 10, 2}, places);
  for (const std::string_view mode : {"bilinear", "nearest"})
    for (const std::string_view outside : {"zeros", "border", "reflection"})
      for (const std::string_view corners : {"true", "false"})
        checked({image, grid},
                fmt::format("%y = grid_sample(%a, %b) {{ mode = {}, outside = {}, align_corners = "
                            "{} }}",
                            mode, outside, corners),
                1e-5);
  // Between the two ends of an axis of one pixel there is nothing to reflect.
  checked({iota({1, 1, 4, 1}), make_tensor(DType::f32, {1, 1, 3, 2}, {0.5, 0.5, -3, 2, 0.1, -9})},
          "%y = grid_sample(%a, %b) { outside = reflection, align_corners = true }", 1e-5);
}

}  // namespace
}  // namespace layline::tosa
