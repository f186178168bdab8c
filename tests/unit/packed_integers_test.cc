#include "ir/packed_integers.h"

#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/widened.h"
#include "make_tensor.h"

namespace layline {
namespace {

Constant integers(DType dtype, Shape shape, const std::vector<double>& numbers) {
  return Constant::of(make_tensor(dtype, std::move(shape), numbers));
}

std::vector<int> bytes_of(const Constant& constant) {
  std::vector<int> bytes;
  for (const std::byte byte : constant.bytes()) bytes.push_back(std::to_integer<int>(byte));
  return bytes;
}

TEST(PackedIntegers, TheFirstHasTheLowestBits) {
  const Constant four = packed(integers(DType::i8, {2, 4}, {-8, 7, 0, -1, 1, 2, 3, 4}), 4);
  EXPECT_EQ(bytes_of(four), (std::vector{0xf0, 0x78, 0xa9, 0xcb}));
  EXPECT_EQ(four.shape(), (Shape{2, 2}));
  EXPECT_EQ(bytes_of(packed(integers(DType::i8, {1, 4}, {-2, -1, 0, 1}), 2)), std::vector{0xe4});
  EXPECT_EQ(bytes_of(packed(integers(DType::u8, {1, 2}, {3, 15}), 4)), std::vector{0xf3});
}

TEST(PackedIntegers, RowsEndWithWholeBytes) {
  const Constant odd = packed(integers(DType::i8, {2, 3}, {1, 2, 3, 4, 5, 6}), 4);
  EXPECT_EQ(bytes_of(odd), (std::vector{0xa9, 0x8b, 0xdc, 0x8e}));
  EXPECT_EQ(packed(integers(DType::i8, {0, 4}, {}), 4).byte_count(), 0u);
}

/// What is pending is done first: rows are those of the shape.
TEST(PackedIntegers, MovedIntegers) {
  const std::vector<int> swap = {1, 0};
  const Constant moved = integers(DType::i8, {4, 3}, {-8, 1, 2, 3, 4, 5, 6, 7, -1, -2, -3, -4})
                             .relaid(Relayout::permute({4, 3}, swap));
  EXPECT_EQ(bytes_of(packed(moved, 4)), (std::vector{0xb0, 0x6e, 0xc9, 0x5f, 0xda, 0x47}));
}

/// The pool finds equal ones by their first and last bytes.
TEST(PackedIntegers, EqualOnesHaveEqualHashes) {
  Tensor large = make_tensor(DType::i8, {128, 128}, std::vector<double>(128 * 128, 3));
  large.set_int(0, -8);
  large.set_int(128 * 128 - 1, 5);
  const Constant lazy = packed(Constant::of(large), 4);
  const Constant eager = Constant::owned(DType::u8, {128, 64}, lazy.bytes());
  EXPECT_EQ(lazy.sample_hash(), eager.sample_hash());
  EXPECT_TRUE(lazy.same_bytes(eager));
  EXPECT_TRUE(lazy.same_bytes(lazy));
}

Tensor unpacked_bytes(const std::vector<double>& bytes, const Packing& packing) {
  Graph graph("forward");
  Value* x = graph.add_input("x", {DType::f32, {1, static_cast<int64_t>(bytes.size())}});
  graph.add_output("y", unpacked(Builder(graph, {}), x, packing));
  const std::vector<Tensor> inputs = {f32({1, static_cast<int64_t>(bytes.size())}, bytes)};
  return evaluate(graph, inputs)[0];
}

TEST(PackedIntegers, UnpackedInBothOrders) {
  expect_near(unpacked_bytes({0xf3, 0x0a}, {4, true}), f32({1, 4}, {3, 15, 10, 0}), 0);
  expect_near(unpacked_bytes({0xf3, 0x0a}, {4, false}), f32({1, 4}, {15, 3, 0, 10}), 0);
  expect_near(unpacked_bytes({0xe4}, {2, true}), f32({1, 4}, {0, 1, 2, 3}), 0);
  expect_near(unpacked_bytes({0xe4}, {2, false}), f32({1, 4}, {3, 2, 1, 0}), 0);
  expect_near(unpacked_bytes({200}, {8}), f32({1, 1}, {200}), 0);
}

TEST(Widened, HoldsTheSameNumbers) {
  const Tensor narrow = make_tensor(DType::bf16, {2, 3}, {1, -2.5, 0, 3e38, 1e-30, 0.1});
  const Constant wide = widened(Constant::of(narrow));
  EXPECT_EQ(wide.dtype(), DType::f32);
  const Tensor numbers = tensor_of(wide);
  for (int64_t i = 0; i < narrow.count(); ++i) EXPECT_EQ(numbers.get(i), narrow.get(i));
  EXPECT_EQ(widened(integers(DType::bf16, {0, 2}, {})).byte_count(), 0u);
}

TEST(Widened, EqualOnesHaveEqualHashes) {
  const Constant narrow = Constant::of(iota({64, 64}, DType::bf16));
  const Constant lazy = widened(narrow);
  const Constant eager = Constant::owned(DType::f32, {64, 64}, lazy.bytes());
  EXPECT_EQ(lazy.sample_hash(), eager.sample_hash());
  EXPECT_TRUE(lazy.same_bytes(eager));
}

}  // namespace
}  // namespace layline
