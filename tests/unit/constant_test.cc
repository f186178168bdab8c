#include "ir/constant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "ir/computed_block.h"
#include "ir/text.h"

namespace layline {
namespace {

std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// The positions of the elements as values, which f32 holds exactly for these sizes.
Constant counting(Shape shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape).value()));
  std::iota(values.begin(), values.end(), 0.0f);
  const auto bytes = std::as_bytes(std::span(values));
  return Constant::owned(DType::f32, std::move(shape), {bytes.begin(), bytes.end()});
}

std::vector<float> row_factors(int64_t rows) {
  std::vector<float> factors(static_cast<size_t>(rows));
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = static_cast<float>(i % 5) - 2.0f;
  return factors;
}

/// Scaling and moving one element at a time is what pieces, blocks and vectors must add up to.
void expect_scaled_and_moved(const Shape& shape, const Relayout& relayout) {
  const Constant plain = counting(shape);
  const std::vector<float> factors = row_factors(shape[0].value());
  const std::vector<float> stored = floats(plain.stored());
  const size_t row = stored.size() / factors.size();
  std::vector<float> moved(stored.size()), scaled(stored.size());
  for (size_t i = 0; i < stored.size(); ++i) {
    const auto target = static_cast<size_t>(relayout.map_position(static_cast<int64_t>(i)));
    moved[target] = stored[i];
    scaled[target] = stored[i] * factors[i / row];
  }
  EXPECT_EQ(floats(plain.relaid(relayout).bytes()), moved) << to_string(relayout);
  const Constant result = plain.scaled_rows(factors).relaid(relayout);
  EXPECT_EQ(floats(result.bytes()), scaled) << to_string(relayout);
  EXPECT_EQ(result.shape(), relayout.target());
}

TEST(Constant, IsWrittenStraightFromWhereItIsStored) {
  const Constant constant = counting({2, 3}).relaid(Relayout::view({2, 3}, {6}));
  int pieces = 0;
  constant.stream([&](std::span<const std::byte> piece) {
    EXPECT_EQ(piece.data(), constant.stored().data());
    EXPECT_EQ(piece.size(), constant.byte_count());
    ++pieces;
  });
  EXPECT_EQ(pieces, 1);
}

TEST(Constant, OfNoElementsWritesNothing) {
  const Constant constant = counting({0, 3}).relaid(Relayout::permute({0, 3}, std::vector{1, 0}));
  constant.stream([](std::span<const std::byte>) { FAIL(); });
  EXPECT_TRUE(constant.bytes().empty());
}

TEST(Constant, ScalesRowsLongerThanAPiece) {
  expect_scaled_and_moved({3, 70001}, Relayout::identity({3, 70001}));
}

TEST(Constant, ScalesRowsThatPiecesCut) {
  expect_scaled_and_moved({70, 1003}, Relayout::identity({70, 1003}));
}

TEST(Constant, MovesFiltersInPieces) {
  const Shape filters = {201, 37, 3, 3};
  expect_scaled_and_moved(filters, Relayout::permute(filters, std::vector{0, 2, 3, 1}));
}

TEST(Constant, MovesFiltersLongerThanAPiece) {
  const Shape filters = {3, 5000, 3, 3};
  expect_scaled_and_moved(filters, Relayout::permute(filters, std::vector{0, 2, 3, 1}));
}

TEST(Constant, MovesWhatHasNoRowsInTheTarget) {
  expect_scaled_and_moved({401, 300}, Relayout::permute({401, 300}, std::vector{1, 0}));
}

TEST(Constant, ScalesRowsThatMoveWithinLargerBlocks) {
  const Shape shape = {6, 20000};
  expect_scaled_and_moved(shape, Relayout::from_factors(shape, {2, 3, 20000}, {0, 2, 1}, shape));
}

TEST(Constant, ScalesRowsThatAreCutIntoSmallerBlocks) {
  const Shape shape = {4, 60000};
  expect_scaled_and_moved(shape,
                          Relayout::from_factors(shape, {4, 30, 50, 40}, {0, 1, 3, 2}, shape));
}

