// The dtype of an operation on operands of different dtypes, as torch documents it: a tensor with
// axes outranks one without, which outranks a number, unless the latter is of a higher category.
#include "frontend/pt2/promotion.h"

#include <gtest/gtest.h>

#include "ir/graph.h"

namespace layline::pt2 {
namespace {

class Promotion : public testing::Test {
 protected:
  Operand matrix(DType dtype) { return {input({dtype, {2}}), {}}; }
  Operand rank0(DType dtype) { return {input({dtype, {}}), {}}; }
  static Operand number(DType kind) { return {nullptr, {1, kind}}; }

  Value* input(TensorType type) {
    return graph_.add_input(fmt::format("x{}", graph_.inputs().size()), std::move(type));
  }
  layline::Graph graph_{"forward"};
};

/// torch.promote_types. What torch has no answer for, u16 with signed integers, holds both.
TEST_F(Promotion, EveryPairOfTensors) {
  using enum DType;
  const std::vector<DType> order = {boolean, u8, i8, i16, i32, i64, u16, f16, bf16, f32, f64};
  const std::vector<std::vector<DType>> table = {
      {boolean, u8, i8, i16, i32, i64, u16, f16, bf16, f32, f64},
      {u8, u8, i16, i16, i32, i64, u16, f16, bf16, f32, f64},
      {i8, i16, i8, i16, i32, i64, i32, f16, bf16, f32, f64},
      {i16, i16, i16, i16, i32, i64, i32, f16, bf16, f32, f64},
      {i32, i32, i32, i32, i32, i64, i32, f16, bf16, f32, f64},
      {i64, i64, i64, i64, i64, i64, i64, f16, bf16, f32, f64},
      {u16, u16, i32, i32, i32, i64, u16, f16, bf16, f32, f64},
      {f16, f16, f16, f16, f16, f16, f16, f16, f32, f32, f64},
      {bf16, bf16, bf16, bf16, bf16, bf16, bf16, f32, bf16, f32, f64},
      {f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f64},
      {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64}};
  ASSERT_EQ(order.size(), static_cast<size_t>(kDTypeCount));
  for (size_t a = 0; a < order.size(); ++a)
    for (size_t b = 0; b < order.size(); ++b) {
      SCOPED_TRACE(fmt::format("{} with {}", name(order[a]), name(order[b])));
      EXPECT_EQ(name(promote({matrix(order[a]), matrix(order[b])})), name(table[a][b]));
      EXPECT_EQ(name(promote({rank0(order[a]), rank0(order[b])})), name(table[a][b]));
    }
}

TEST_F(Promotion, TensorsOutrankThoseWithoutAxesAndNumbers) {
  using enum DType;
  EXPECT_EQ(promote({matrix(i8), rank0(i64)}), i8);
  EXPECT_EQ(promote({rank0(f64), matrix(f16)}), f16);
  EXPECT_EQ(promote({matrix(i64), rank0(f16)}), f16);  // a higher category
  EXPECT_EQ(promote({matrix(boolean), rank0(u8)}), u8);
  EXPECT_EQ(promote({matrix(u8), number(i64)}), u8);
  EXPECT_EQ(promote({number(f32), matrix(i64)}), f32);
  EXPECT_EQ(promote({number(f32), matrix(f16)}), f16);
  EXPECT_EQ(promote({matrix(boolean), number(i64)}), i64);
  EXPECT_EQ(promote({matrix(i8), number(boolean)}), i8);
  EXPECT_EQ(promote({rank0(i8), number(i64)}), i8);
  EXPECT_EQ(promote({rank0(i8), number(f32)}), f32);
  EXPECT_EQ(promote({number(boolean), number(i64)}), i64);
  // The number's category decides over that of the tensor without axes only where it is higher.
  EXPECT_EQ(promote({matrix(boolean), rank0(i8), number(i64)}), i8);
  EXPECT_EQ(promote({matrix(boolean), rank0(i8), number(f32)}), f32);
  EXPECT_EQ(promote({matrix(i16), matrix(u8), rank0(i64)}), i16);
}

}  // namespace
}  // namespace layline::pt2
