// Elimination against trying everything.
#include "layout/solve/elimination.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "layout/solve/shift_costs.h"
#include "random_op.h"

namespace layline {
namespace {

using Numbers = std::vector<size_t>;

Energy random_energy(Random& random, int64_t most_variables = 7, int64_t most_choices = 4) {
  Energy energy;
  const int64_t variables = random.between(1, most_variables);
  for (int64_t i = 0; i < variables; ++i)
    energy.domain.push_back(static_cast<size_t>(random.between(1, most_choices)));
  const int64_t tables = random.between(0, 9);
  const int64_t greatest = random.chance(2) ? 2 : 9;  // ties are likely where costs are few
  for (int64_t t = 0; t < tables; ++t) {
    std::vector<size_t> scope(energy.domain.size());
    std::iota(scope.begin(), scope.end(), size_t{0});
    random.shuffle(scope);
    scope.resize(static_cast<size_t>(random.between(0, std::min<int64_t>(4, variables))));
    size_t entries = 1;
    for (size_t variable : scope) entries *= energy.domain[variable];
    Table table{scope, {}};
    for (size_t i = 0; i < entries; ++i)
      table.entries.push_back(Cost{random.between(0, greatest), random.between(0, 1),
                                   random.between(0, 1), random.between(0, 1)});
    energy.tables.push_back(std::move(table));
  }
  return energy;
}

/// Calls `visit` with every choice of every variable.
template <typename Visit>
void for_all_choices(const Energy& energy, Visit visit) {
  std::vector<size_t> choice(energy.domain.size(), 0);
  while (true) {
    visit(choice);
    size_t i = 0;
    while (i < choice.size() && ++choice[i] == energy.domain[i]) choice[i++] = 0;
    if (i == choice.size()) return;
  }
}

Cost least_cost(const Energy& energy) {
  Cost least = Cost::forbidden();
  for_all_choices(energy, [&](const std::vector<size_t>& choice) {
    least = std::min(least, cost_of(energy, choice));
  });
  return least;
}

TEST(Elimination, IsExactWhileTablesFit) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Energy energy = random_energy(random);
    const Minimum minimum = minimise(energy);
    ASSERT_EQ(minimum.cost, cost_of(energy, minimum.choice));
    ASSERT_EQ(minimum.cost, least_cost(energy));
    ASSERT_TRUE(minimum.exact());
  }
}

TEST(Elimination, TablesAreLongerThanWhatIsAddedUpAtATime) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Energy energy = random_energy(random, 4, 16);
    const Minimum minimum = minimise(energy);
    ASSERT_EQ(minimum.cost, least_cost(energy));
    ASSERT_TRUE(minimum.exact());
  }
}

TEST(Elimination, MoreTiesThanCanBeCountedAreRefused) {
  Energy energy{{2}, {{{0}, {Cost{0, 0, 2'000'000}, Cost{1}}}}};
  EXPECT_EQ(minimise(energy).cost, (Cost{0, 0, 2'000'000}));
  energy.tables.push_back(energy.tables[0]);
  EXPECT_THROW(minimise(energy), UserError);
}

/// Minimises random energies within limits, `within(energy)` for each: what is found and what is
/// said to be needed at least are on either side of the least cost, which is sometimes reached.
template <typename Within>
void expect_bounds(Within within) {
  int exact = 0, inexact = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Energy energy = random_energy(random);
    const Cost least = least_cost(energy);
    for (const Minimum& minimum : within(energy)) {
      ASSERT_EQ(minimum.cost, cost_of(energy, minimum.choice));
      ASSERT_LE(minimum.bound.time_ps, least.time_ps);
      ASSERT_LE(minimum.bound, least);
      ASSERT_LE(least, minimum.cost);
      ++(minimum.exact() ? exact : inexact);
    }
  }
  EXPECT_GT(exact, 0);
  EXPECT_GT(inexact, 0);
}

TEST(Elimination, BoundsTheMinimumWhereTablesDoNotFit) {
  expect_bounds([](const Energy& energy) {
    return std::array{minimise(energy, 1), minimise(energy, 4), minimise(energy, 16)};
  });
}

TEST(Elimination, BoundsTheMinimumWhereThereIsNoWorkLeft) {
  constexpr size_t kEnough = size_t{1} << 16;
  expect_bounds([](const Energy& energy) {
    const size_t whole = minimise(energy).work;
    EXPECT_TRUE(minimise(energy, kEnough, whole).exact());
    return std::array{minimise(energy, kEnough, 0), minimise(energy, kEnough, whole / 2)};
  });
}

