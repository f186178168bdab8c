#include "ir/packed_integers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

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

/// Counts through all integers of so many bits, which an i8 or u8 holds.
Constant counting(DType dtype, int64_t rows, int64_t columns, int bits) {
  const int count = 1 << bits, least = dtype == DType::i8 ? -count / 2 : 0;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < rows * columns; ++i)
    bytes.push_back(static_cast<std::byte>(least + i * i % 251 % count));
  return Constant::owned(dtype, {rows, columns}, bytes);
}

/// Packs one integer at a time.
std::vector<std::byte> packed_one_by_one(const Constant& integers, int bits) {
  const Tensor numbers = tensor_of(integers);
  const int64_t in_a_byte = 8 / bits, columns = numbers.dim(1);
  const int64_t lift = numbers.dtype() == DType::i8 ? int64_t{1} << (bits - 1) : 0;
  std::vector<std::byte> bytes;
  for (int64_t row = 0; row < numbers.dim(0); ++row) {
    for (int64_t begin = 0; begin < columns; begin += in_a_byte) {
      int64_t byte = 0;
      for (int64_t k = 0; k < in_a_byte; ++k) {
        const int64_t column = begin + k;
        const int64_t integer = column < columns ? numbers.get_int(row * columns + column) : 0;
        byte |= (integer + lift) << (k * bits);
      }
      bytes.push_back(static_cast<std::byte>(byte));
    }
  }
  return bytes;
}

/// Pieces end anywhere: inside what is packed at once, and inside rows that are moved in pieces.
TEST(PackedIntegers, InPieces) {
  const std::vector<int> swap = {1, 0, 2};
  for (const DType dtype : {DType::i8, DType::u8}) {
    for (const int bits : {2, 4}) {
      for (const int64_t columns : {1, 63, 64, 65, 1000, 300001}) {
        SCOPED_TRACE(fmt::format("{} {} bits, {} columns", name(dtype), bits, columns));
        const int64_t rows = columns < 1000 ? 4000 : 4;
        const Constant stored = counting(dtype, rows, columns, bits);
        const Constant moved = stored.relaid(Relayout::view(stored.shape(), {2, rows / 2, columns}))
                                   .relaid(Relayout::permute({2, rows / 2, columns}, swap));
        for (const Constant& integers :
             {stored, moved.relaid(Relayout::view(moved.shape(), {rows, columns}))}) {
          const Constant four = packed(integers, bits);
          ASSERT_TRUE(four.is_computed_in_pieces());
          std::vector<std::byte> together;
          size_t largest = 0;
          four.stream([&](std::span<const std::byte> piece) {
            together.insert(together.end(), piece.begin(), piece.end());
            largest = std::max(largest, piece.size());
          });
          EXPECT_EQ(together, packed_one_by_one(integers, bits));
          EXPECT_EQ(four.bytes(), together);
          EXPECT_LE(largest, size_t{1} << 18);
        }
      }
    }
  }
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

/// As tensors round, also where numbers are converted in several pieces.
TEST(Narrowed, HoldsTheNearestNumbers) {
  for (const int64_t count : {1, 2047, 2048, 10000}) {
    Tensor wide({DType::f32, {count}}), expected({DType::bf16, {count}});
    for (int64_t i = 0; i < count; ++i) {
      const double number = i % 97 == 0 ? std::nan("") : 1e-3 * std::exp(i % 1000 * 0.05);
      wide.set(i, number);
      expected.set(i, number);
    }
    const Constant narrow = narrowed(Constant::of(wide));
    EXPECT_EQ(narrow.dtype(), DType::bf16);
    EXPECT_TRUE(narrow.is_computed_in_pieces());
    EXPECT_TRUE(std::ranges::equal(narrow.bytes(), expected.bytes()));
    EXPECT_EQ(narrow.sample_hash(), Constant::of(expected).sample_hash());
    std::vector<float> rounded(static_cast<size_t>(count));
    std::memcpy(rounded.data(), wide.bytes().data(), wide.bytes().size());
    round_to_bfloat(rounded);
    const Tensor widened_again = tensor_of(widened(Constant::of(expected)));
    EXPECT_EQ(std::memcmp(rounded.data(), widened_again.bytes().data(), rounded.size() * 4), 0);
  }
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