/// Factors of rows and columns, given in either order before or after a view or a movement,
/// multiply the elements that stand in those rows and columns at that moment.
TEST(Constant, ScalesColumnsBesideRows) {
  for (const Shape& shape : {Shape{3, 70001}, Shape{70, 1003}, Shape{201, 3, 3, 37}}) {
    const Constant plain = counting(shape);
    const auto rows = row_factors(shape.front().value());
    std::vector<float> columns = row_factors(shape.back().value() + 1);
    columns.erase(columns.begin());
    std::vector<float> expected = floats(plain.stored());
    const size_t row = expected.size() / rows.size();
    for (size_t i = 0; i < expected.size(); ++i)
      expected[i] *= rows[i / row] * columns[i % columns.size()];
    const Constant scaled = plain.scaled_rows(rows).scaled_columns(columns);
    EXPECT_EQ(floats(scaled.bytes()), expected) << to_string(shape);
    EXPECT_EQ(scaled.stored().data(), plain.stored().data()) << "nothing is copied";
    EXPECT_EQ(floats(plain.scaled_columns(columns).scaled_rows(rows).bytes()), expected);
    EXPECT_TRUE(scaled.same_bytes(plain.scaled_columns(columns).scaled_rows(rows)));

    const Constant flat = plain.relaid(Relayout::view(shape, {element_count(shape)}));
    const Constant back = flat.relaid(Relayout::view({element_count(shape)}, shape));
    EXPECT_EQ(floats(back.scaled_columns(columns).scaled_rows(rows).bytes()), expected);
    const Constant done = Constant::owned(DType::f32, shape, scaled.bytes());
    EXPECT_EQ(scaled.sample_hash(), done.sample_hash());
  }
}

TEST(Constant, ScalesTheColumnsThatAMovementMade) {
  const Relayout transpose = Relayout::permute({401, 300}, std::vector{1, 0});
  const Constant moved = counting({401, 300}).relaid(transpose);
  const auto columns = row_factors(401);
  std::vector<float> expected = floats(moved.bytes());
  for (size_t i = 0; i < expected.size(); ++i) expected[i] *= columns[i % 401];
  EXPECT_EQ(floats(moved.scaled_columns(columns).bytes()), expected);
  std::vector<float> twice = expected;
  for (size_t i = 0; i < twice.size(); ++i) twice[i] *= columns[i % 401];
  EXPECT_EQ(floats(moved.scaled_columns(columns).scaled_columns(columns).bytes()), twice);
}

TEST(Constant, ScalesRowsOfAnotherViewThanTheColumns) {
  const Constant columns = counting({4, 6}).scaled_columns(std::vector<float>{1, 2, 3, 4, 5, 6});
  const Constant other = columns.relaid(Relayout::view({4, 6}, {8, 3}));
  std::vector<float> expected = floats(columns.bytes());
  const auto rows = row_factors(8);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] *= rows[i / 3];
  EXPECT_EQ(floats(other.scaled_rows(rows).bytes()), expected);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] *= rows[i % 3];
  EXPECT_EQ(floats(other.scaled_rows(rows).scaled_columns(std::span(rows).first(3)).bytes()),
            expected);
}

TEST(Constant, HasTheSameBytesHoweverTheyComeAbout) {
  const Relayout transpose = Relayout::permute({301, 200}, std::vector{1, 0});
  const Constant pending = counting({301, 200}).relaid(transpose);
  const Constant done = Constant::owned(DType::f32, pending.shape(), pending.bytes());
  EXPECT_TRUE(pending.same_bytes(done));
  EXPECT_EQ(pending.sample_hash(), done.sample_hash());
  EXPECT_FALSE(pending.same_bytes(counting({200, 301})));
}

// ---- Rows ----

