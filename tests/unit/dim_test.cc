#include "algebra/dim.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "algebra/refine.h"
#include "base/error.h"

namespace layline {
namespace {

const Dim s1 = Dim::symbol(1);
const Dim s2 = Dim::symbol(2);

static_assert(std::is_trivially_copyable_v<Dim>);

TEST(Dim, StaticSizes) {
  EXPECT_EQ(Dim(), Dim(1));
  EXPECT_TRUE(Dim(1).is_one());
  EXPECT_TRUE(Dim(0).is_zero());
  EXPECT_EQ(Dim(7).value(), 7);
  EXPECT_THROW(Dim(-1), UserError);
}

TEST(Dim, Symbols) {
  EXPECT_FALSE(s1.is_static());
  EXPECT_FALSE(s1.is_one());
  EXPECT_THROW(s1.value(), InternalError);
  EXPECT_THROW(Dim::symbol(0), InternalError);
  const Dim square = s2 * 3 * s1 * s2;
  EXPECT_EQ(square.coefficient(), 3);
  EXPECT_EQ(std::vector<SymbolId>(square.symbols().begin(), square.symbols().end()),
            (std::vector<SymbolId>{1, 2, 2}));
}

TEST(Dim, ProductsCommuteAndAreExact) {
  EXPECT_EQ(s1 * s2, s2 * s1);
  EXPECT_EQ(Dim(6) * s1, s1 * 2 * 3);
  EXPECT_NE(s1, s2);
  EXPECT_EQ(Dim(0) * s1, Dim(0));
  EXPECT_TRUE((Dim(0) * s1).is_static());
}

TEST(Dim, ProductsThatDoNotFitAreTheUsersError) {
  const Dim huge = int64_t{1} << 62;
  EXPECT_THROW(huge * 2, UserError);
  EXPECT_THROW(element_count({huge, 3, 5}), UserError);
  EXPECT_EQ(element_count({huge, huge, 0}), Dim(0));
  EXPECT_THROW(s1 * s1 * s1 * s1 * s2, UserError);
}

TEST(Dim, DivisionIsExactOrNothing) {
  EXPECT_EQ(divide(6, 3), Dim(2));
  EXPECT_EQ(divide(7, 3), std::nullopt);
  EXPECT_EQ(divide(Dim(6) * s1, 2), Dim(3) * s1);
  EXPECT_EQ(divide(Dim(6) * s1 * s2, s2 * 3), Dim(2) * s1);
  EXPECT_EQ(divide(s1 * s1, s1), s1);
  EXPECT_EQ(divide(s1, s1 * s1), std::nullopt);
  EXPECT_EQ(divide(s1, 2), std::nullopt);
  EXPECT_EQ(divide(s1, s2), std::nullopt);
  EXPECT_EQ(divide(0, 5), Dim(0));
  EXPECT_EQ(divide(0, s1), Dim(0));
  EXPECT_EQ(divide(5, 0), std::nullopt);
}

TEST(Dim, DivisionInvertsMultiplication) {
  const Dims dims = {1, 2, 3, 12, s1, s2, s1 * s1, s1 * s2, s1 * 2, s2 * 6};
  for (const Dim a : dims)
    for (const Dim b : dims) {
      EXPECT_EQ(divide(a * b, b), a);
      if (const auto quotient = divide(a, b)) {
        EXPECT_EQ(*quotient * b, a);
      }
    }
}

TEST(Dim, TextRoundTrips) {
  const Dims dims = {0,  1,           3,       std::numeric_limits<int64_t>::max(),
                     s1, s1 * s2 * 2, s1 * s1, Dim::symbol(65535)};
  for (const Dim dim : dims) EXPECT_EQ(parse_dim(to_string(dim)), dim) << to_string(dim);
  EXPECT_EQ(to_string(s2 * 2 * s1), "2*s1*s2");
  for (const char* text : {"", "s", "s0", "s65536", "-1", "+1", "1x", "2*", "*2", "s-1", "x",
                           "9223372036854775808", "1 ", "s1*s1*s1*s1*s1"})
    EXPECT_THROW(parse_dim(text), UserError) << text;
}

TEST(Shape, TextRoundTrips) {
  for (const Shape& shape : {Shape{}, Shape{1, 3, s1}, Shape{0}, Shape{s1 * 2, 5}})
    EXPECT_EQ(parse_shape(to_string(shape)), shape);
  EXPECT_EQ(to_string(Shape{1, 3, s1}), "[1,3,s1]");
  EXPECT_EQ(parse_shape("[ 1, 2 ]"), (Shape{1, 2}));
  for (const char* text : {"", "[", "]", "1,2", "[1,,2]", "[1,]", "[1 2]", "[[1]]"})
    EXPECT_THROW(parse_shape(text), UserError) << text;
}

TEST(Shape, Counts) {
  EXPECT_EQ(element_count({}), Dim(1));
  EXPECT_EQ(element_count({2, s1, 3}), Dim(6) * s1);
  EXPECT_TRUE(is_static({1, 2}));
  EXPECT_FALSE(is_static({1, s1}));
  EXPECT_EQ(static_dims({4, 1}), (std::vector<int64_t>{4, 1}));
}

TEST(Refine, GivesTheCoarsestCommonDigits) {
  using Sizes = Dims;
  const auto sizes = [](const Sizes& left, const Sizes& right) -> std::optional<Sizes> {
    const auto digits = refine(left, right);
    if (!digits) return std::nullopt;
    Sizes result, left_products(left.size()), right_products(right.size());
    for (const SharedDigit& digit : *digits) {
      result.push_back(digit.size);
      left_products[digit.left] = left_products[digit.left] * digit.size;
      right_products[digit.right] = right_products[digit.right] * digit.size;
    }
    EXPECT_EQ(left_products, left);
    EXPECT_EQ(right_products, right);
    return result;
  };
  EXPECT_EQ(sizes({6, 4}, {3, 8}), (Sizes{3, 2, 4}));
  EXPECT_EQ(sizes({2, 1, 3}, {6, 1}), (Sizes{2, 3}));
  EXPECT_EQ(sizes({1}, {}), Sizes{});
  EXPECT_EQ(sizes({2, 3}, {3, 2}), std::nullopt);
  EXPECT_EQ(sizes({s1, 4}, {s1 * 2, 2}), (Sizes{s1, 2, 2}));
  EXPECT_EQ(sizes({s1, 4}, {4, s1}), std::nullopt);
  EXPECT_EQ(sizes({s1, s2}, {s2, s1}), std::nullopt);
}

}  // namespace
}  // namespace layline
