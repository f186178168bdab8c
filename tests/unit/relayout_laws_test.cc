// The laws of the relayout algebra. Where a law quantifies over relayouts it is checked for all of
// them up to some element count, against maps of positions that are computed digit by digit here.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "algebra/relayout.h"
#include "base/error.h"

namespace layline {

void PrintTo(const Relayout& relayout, std::ostream* out) { *out << to_string(relayout); }
void PrintTo(const Dim& dim, std::ostream* out) { *out << to_string(dim); }

namespace {

using Sizes = std::vector<int64_t>;
using PositionMap = std::vector<int64_t>;

const Dim s1 = Dim::symbol(1);
const Dim s2 = Dim::symbol(2);
const Dim s3 = Dim::symbol(3);

Shape to_shape(const Sizes& sizes) { return Shape(sizes.begin(), sizes.end()); }

int64_t count_of(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

Permutation first_permutation(size_t size) {
  Permutation order(size);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The index of each dim at a row-major position.
Sizes digits_at(int64_t position, const Sizes& sizes) {
  Sizes digits(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; position /= sizes[i]) digits[i] = position % sizes[i];
  return digits;
}

int64_t position_at(const Sizes& digits, const Sizes& sizes) {
  int64_t position = 0;
  for (size_t i = 0; i < sizes.size(); ++i) position = position * sizes[i] + digits[i];
  return position;
}

/// The definition of a digit permutation, for any factorisation.
PositionMap permuted_digits(const Sizes& factors, const Permutation& order) {
  PositionMap map;
  for (int64_t p = 0; p < count_of(factors); ++p) {
    const Sizes digits = digits_at(p, factors);
    Sizes target_digits, target_sizes;
    for (const int factor : order) {
      target_digits.push_back(digits[factor]);
      target_sizes.push_back(factors[factor]);
    }
    map.push_back(position_at(target_digits, target_sizes));
  }
  return map;
}

PositionMap map_of(const Relayout& relayout) {
  PositionMap map(element_count(relayout.source()).value());
  for (size_t p = 0; p < map.size(); ++p) map[p] = relayout.map_position(p);
  return map;
}

PositionMap compose(const PositionMap& first, const PositionMap& second) {
  PositionMap map;
  for (const int64_t p : first) map.push_back(second[p]);
  return map;
}

/// All ways to write `count` as an ordered product of factors of at least 2.
std::vector<Sizes> factorisations(int64_t count) {
  if (count == 1) return {{}};
  std::vector<Sizes> result;
  for (int64_t first = 2; first <= count; ++first) {
    if (count % first != 0) continue;
    for (Sizes rest : factorisations(count / first)) {
      rest.insert(rest.begin(), first);
      result.push_back(std::move(rest));
    }
  }
  return result;
}

/// All shapes of `count` elements with at most `max_rank` dims, unit dims included.
std::vector<Sizes> shapes_of(int64_t count, int max_rank) {
  std::vector<Sizes> result;
  if (count == 1) result.push_back({});
  if (max_rank == 0) return result;
  for (int64_t first = 1; first <= count; ++first) {
    if (count % first != 0) continue;
    for (Sizes rest : shapes_of(count / first, max_rank - 1)) {
      rest.insert(rest.begin(), first);
      result.push_back(std::move(rest));
    }
  }
  return result;
}

/// All relayouts of [count] to [count], by their maps: every digit permutation of every
/// factorisation. Checks on the way that the canonical form is unique.
const std::map<PositionMap, Relayout>& all_movements(int64_t count) {
  static std::map<int64_t, std::map<PositionMap, Relayout>> cache;
  const auto [entry, is_new] = cache.try_emplace(count);
  std::map<PositionMap, Relayout>& movements = entry->second;
  if (!is_new) return movements;
  for (const Sizes& factors : factorisations(count)) {
    Permutation order = first_permutation(factors.size());
    do {
      const Relayout relayout = Relayout::from_factors({count}, to_shape(factors), order, {count});
      const PositionMap map = permuted_digits(factors, order);
      EXPECT_EQ(map_of(relayout), map) << to_string(relayout);
      const auto [same_map, inserted] = movements.emplace(map, relayout);
      EXPECT_EQ(same_map->second, relayout) << "one map, two canonical forms";
    } while (std::ranges::next_permutation(order).found);
  }
  return movements;
}

TEST(RelayoutLaws, CanonicalFormIsUnique) {
  for (int64_t count = 1; count <= 64; ++count) {
    std::set<std::pair<Shape, Permutation>> forms;
    for (const auto& [map, relayout] : all_movements(count)) {
      EXPECT_TRUE(forms.emplace(relayout.factors(), relayout.order()).second)
          << "two maps, one form " << to_string(relayout);
      EXPECT_EQ(element_count(relayout.factors()), Dim(count));
      const Permutation& order = relayout.order();
      for (size_t i = 1; i < order.size(); ++i) EXPECT_NE(order[i], order[i - 1] + 1);
      for (const Dim factor : relayout.factors()) EXPECT_FALSE(factor.is_one());
    }
  }
}

// (A then B)(p) == B(A(p)), and where `then` gives nothing no digit permutation has that map.
TEST(RelayoutLaws, CompositionIsExactOrProvedImpossible) {
  int64_t composed = 0, impossible = 0;
  // Up to 63: of 64 = 2^6 all 720 * 720 pairs compose, as the divisors of a prime power are a
  // chain.
  for (int64_t count = 1; count < 64; ++count) {
    const auto& movements = all_movements(count);
    for (const auto& [first_map, first] : movements)
      for (const auto& [second_map, second] : movements) {
        const auto expected = movements.find(compose(first_map, second_map));
        const auto actual = first.then(second);
        ASSERT_EQ(actual.has_value(), expected != movements.end())
            << to_string(first) << " then " << to_string(second);
        if (actual) {
          ASSERT_EQ(*actual, expected->second);
        }
        ++(actual ? composed : impossible);
      }
  }
  EXPECT_GT(composed, 0);
  EXPECT_GT(impossible, 0);
}

TEST(RelayoutLaws, InverseUndoes) {
  for (int64_t count = 1; count <= 64; ++count)
    for (const auto& [map, relayout] : all_movements(count)) {
      const Relayout back = relayout.inverse();
      EXPECT_EQ(back.inverse(), relayout);
      EXPECT_EQ(relayout.then(back), Relayout::identity({count}));
      EXPECT_EQ(back.then(relayout), Relayout::identity({count}));
      const PositionMap back_map = map_of(back);
      for (int64_t p = 0; p < count; ++p) EXPECT_EQ(back_map[map[p]], p);
    }
}

TEST(RelayoutLaws, IdentityIsNeutral) {
  for (int64_t count = 1; count <= 36; ++count)
    for (const auto& [map, relayout] : all_movements(count)) {
      EXPECT_EQ(relayout.then(Relayout::identity({count})), relayout);
      EXPECT_EQ(Relayout::identity({count}).then(relayout), relayout);
      EXPECT_EQ(relayout.is_view(), std::ranges::is_sorted(map));
    }
}

TEST(RelayoutLaws, CompositionIsAssociative) {
  for (const int64_t count : {4, 6, 8, 12, 16, 18}) {
    const auto& movements = all_movements(count);
    for (const auto& [map_a, a] : movements)
      for (const auto& [map_b, b] : movements) {
        const auto ab = a.then(b);
        if (!ab) continue;
        for (const auto& [map_c, c] : movements)
          if (const auto bc = b.then(c)) {
            ASSERT_EQ(ab->then(c), a.then(*bc));
          }
      }
  }
}

TEST(RelayoutLaws, CompositionInvertsInReverse) {
  for (const int64_t count : {12, 16, 24, 30}) {
    const auto& movements = all_movements(count);
    for (const auto& [map_a, a] : movements)
      for (const auto& [map_b, b] : movements) {
        const auto forward = a.then(b);
        const auto backward = b.inverse().then(a.inverse());
        ASSERT_EQ(forward.has_value(), backward.has_value());
        if (forward) {
          ASSERT_EQ(forward->inverse(), *backward);
        }
      }
  }
}

TEST(RelayoutLaws, ShapesAndMovementAreIndependent) {
  const Relayout nhwc = Relayout::permute({1, 3, 4, 5}, std::vector{0, 2, 3, 1});
  const Relayout flat = nhwc.with_source({60}).with_target({6, 10});
  EXPECT_TRUE(flat.moves_like(nhwc));
  EXPECT_NE(flat, nhwc);
  EXPECT_EQ(flat.source(), (Shape{60}));
  EXPECT_EQ(flat.target(), (Shape{6, 10}));
  EXPECT_EQ(
      Relayout::view({60}, {1, 3, 4, 5}).then(nhwc)->then(Relayout::view({1, 4, 5, 3}, {6, 10})),
      flat);
  EXPECT_THROW(nhwc.with_source({61}), InternalError);
  EXPECT_THROW(Relayout::view({2, 3}, {5}), InternalError);
  EXPECT_THROW(nhwc.then(nhwc), InternalError);
  EXPECT_TRUE(nhwc.as_transpose().dims == (Shape{3, 20}));
  EXPECT_EQ(nhwc.as_transpose().perm, (Permutation{1, 0}));
}

/// Calls visit(relayout, source sizes, target sizes) for every relayout of `count` elements between
/// shapes of at most `max_rank` dims.
template <typename Visit>
void for_each_relayout(int64_t count, int max_rank, Visit visit) {
  const std::vector<Sizes> shapes = shapes_of(count, max_rank);
  for (const auto& [map, movement] : all_movements(count))
    for (const Sizes& source : shapes)
      for (const Sizes& target : shapes)
        visit(movement.with_source(to_shape(source)).with_target(to_shape(target)), map, source,
              target);
}

// A dim keeps its place exactly if every element has there the index that it had before.
TEST(RelayoutLaws, TargetAxisIsTheDimWithTheSameIndices) {
  for (const int64_t count : {4, 6, 8, 12, 16})
    for_each_relayout(
        count, 3,
        [&](const Relayout& relayout, const PositionMap& map, const Sizes& source,
            const Sizes& target) {
          for (int axis = 0; axis < std::ssize(source); ++axis) {
            std::optional<int> expected;
            if (source[axis] == 1) {
              if (std::ranges::count(source, 1) == 1 && std::ranges::count(target, 1) == 1)
                expected = static_cast<int>(std::ranges::find(target, 1) - target.begin());
            } else {
              for (int other = 0; other < std::ssize(target); ++other) {
                bool same = target[other] == source[axis];
                for (int64_t p = 0; same && p < count; ++p)
                  same = digits_at(p, source)[axis] == digits_at(map[p], target)[other];
                if (same) expected = other;
              }
            }
            ASSERT_EQ(relayout.target_axis(axis), expected)
                << to_string(relayout) << " axis " << axis;
          }
        });
}

TEST(RelayoutLaws, AsPermutationFindsOneIfThereIsOne) {
  for (const int64_t count : {1, 2, 4, 6, 8, 12})
    for_each_relayout(
        count, 3,
        [&](const Relayout& relayout, const PositionMap&, const Sizes& source, const Sizes&) {
          const auto found = relayout.as_permutation();
          if (found) {
            ASSERT_EQ(Relayout::permute(relayout.source(), *found), relayout);
            return;
          }
          Permutation perm = first_permutation(source.size());
          do ASSERT_NE(Relayout::permute(relayout.source(), perm), relayout);
          while (std::ranges::next_permutation(perm).found);
        });
}

TEST(RelayoutLaws, PermuteMovesDims) {
  for (int64_t count = 1; count <= 36; ++count)
    for (const Sizes& source : shapes_of(count, 4)) {
      Permutation perm = first_permutation(source.size());
      do {
        const Relayout relayout = Relayout::permute(to_shape(source), perm);
        ASSERT_EQ(map_of(relayout), permuted_digits(source, perm));
        for (size_t i = 0; i < perm.size(); ++i)
          ASSERT_EQ(relayout.target()[i], relayout.source()[perm[i]]);
        const auto found = relayout.as_permutation();
        ASSERT_TRUE(found);
        ASSERT_EQ(Relayout::permute(to_shape(source), *found), relayout);
      } while (std::ranges::next_permutation(perm).found);
    }
}

/// The position in an operand that broadcasts to `sizes`, for each position of `sizes`. The operand
/// has the same rank, and 1 or the same size in each dim.
PositionMap broadcast_map(const Sizes& operand, const Sizes& sizes) {
  PositionMap map;
  for (int64_t p = 0; p < count_of(sizes); ++p) {
    Sizes digits = digits_at(p, sizes);
    for (size_t i = 0; i < sizes.size(); ++i)
      if (operand[i] == 1) digits[i] = 0;
    map.push_back(position_at(digits, operand));
  }
  return map;
}

/// Each way to make some of the dims 1.
std::vector<Sizes> broadcast_operands(const Sizes& sizes) {
  std::set<Sizes> result;
  for (unsigned mask = 0; mask < 1u << sizes.size(); ++mask) {
    Sizes operand = sizes;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (mask >> i & 1) operand[i] = 1;
    result.insert(operand);
  }
  return {result.begin(), result.end()};
}

// Broadcasting, then the relayout, gives what the operand's relayout, then broadcasting, gives; and
// where there is no operand's relayout, no digit permutation to any shape does it.
TEST(RelayoutLaws, BroadcastCommutesWithRelayout) {
  for (const int64_t count : {1, 2, 4, 6, 8, 12})
    for_each_relayout(
        count, 3,
        [&](const Relayout& relayout, const PositionMap& map, const Sizes& source,
            const Sizes& target) {
          for (const Sizes& operand : broadcast_operands(source)) {
            const PositionMap in_source = broadcast_map(operand, source);
            // The operand element wanted at each target position.
            PositionMap wanted(map.size());
            for (int64_t p = 0; p < count; ++p) wanted[map[p]] = in_source[p];

            const auto works = [&](const PositionMap& operand_map, const Sizes& moved) {
              const PositionMap in_target = broadcast_map(moved, target);
              for (int64_t q = 0; q < count; ++q)
                if (operand_map[wanted[q]] != in_target[q]) return false;
              return true;
            };
            const auto found = relayout.for_broadcast(to_shape(operand));
            if (found) {
              ASSERT_EQ(found->source(), to_shape(operand));
              ASSERT_TRUE(works(map_of(*found), static_dims(found->target())))
                  << to_string(relayout) << " operand " << to_string(to_shape(operand));
              continue;
            }
            for (const Sizes& moved : broadcast_operands(target)) {
              if (count_of(moved) != count_of(operand)) continue;
              for (const auto& [operand_map, movement] : all_movements(count_of(operand)))
                ASSERT_FALSE(works(operand_map, moved))
                    << to_string(relayout) << " operand " << to_string(to_shape(operand));
            }
          }
        });
}

TEST(RelayoutLaws, BroadcastAlignsToTheRight) {
  const Relayout nhwc = Relayout::permute({2, 3, 4, 5}, std::vector{0, 2, 3, 1});
  EXPECT_EQ(nhwc.for_broadcast({1, 3, 1, 1}), Relayout::view({1, 3, 1, 1}, {1, 1, 1, 3}));
  EXPECT_EQ(nhwc.for_broadcast({5}), Relayout::view({5}, {1, 1, 5, 1}));
  EXPECT_EQ(nhwc.for_broadcast({}), Relayout::view({}, {1, 1, 1, 1}));
  EXPECT_EQ(nhwc.for_broadcast({3, 1, 5}),
            Relayout::permute({3, 1, 5}, std::vector{1, 2, 0}).with_target({1, 1, 5, 3}));
  EXPECT_EQ(nhwc.for_broadcast({2, 3, 4, 5}), nhwc);
  const Relayout flatten = Relayout::view({3, 4}, {12});
  EXPECT_EQ(flatten.for_broadcast({3, 1}), std::nullopt);
  EXPECT_EQ(flatten.for_broadcast({1, 1}), Relayout::view({1, 1}, {1}));
  EXPECT_THROW(nhwc.for_broadcast({7}), InternalError);
  EXPECT_THROW(nhwc.for_broadcast({1, 1, 1, 1, 1}), InternalError);
}

void expect_apply_follows_map(const Relayout& relayout, size_t element_size) {
  const int64_t count = element_count(relayout.source()).value();
  // One byte of offset: weights in a file need not be aligned to their type.
  std::vector<std::byte> in(count * element_size + 1), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = std::byte((i * 2654435761u) >> 13);
  const auto source = std::span(in).subspan(1);
  const auto target = std::span(out).subspan(1);
  apply(relayout, source, target, element_size);
  for (int64_t p = 0; p < count; ++p)
    ASSERT_EQ(std::memcmp(&source[p * element_size],
                          &target[relayout.map_position(p) * element_size], element_size),
              0)
        << to_string(relayout) << " element size " << element_size << " position " << p;
}

TEST(RelayoutLaws, ApplyFollowsThePositionMap) {
  for (const size_t element_size : {1, 2, 3, 4, 8, 16, 24})
    for (int64_t count = 1; count <= 30; ++count)
      for (const auto& [map, relayout] : all_movements(count))
        expect_apply_follows_map(relayout, element_size);
}

TEST(RelayoutLaws, ApplyFollowsThePositionMapThroughEveryTile) {
  const std::vector<std::pair<Shape, Permutation>> permutes = {
      {{37, 53}, {1, 0}},      {{128, 64}, {1, 0}},       {{3, 300, 9}, {0, 2, 1}},
      {{2, 3, 49}, {0, 2, 1}}, {{70, 3, 66}, {2, 1, 0}},  {{5, 2, 2, 7, 17}, {0, 3, 1, 4, 2}},
      {{300, 5}, {1, 0}},      {{65, 130, 2}, {1, 0, 2}}, {{16, 1, 16}, {2, 1, 0}}};
  for (const auto& [shape, perm] : permutes)
    for (const size_t element_size : {1, 2, 4, 8, 16, 5})
      expect_apply_follows_map(Relayout::permute(shape, perm), element_size);
}

TEST(RelayoutLaws, ApplyChecksItsSpans) {
  std::vector<std::byte> bytes(24);
  const Relayout relayout = Relayout::permute({2, 3}, std::vector{1, 0});
  EXPECT_THROW(apply(relayout, bytes, std::span(bytes).first(20), 4), InternalError);
  EXPECT_THROW(apply(relayout, bytes, bytes, 2), InternalError);
}

// An empty tensor has no positions: every relayout of it is a view.
TEST(RelayoutLaws, EmptyTensorsDoNotMove) {
  const Relayout relayout = Relayout::permute({0, 3, 4}, std::vector{2, 0, 1});
  EXPECT_TRUE(relayout.is_view());
  EXPECT_EQ(relayout, Relayout::view({0, 3, 4}, {4, 0, 3}));
  EXPECT_EQ(relayout.inverse(), Relayout::view({4, 0, 3}, {0, 3, 4}));
  EXPECT_EQ(relayout.then(relayout.inverse()), Relayout::identity({0, 3, 4}));
  EXPECT_EQ(relayout.as_permutation(), (Permutation{2, 0, 1}));
  EXPECT_EQ(relayout.target_axis(1), 2);
  EXPECT_EQ(Relayout::permute({0, 3, 3}, std::vector{1, 2, 0}).target_axis(1), std::nullopt);
  EXPECT_EQ(Relayout::view({0, 3}, {0, 7}).as_permutation(), std::nullopt);
  EXPECT_EQ(relayout.for_broadcast({3, 1}), Relayout::view({3, 1}, {1, 1, 3}));
  EXPECT_EQ(Relayout::view({0, 3}, {0}).for_broadcast({3}), std::nullopt);
  EXPECT_EQ(relayout.as_transpose().dims, Shape{0});
  EXPECT_EQ(parse_relayout(to_string(relayout)), relayout);
  EXPECT_EQ(Relayout::permute({0, s1}, std::vector{1, 0}), Relayout::view({0, s1}, {s1, 0}));
  apply(relayout, {}, {}, 4);
}

TEST(RelayoutLaws, TextRoundTrips) {
  const std::vector<std::string> canonical = {
      "[1,3,4,5] (3,20)->(1,0) [1,4,5,3]",
      "[1,8,5,6] (2,2,2,5,6)->(0,3,1,4,2) [1,2,10,12]",
      "[2,3] -> [6]",
      "[] -> [1,1]",
      "[0,3] -> [3,0]",
      "[s1,4,s2] (4*s1,s2)->(1,0) [s2,s1,4]",
  };
  for (const std::string& text : canonical) EXPECT_EQ(to_string(parse_relayout(text)), text);
  EXPECT_EQ(to_string(parse_relayout("[2,3,4](1,2,3,2,2)->( 3,4, 0,1,2 )[4,6]")),
            "[2,3,4] (6,4)->(1,0) [4,6]");
  for (int64_t count = 1; count <= 24; ++count)
    for (const auto& [map, relayout] : all_movements(count))
      EXPECT_EQ(parse_relayout(to_string(relayout)), relayout);
  for (const char* text :
       {"", "[2]", "[2] ->", "[2] -> [3]", "[6] (2,3)->(0,0) [6]", "[6] (2,3)->(0) [6]",
        "[6] (2,3)->(0,2) [6]", "[6] (2,2)->(1,0) [6]", "[6] (2,3) [6]", "[6] -> [6] x",
        "[6] (2,3)->(s1,0) [6]", "[6] (2,3)->(1,0", "[6] (2,3)->(1,99999999999) [6]"})
    EXPECT_THROW(parse_relayout(text), UserError) << text;
}

// The examples of docs/layout.md.
TEST(WorkedExamples, AreTrue) {
  EXPECT_EQ(to_string(Relayout::permute({1, 3, 4, 5}, std::vector{0, 2, 3, 1})),
            "[1,3,4,5] (3,20)->(1,0) [1,4,5,3]");
  EXPECT_EQ(to_string(Relayout::permute({1, 7, 1, 9}, std::vector{2, 1, 0, 3})),
            "[1,7,1,9] -> [1,7,1,9]");
  EXPECT_EQ(
      to_string(Relayout::view({1, 8, 5, 6}, {1, 2, 2, 2, 5, 6})
                    .then(Relayout::permute({1, 2, 2, 2, 5, 6}, std::vector{0, 1, 4, 2, 5, 3}))
                    ->with_target({1, 2, 10, 12})),
      "[1,8,5,6] (2,2,2,5,6)->(0,3,1,4,2) [1,2,10,12]");

  const Relayout nhwc = parse_relayout("[1,6,4,4] (6,16)->(1,0) [1,4,4,6]");
  const Relayout shuffle = parse_relayout("[1,4,4,6] (16,2,3)->(0,2,1) [1,4,4,6]");
  EXPECT_EQ(to_string(nhwc.then(shuffle).value()), "[1,6,4,4] (2,3,16)->(2,1,0) [1,4,4,6]");

  const Relayout a = parse_relayout("[2,3] (2,3)->(1,0) [3,2]");
  const Relayout b = parse_relayout("[3,2] (2,3)->(1,0) [3,2]");
  EXPECT_EQ(compose(map_of(a), map_of(b)), (PositionMap{0, 4, 3, 2, 1, 5}));
  EXPECT_EQ(a.then(b), std::nullopt);

  const Relayout merged = parse_relayout("[3,4,5] (3,20)->(1,0) [20,3]");
  EXPECT_EQ(merged.target_axis(0), 1);
  EXPECT_EQ(merged.target_axis(1), std::nullopt);
  EXPECT_EQ(merged.target_axis(2), std::nullopt);
}

TEST(SymbolicRelayout, PermutesComposeAndCancel) {
  const Relayout there = Relayout::permute({s1, 4, s2}, std::vector{2, 0, 1});
  EXPECT_EQ(to_string(there), "[s1,4,s2] (4*s1,s2)->(1,0) [s2,s1,4]");
  EXPECT_TRUE(there.then(there.inverse())->is_identity());
  const auto twice = there.then(Relayout::permute({s2, s1, 4}, std::vector{2, 0, 1}));
  EXPECT_EQ(twice, Relayout::permute({s1, 4, s2}, std::vector{1, 2, 0}));
  EXPECT_EQ(there.target_axis(0), 1);
  EXPECT_EQ(there.target_axis(2), 0);
  EXPECT_EQ(there.as_permutation(), (Permutation{2, 0, 1}));
  EXPECT_EQ(there.for_broadcast({4, 1}), Relayout::view({4, 1}, {1, 1, 4}));
  EXPECT_EQ(there.for_broadcast({s1, 1, s2}), Relayout::permute({s1, 1, s2}, std::vector{2, 0, 1}));
}

TEST(SymbolicRelayout, FactorsOnlyWhereTheArithmeticIsProved) {
  // 2*s1 splits by 2, on either side.
  const Relayout transpose = Relayout::permute({s2, s1 * 2}, std::vector{1, 0});
  const Relayout split_outer = Relayout::view({s1 * 2, s2}, {2, s1, s2})
                                   .then(Relayout::permute({2, s1, s2}, std::vector{1, 0, 2}))
                                   .value();
  const auto both = transpose.then(split_outer);
  ASSERT_TRUE(both);
  EXPECT_EQ(*both, Relayout::from_factors({s2, s1 * 2}, {s2, 2, s1}, {2, 1, 0}, {s1, 2, s2}));

  // s1 alone does not split, nor do distinct symbols divide each other.
  const Relayout plain = Relayout::permute({s1, s2}, std::vector{1, 0});
  EXPECT_EQ(plain.then(Relayout::permute({s2, s1}, std::vector{1, 0})),
            Relayout::identity({s1, s2}));
  const Relayout other = Relayout::from_factors({s2, s1}, {s1, s2}, {1, 0}, {s2, s1});
  EXPECT_EQ(plain.then(other), std::nullopt);
  EXPECT_THROW(Relayout::view({s1}, {2, s1}), InternalError);
  EXPECT_THROW(Relayout::view({s1, 2}, {s2, 2}), InternalError);

  // Equal symbols are one size: [s1,s1] transposed twice is the identity.
  const Relayout square = Relayout::permute({s1, s1}, std::vector{1, 0});
  EXPECT_FALSE(square.is_view());
  EXPECT_TRUE(square.then(square)->is_identity());
}

TEST(SymbolicRelayout, AttentionHeadsMergeAndSplit) {
  // [batch, tokens, heads*depth] to heads and back.
  const Relayout heads = Relayout::view({s1, s2, 192}, {s1, s2, 3, 64})
                             .then(Relayout::permute({s1, s2, 3, 64}, std::vector{0, 2, 1, 3}))
                             .value();
  EXPECT_EQ(to_string(heads), "[s1,s2,192] (s1,s2,3,64)->(0,2,1,3) [s1,3,s2,64]");
  EXPECT_TRUE(heads.then(heads.inverse())->is_identity());
  EXPECT_EQ(heads.target_axis(0), 0);
  EXPECT_EQ(heads.target_axis(1), 2);
  EXPECT_EQ(heads.target_axis(2), std::nullopt);
}

/// Replaces each symbol by a number, as at run time.
Relayout specialise(const Relayout& relayout, const std::map<SymbolId, int64_t>& values) {
  const auto specialise_dims = [&](const Dims& dims) {
    Dims result;
    for (const Dim dim : dims) {
      Dim size = dim.coefficient();
      for (const SymbolId id : dim.symbols()) size = size * values.at(id);
      result.push_back(size);
    }
    return result;
  };
  return Relayout::from_factors(specialise_dims(relayout.source()),
                                specialise_dims(relayout.factors()), relayout.order(),
                                specialise_dims(relayout.target()));
}

// What is proved for symbols holds for every value of them, 0 and 1 included.
TEST(SymbolicRelayout, SpecialisationCommutesWithComposition) {
  const Shape shape = {s1, 4, s2, s3};
  const std::vector<std::map<SymbolId, int64_t>> values = {{{1, 1}, {2, 1}, {3, 1}},
                                                           {{1, 2}, {2, 3}, {3, 4}},
                                                           {{1, 4}, {2, 1}, {3, 4}},
                                                           {{1, 0}, {2, 3}, {3, 2}},
                                                           {{1, 5}, {2, 5}, {3, 5}}};
  Permutation p = first_permutation(4);
  do {
    const Relayout first = Relayout::permute(shape, p);
    Permutation q = first_permutation(4);
    do {
      const Relayout second = Relayout::permute(first.target(), q);
      const auto both = first.then(second);
      ASSERT_TRUE(both);
      for (const auto& value : values)
        ASSERT_EQ(specialise(first, value).then(specialise(second, value)),
                  specialise(*both, value));
    } while (std::ranges::next_permutation(q).found);
  } while (std::ranges::next_permutation(p).found);
}

/// From the whole range at once: rapidcheck's own sizes grow slowly from empty cases.
int64_t random_between(int64_t low, int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int64_t>(low, high + 1));
}

Sizes random_sizes() {
  Sizes sizes(random_between(0, 6));
  for (int64_t& size : sizes) size = random_between(1, 5);
  return sizes;
}

Permutation random_permutation(size_t size) {
  Permutation order = first_permutation(size);
  for (int64_t i = std::ssize(order) - 1; i > 0; --i)
    std::swap(order[i], order[random_between(0, i)]);
  return order;
}

/// A movement on `shape` that need not respect its dims: they are merged and cut at random.
Relayout random_relayout(const Shape& shape) {
  Dims factors;
  for (int64_t rest = element_count(shape).value(); rest > 1;) {
    int64_t factor = random_between(2, std::min<int64_t>(rest, 12));
    while (rest % factor != 0) ++factor;
    factors.push_back(factor);
    rest /= factor;
  }
  const Permutation order = random_permutation(factors.size());
  return Relayout::from_factors(shape, factors, order, shape);
}

RC_GTEST_PROP(RandomRelayouts, PermutesOfOneShapeCompose, ()) {
  const Sizes sizes = random_sizes();
  const auto p = random_permutation(sizes.size());
  const auto q = random_permutation(sizes.size());
  const Relayout first = Relayout::permute(to_shape(sizes), p);
  const Relayout second = Relayout::permute(first.target(), q);
  Permutation both;
  for (const int axis : q) both.push_back(p[axis]);
  RC_ASSERT(first.then(second) == Relayout::permute(to_shape(sizes), both));
  RC_ASSERT(map_of(first) == permuted_digits(sizes, p));
}

RC_GTEST_PROP(RandomRelayouts, CompositionFollowsPositions, ()) {
  const Shape shape = to_shape(random_sizes());
  const Relayout first = random_relayout(shape);
  const Relayout second = random_relayout(shape);
  if (const auto both = first.then(second))
    RC_ASSERT(map_of(*both) == compose(map_of(first), map_of(second)));
  RC_ASSERT(first.then(first.inverse()) == Relayout::identity(shape));
  RC_ASSERT(parse_relayout(to_string(first)) == first);
}

RC_GTEST_PROP(RandomRelayouts, BroadcastCommutes, ()) {
  const Sizes source = random_sizes();
  const auto perm = random_permutation(source.size());
  const Relayout relayout = Relayout::permute(to_shape(source), perm);
  Sizes operand = source;
  for (int64_t& size : operand)
    if (random_between(0, 1) == 1) size = 1;
  const auto moved = relayout.for_broadcast(to_shape(operand));
  RC_ASSERT(moved == Relayout::permute(to_shape(operand), perm));
}

}  // namespace
}  // namespace layline