/// Some rows are what stands there once everything is done.
void expect_rows(const Constant& constant, bool copies = false) {
  const std::vector<float> all = floats(constant.bytes());
  const auto count = static_cast<size_t>(constant.shape()[0].value());
  const size_t row = all.size() / std::max<size_t>(1, count);
  for (size_t begin = 0; begin <= count; ++begin)
    for (size_t end = begin; end <= count; ++end) {
      const Constant rows = constant.rows(begin, end);
      Shape shape = constant.shape();
      shape[0] = Dim(static_cast<int64_t>(end - begin));
      EXPECT_EQ(rows.shape(), shape);
      const auto at = [&](size_t i) { return all.begin() + static_cast<ptrdiff_t>(i * row); };
      EXPECT_EQ(floats(rows.bytes()), std::vector<float>(at(begin), at(end)));
      if (begin == end || copies || row == 0) continue;
      EXPECT_EQ(rows.stored().data(), constant.stored().data() + begin * row * sizeof(float));
    }
}

TEST(Constant, RowsAreCutWhereTheyAreStored) {
  const Shape filters = {5, 7, 3, 3};
  const Constant plain = counting(filters);
  const Relayout last = Relayout::permute(filters, std::vector{0, 2, 3, 1});
  expect_rows(plain);
  expect_rows(plain.relaid(last));
  expect_rows(plain.scaled_rows(row_factors(5)));
  expect_rows(plain.scaled_rows(row_factors(5)).relaid(last));
  expect_rows(plain.scaled_columns(row_factors(3)));
  expect_rows(plain.scaled_columns(row_factors(3)).scaled_rows(row_factors(5)));
  expect_rows(plain.relaid(Relayout::view(filters, {5, 63})));
  expect_rows(counting({10, 7, 2})
                  .relaid(Relayout::from_factors({10, 7, 2}, {10, 7, 2}, {0, 2, 1}, {5, 28})));
}

TEST(Constant, RowsThatAreStoredElsewhereAreCopied) {
  expect_rows(counting({4, 6}).relaid(Relayout::permute({4, 6}, std::vector{1, 0})), true);
  expect_rows(
      counting({4, 6}).scaled_columns(row_factors(6)).relaid(Relayout::view({4, 6}, {8, 3})), true);
  expect_rows(counting({4, 6}).scaled_rows(row_factors(4)).relaid(Relayout::view({4, 6}, {8, 3})),
              true);
  expect_rows(counting({1, 5, 3}).relaid(Relayout::permute({1, 5, 3}, std::vector{0, 2, 1})), true);
  expect_rows(counting({0, 3}));
  expect_rows(counting({3, 0}));
}

// ---- Computed ----

/// Two constants of 2000 elements that count from 0 and from 5000, computed together.
struct Counted {
  int times = 0;
  std::shared_ptr<ComputedBlock> block;
  std::vector<Constant> parts;

  Counted() {
    const auto element = [](float value) {
      std::array<std::byte, 8> bytes{};
      std::memcpy(bytes.data(), &value, sizeof value);
      return bytes;
    };
    std::vector<ComputedBlock::Part> places = {{0, 8000, element(0), element(1999)},
                                               {10000, 8000, element(5000), element(6999)}};
    block = std::make_shared<ComputedBlock>(18000, places, [this](std::span<std::byte> bytes) {
      ++times;
      for (const size_t begin : {0, 10000})
        for (size_t i = 0; i < 2000; ++i) {
          const auto value = static_cast<float>(i + begin / 2);
          std::memcpy(&bytes[begin + i * sizeof value], &value, sizeof value);
        }
    });
    for (const size_t i : {0, 1})
      parts.push_back(Constant::computed(DType::f32, {40, 50}, block, i));
  }
};