TEST(Elimination, PruningKeepsWhateverIsCheaperThanTheLimit) {
  int smaller = 0, empty = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Energy energy = random_energy(random);
    const Cost limit{random.between(0, 12), random.between(0, 3), 0, 0};
    const Pruned pruned = prune(energy, limit);
    for_all_choices(energy, [&](const std::vector<size_t>& choice) {
      if (cost_of(energy, choice).price() >= limit.price()) return;
      ASSERT_FALSE(pruned.empty);
      for (size_t v = 0; v < choice.size(); ++v)
        ASSERT_NE(std::ranges::find(pruned.left[v], choice[v]), pruned.left[v].end());
    });
    empty += pruned.empty;
    if (pruned.empty) continue;
    smaller += pruned.energy.domain != energy.domain;
    for_all_choices(pruned.energy, [&](std::vector<size_t> choice) {
      const Cost cost = cost_of(pruned.energy, choice);
      for (size_t v = 0; v < choice.size(); ++v) choice[v] = pruned.left[v][choice[v]];
      ASSERT_EQ(cost, cost_of(energy, choice));
    });
  }
  EXPECT_GT(smaller, 0);
  EXPECT_GT(empty, 0);
}

TEST(Elimination, PruningWithoutWorkKeepsEverything) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Energy energy = random_energy(random);
    const Pruned pruned = prune(energy, Cost{}, 0);
    if (energy.tables.empty()) continue;
    EXPECT_EQ(pruned.energy.domain, energy.domain);
    EXPECT_EQ(pruned.work, 0);
    EXPECT_FALSE(pruned.empty);
  }
}

/// What every choice costs at least, by each table for itself.
Cost sum_of_least(const Energy& energy) {
  PackedCost sum;
  for (const Table& table : energy.tables) sum += *std::ranges::min_element(table.entries);
  return sum.unpacked();
}

TEST(ShiftCosts, EveryChoiceCostsWhatItDid) {
  int more = 0, less = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    Energy energy = random_energy(random);
    for (Table& table : energy.tables) {
      for (PackedCost& cost : table.entries) cost.add_time(1'000 * cost.time_ps());
      const auto last = static_cast<int64_t>(table.entries.size()) - 1;
      if (random.chance(4))
        table.entries[static_cast<size_t>(random.between(0, last))] = Cost::forbidden();
    }
    Energy shifted = energy;
    shift_costs(shifted);
    for_all_choices(energy, [&](const std::vector<size_t>& choice) {
      const Cost before = cost_of(energy, choice), after = cost_of(shifted, choice);
      ASSERT_EQ(before.is_forbidden(), after.is_forbidden());
      if (before.is_forbidden()) return;
      ASSERT_EQ(before, after);
    });
    // What is rounded may be lost.
    more += sum_of_least(shifted).time_ps > sum_of_least(energy).time_ps + 100;
    const bool pairs = std::ranges::all_of(
        energy.tables, [](const Table& table) { return table.scope.size() <= 2; });
    less += pairs && sum_of_least(shifted).time_ps < sum_of_least(energy).time_ps - 100;
  }
  EXPECT_GT(more, 400);
  EXPECT_LT(less, more / 10);
}

TEST(ShiftCosts, AChainSaysAllByItself) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    Energy energy;
    for (int i = 0; i < 6; ++i) energy.domain.push_back(static_cast<size_t>(random.between(1, 4)));
    for (size_t i = 0; i + 1 < 6; ++i) {
      Table table{{i, i + 1}, {}};
      for (size_t entry = energy.domain[i] * energy.domain[i + 1]; entry > 0; --entry)
        table.entries.push_back(Cost{random.between(0, 9)});
      energy.tables.push_back(std::move(table));
    }
    const Cost least = least_cost(energy);
    shift_costs(energy);
    ASSERT_EQ(sum_of_least(energy), least);
    ASSERT_TRUE(prune(energy, least).empty);
  }
}