TEST(ComputedConstant, IsComputedWhenItIsRead) {
  Counted counted;
  const Constant stored = counting({40, 50});
  EXPECT_EQ(counted.parts[0].byte_count(), stored.byte_count());
  EXPECT_EQ(counted.parts[0].sample_hash(), stored.sample_hash());
  const Relayout transpose = Relayout::permute({40, 50}, std::vector{1, 0});
  const Constant changed = counted.parts[0].scaled_rows(row_factors(40)).relaid(transpose);
  EXPECT_TRUE(counted.parts[0] == Constant(counted.parts[0]));
  EXPECT_EQ(counted.times, 0);
  const Constant expected = stored.scaled_rows(row_factors(40)).relaid(transpose);
  EXPECT_EQ(changed.sample_hash(), expected.sample_hash());
  EXPECT_EQ(counted.times, 0);
  EXPECT_EQ(changed.bytes(), expected.bytes());
  EXPECT_TRUE(counted.parts[0].same_bytes(stored));
  EXPECT_TRUE(counted.parts[0] == stored);
  EXPECT_FALSE(counted.parts[1] == stored);
  EXPECT_FALSE(counted.parts[1].same_bytes(stored));
  expect_rows(counted.parts[1], true);
}

TEST(ComputedConstant, IsInMemoryUntilAllPartsAreRead) {
  Counted counted;
  EXPECT_EQ(floats(counted.parts[0].bytes()).back(), 1999);
  EXPECT_EQ(floats(counted.parts[0].bytes()).back(), 1999);
  EXPECT_EQ(counted.times, 1);
  const Constant last = counted.parts[1].loaded();
  EXPECT_EQ(counted.times, 1);
  EXPECT_EQ(floats(counted.parts[0].bytes()).back(), 1999);
  EXPECT_EQ(counted.times, 2);
  EXPECT_EQ(floats(last.stored()).back(), 6999) << "what is read stays for as long as it is held";
}

TEST(ComputedConstant, InPieces) {
  int times = 0;
  const Constant stored = counting({40, 50});
  const auto ends = [&](size_t at) {
    std::array<std::byte, 8> bytes{};
    std::ranges::copy(stored.stored().subspan(at, sizeof(float)), bytes.begin());
    return bytes;
  };
  const auto block = std::make_shared<ComputedBlock>(
      ComputedBlock::Part{0, 8000, ends(0), ends(7996)}, [&](const ComputedBlock::Write& write) {
        ++times;
        for (size_t at = 0; at < 8000; at += 1000) write(stored.stored().subspan(at, 1000));
      });
  const Constant pieces = Constant::computed(DType::f32, {40, 50}, block, 0);
  EXPECT_TRUE(pieces.is_computed_in_pieces());
  EXPECT_EQ(pieces.sample_hash(), stored.sample_hash());
  EXPECT_EQ(times, 0);
  std::vector<size_t> sizes;
  pieces.stream([&](std::span<const std::byte> piece) { sizes.push_back(piece.size()); });
  EXPECT_EQ(sizes, std::vector<size_t>(8, 1000));
  EXPECT_EQ(times, 1);
  EXPECT_EQ(pieces.bytes(), stored.bytes());
  EXPECT_TRUE(pieces.same_bytes(stored));
  expect_rows(pieces, true);
  // What moves or is scaled is in memory first.
  const Constant changed =
      pieces.scaled_rows(row_factors(40)).relaid(Relayout::permute({40, 50}, std::vector{1, 0}));
  EXPECT_FALSE(changed.is_computed_in_pieces());
  EXPECT_FALSE(pieces.scaled_rows(row_factors(40)).is_computed_in_pieces());
  EXPECT_FALSE(stored.is_computed_in_pieces());
  EXPECT_EQ(changed.bytes(), stored.scaled_rows(row_factors(40))
                                 .relaid(Relayout::permute({40, 50}, std::vector{1, 0}))
                                 .bytes());
  EXPECT_THROW(ComputedBlock(ComputedBlock::Part{8, 8, {}, {}}, {}), InternalError);
}

TEST(ComputedConstant, PartsLieInTheBlock) {
  EXPECT_THROW(ComputedBlock(100, {{90, 11, {}, {}}}, {}), InternalError);
  EXPECT_THROW(ComputedBlock(100, {{101, 0, {}, {}}}, {}), InternalError);
}

}  // namespace
}  // namespace layline