TEST(PackedCost, IsACost) {
  Random random(1);
  const auto any = [&] {
    return Cost{random.between(0, 3), random.between(0, 3), random.between(0, 3),
                random.between(0, 3)};
  };
  for (int i = 0; i < 10'000; ++i) {
    const Cost a = any(), b = any(), c = any();
    ASSERT_EQ(PackedCost(a).unpacked(), a);
    ASSERT_EQ((PackedCost(a) + b).unpacked(), a + b);
    ASSERT_EQ(PackedCost(a) < PackedCost(b), a < b);
    ASSERT_EQ(PackedCost(a).price() < PackedCost(b).price(), a.price() < b.price());
    ASSERT_EQ((PackedCost(a) + b + (PackedCost(c) - b)).unpacked(), a + c);
    // What may still be paid: less time, but fewer permutes than none.
    const Cost left{5, -random.between(1, 3)};
    ASSERT_EQ(PackedCost(a).price() < PackedCost(left).price(), a.price() < left.price());
  }
  EXPECT_EQ((PackedCost(Cost::forbidden()) + Cost{1} + Cost::forbidden()).unpacked().time_ps,
            Cost::kForbiddenTime);
}

/// Entries that are looked at: those of the tables that are made, for each choice of what is
/// eliminated.
TEST(Elimination, WorkIsCounted) {
  const auto zeros = [](size_t count) { return std::vector<PackedCost>(count); };
  const Energy chain{{2, 3, 4}, {{{0, 1}, zeros(6)}, {{1, 2}, zeros(12)}}};
  EXPECT_EQ(minimise(chain).work, 3u * 2 + 4 * 3 + 1 * 4);
  EXPECT_EQ(minimise({{5}, {}}).work, 0u);
  // Whoever has the fewest neighbours at the time goes first: 0, then 4 and 5, which have three,
  // and not 1, which has four by then.
  Energy both_sides{{2, 2, 2, 2, 2, 2}, {}};
  for (const size_t a : {0, 4, 5})
    for (const size_t b : {1, 2, 3}) both_sides.tables.push_back({{a, b}, zeros(4)});
  EXPECT_EQ(minimise(both_sides).work, 3u * 8 * 2 + 4 * 2 + 2 * 2 + 1 * 2);
}

/// Three variables that all want to differ, of two choices each: one pair cannot. That takes a
/// table over all three to see.
Energy triangle() {
  const std::vector<PackedCost> differ = {Cost{1}, Cost{0}, Cost{0}, Cost{1}};
  return {{2, 2, 2}, {{{0, 1}, differ}, {{1, 2}, differ}, {{0, 2}, differ}}};
}

TEST(Elimination, TablesMayBeAsLargeAsTheLimit) {
  const auto bound = [](size_t most_entries, size_t most_work) {
    const Minimum minimum = minimise(triangle(), most_entries, most_work);
    EXPECT_EQ(minimum.cost, (Cost{1}));
    return minimum.bound.time_ps;
  };
  constexpr size_t kEnough = 1000;
  EXPECT_EQ(bound(8, kEnough), 1);
  EXPECT_EQ(bound(7, kEnough), 0);
  // After 8 entries of the first table, the second needs 4.
  EXPECT_EQ(bound(kEnough, 12), 1);
  EXPECT_EQ(bound(kEnough, 11), 0);
  EXPECT_EQ(bound(kEnough, 0), 0);
}

TEST(Elimination, TheFirstOfEquallyCheapChoicesIsTaken) {
  EXPECT_EQ(minimise({{4}, {{{0}, {Cost{2}, Cost{1}, Cost{1}, Cost{1}}}}}).choice, Numbers{1});
  EXPECT_EQ(minimise({{3, 3}, {}}).choice, (Numbers{0, 0}));
}

TEST(Elimination, TiesAreCountedUpToTheMost) {
  constexpr int64_t kMost = 2'097'151;
  for (const Cost& most : {Cost{0, kMost}, Cost{0, 0, kMost}, Cost{0, 0, 0, kMost}}) {
    EXPECT_EQ(minimise({{1}, {{{0}, {most}}}}).cost, most);
    for (const Cost& one : {Cost{0, 1}, Cost{0, 0, 1}, Cost{0, 0, 0, 1}}) {
      const Energy energy{{1}, {{{0}, {most}}, {{0}, {one}}}};
      const bool same =
          std::max({(most + one).permutes, (most + one).views, (most + one).reordered}) > kMost;
      if (same) {
        EXPECT_THROW(minimise(energy), UserError);
        EXPECT_THROW(prune(energy, Cost{9}), UserError);
      } else {
        EXPECT_EQ(minimise(energy).cost, most + one);
      }
    }
  }
}

/// A variable whose choices cost 0, 1, 2..., and what is left of it below a limit.
TEST(Elimination, PruningGoesOnWhileAQuarterGoes) {
  const auto pruned = [](int limit, size_t most_work = 1000) {
    Energy energy{{8}, {{{0}, {}}}};
    for (int i = 0; i < 8; ++i) energy.tables[0].entries.push_back(Cost{i});
    return prune(energy, Cost{limit}, most_work);
  };
  // A look at an entry, and four for moving what it costs.
  constexpr size_t kOnce = 8 * 5;
  EXPECT_EQ(pruned(7).left[0], (Numbers{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(pruned(7).work, kOnce);
  EXPECT_EQ(pruned(6).work, kOnce);  // a quarter is not more than a quarter
  EXPECT_EQ(pruned(6).energy.domain, Numbers{6});
  EXPECT_EQ(pruned(5).work, kOnce + 5 * 5);
  EXPECT_EQ(pruned(5).left[0], (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(pruned(1).work, kOnce + 5);
  EXPECT_FALSE(pruned(1).empty);
  EXPECT_TRUE(pruned(0).empty);
  EXPECT_EQ(pruned(0).work, kOnce);
  EXPECT_EQ(pruned(5, kOnce - 1).work, 0u);
  EXPECT_EQ(pruned(5, kOnce - 1).energy.domain, Numbers{8});
  EXPECT_EQ(pruned(5, kOnce).work, kOnce);
  EXPECT_EQ(pruned(5, kOnce).energy.domain, Numbers{5});
  EXPECT_EQ(pruned(5, kOnce + 24).work, kOnce);
  EXPECT_EQ(pruned(5, kOnce + 25).work, kOnce + 25);
}

/// What is left of a table of two variables are the entries of what is left of both.
TEST(Elimination, PruningKeepsTheEntriesOfWhatIsLeft) {
  Energy energy{{2, 3}, {{{0, 1}, {}}, {{1}, {Cost{9}, Cost{0}, Cost{0}}}}};
  for (int i = 0; i < 6; ++i) energy.tables[0].entries.push_back(Cost{0, 0, i});
  const Pruned pruned = prune(energy, Cost{9}, 8 * 9 + 6 * 5);
  EXPECT_EQ(pruned.left, (std::vector{Numbers{0, 1}, Numbers{1, 2}}));
  for (size_t a = 0; a < 2; ++a)
    for (size_t b = 0; b < 2; ++b)
      EXPECT_EQ(cost_of(pruned.energy, {a, b}), (Cost{0, 0, static_cast<int64_t>(3 * a + b + 1)}));
}

TEST(Elimination, ForbiddenChoicesAreAvoided) {
  // Two variables that must be equal, one of which prefers 0 and the other, less strongly, 1.
  const Cost no = Cost::forbidden();
  const Energy energy{
      {2, 2},
      {{{0}, {Cost{0}, Cost{5}}}, {{1}, {Cost{3}, Cost{0}}}, {{0, 1}, {Cost{0}, no, no, Cost{0}}}}};
  const Minimum minimum = minimise(energy);
  EXPECT_EQ(minimum.choice, (Numbers{0, 0}));
  EXPECT_EQ(minimum.cost, (Cost{3}));
  EXPECT_TRUE(minimum.exact());
}

TEST(Elimination, SumsOfForbiddenCostsDoNotOverflow) {
  const Cost no = Cost::forbidden();
  Energy energy{{2}, {}};
  for (int i = 0; i < 100; ++i) energy.tables.push_back({{0}, {no, Cost{1}}});
  const Minimum minimum = minimise(energy);
  EXPECT_EQ(minimum.choice, (Numbers{1}));
  EXPECT_EQ(minimum.cost, (Cost{100}));
}

TEST(Elimination, NothingToChoose) {
  const Minimum minimum = minimise({{}, {{{}, {Cost{7}}}}});
  EXPECT_EQ(minimum.cost, (Cost{7}));
  EXPECT_TRUE(minimum.exact());
}

TEST(Elimination, LongChainsAreLinear) {
  Energy energy;
  constexpr size_t kLength = 50'000;
  energy.domain.assign(kLength, 3);
  for (size_t i = 0; i + 1 < kLength; ++i) {
    Table table{{i, i + 1}, {}};
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) table.entries.push_back(Cost{a == b ? 0 : 1});
    energy.tables.push_back(std::move(table));
  }
  energy.tables.push_back({{0}, {Cost{0}, Cost{9}, Cost{9}}});
  energy.tables.push_back({{kLength - 1}, {Cost{9}, Cost{0}, Cost{9}}});
  const Minimum minimum = minimise(energy);
  EXPECT_EQ(minimum.cost, (Cost{1}));
  EXPECT_TRUE(minimum.exact());
}

}  // namespace
}  // namespace layline
