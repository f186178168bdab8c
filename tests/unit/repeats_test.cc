#include "report/repeats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "../seeds.h"

namespace layline {
namespace {

PictureNode node(std::string op, std::vector<size_t> inputs) {
  PictureNode made;
  made.op = std::move(op);
  made.inputs = std::move(inputs);
  return made;
}

Picture with_an_input() { return {"forward", {node("input", {})}}; }

/// What a node reads, told from the first two blocks as the header says.
std::vector<size_t> expanded_inputs(const Picture& picture, const Repeat& repeat, size_t block,
                                    size_t place) {
  const std::vector<size_t>& first = picture.nodes[repeat.first + place].inputs;
  const std::vector<size_t>& second = picture.nodes[repeat.first + repeat.period + place].inputs;
  std::vector<size_t> inputs;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] >= repeat.first) {
      inputs.push_back(first[i] + block * repeat.period);
    } else if (second[i] >= repeat.first) {
      inputs.push_back(block == 0 ? first[i] : second[i] + (block - 1) * repeat.period);
    } else {
      const auto step = static_cast<int64_t>(second[i]) - static_cast<int64_t>(first[i]);
      inputs.push_back(
          static_cast<size_t>(static_cast<int64_t>(first[i]) + step * static_cast<int64_t>(block)));
    }
  }
  return inputs;
}

/// The blocks of a repeat are what its first blocks say, all of them.
void expect_expands(const Picture& picture, const Repeat& repeat) {
  ASSERT_GE(repeat.count, kLeastRepeats);
  ASSERT_GE((repeat.count - 1) * repeat.period, kLeastRepeatedNodes);
  ASSERT_LE(repeat.first + repeat.count * repeat.period, picture.nodes.size());
  for (size_t block = 0; block < repeat.count; ++block)
    for (size_t place = 0; place < repeat.period; ++place) {
      const size_t at = repeat.first + block * repeat.period + place;
      EXPECT_EQ(picture.nodes[at].op, picture.nodes[repeat.first + place].op) << at;
      EXPECT_EQ(picture.nodes[at].type, picture.nodes[repeat.first + place].type) << at;
      EXPECT_EQ(picture.nodes[at].inputs, expanded_inputs(picture, repeat, block, place)) << at;
    }
}

/// Repeats lie apart, or one lies within a block of the other, which is found before it.
void expect_nested(const std::vector<Repeat>& repeats) {
  for (size_t inner = 0; inner < repeats.size(); ++inner)
    for (size_t outer = 0; outer < inner; ++outer) {
      const Repeat &a = repeats[outer], &b = repeats[inner];
      const size_t a_end = a.first + a.period * a.count, b_end = b.first + b.period * b.count;
      if (b.first >= a_end || b_end <= a.first) continue;
      ASSERT_GE(b.first, a.first);
      EXPECT_EQ((b.first - a.first) / a.period, (b_end - 1 - a.first) / a.period);
    }
}

TEST(Repeats, StepsThatCarryAStateAndReadASharedValue) {
  Picture picture = with_an_input();  // 0
  picture.nodes.push_back(node("zeros", {}));
  constexpr size_t kSteps = 10;
  size_t state = 1;
  for (size_t step = 0; step < kSteps; ++step) {
    const size_t at = picture.nodes.size();
    picture.nodes.push_back(node("slice", {0}));
    picture.nodes.push_back(node("add", {at, state}));
    picture.nodes.push_back(node("tanh", {at + 1}));
    state = at + 2;
  }
  picture.nodes.push_back(node("output", {state}));
  const std::vector<Repeat> repeats = find_repeats(picture);
  ASSERT_EQ(repeats.size(), 1u);
  EXPECT_EQ(repeats[0].first, 2u);
  EXPECT_EQ(repeats[0].period, 3u);
  EXPECT_EQ(repeats[0].count, kSteps);
}

TEST(Repeats, ModulesMayDifferInTheirNumbersOnly) {
  const auto layers = [](auto module_of) {
    Picture picture = with_an_input();
    for (size_t layer = 0; layer < 4; ++layer)
      for (size_t i = 0; i < 8; ++i) {
        PictureNode made = node(fmt::format("op{}", i), {picture.nodes.size() - 1});
        made.module = module_of(layer);
        picture.nodes.push_back(made);
      }
    return picture;
  };
  const auto numbered =
      layers([](size_t layer) { return fmt::format("blocks.{}.mlp", layer + 8); });
  ASSERT_EQ(find_repeats(numbered).size(), 1u);
  EXPECT_EQ(find_repeats(numbered)[0].count, 4u);
  const auto named = layers([](size_t layer) { return fmt::format("{}", "abcd"[layer]); });
  EXPECT_TRUE(find_repeats(named).empty());
}

TEST(Repeats, AnInputThatIsReadElsewhereEndsThem) {
  Picture picture = with_an_input();
  for (size_t i = 0; i < 60; ++i) picture.nodes.push_back(node("abs", {i}));
  picture.nodes[40].inputs = {7};
  const std::vector<Repeat> repeats = find_repeats(picture);
  ASSERT_FALSE(repeats.empty());
  EXPECT_EQ(repeats[0].count * repeats[0].period, 39u);
  for (const Repeat& repeat : repeats) expect_expands(picture, repeat);
}

TEST(Repeats, FewNodesAreDrawnAsTheyAre) {
  Picture picture = with_an_input();
  for (size_t i = 0; i <= kLeastRepeatedNodes - 1; ++i) picture.nodes.push_back(node("abs", {i}));
  EXPECT_TRUE(find_repeats(picture).empty());
  picture.nodes.push_back(node("abs", {kLeastRepeatedNodes}));
  EXPECT_EQ(find_repeats(picture).size(), 1u);
  Picture inputs;
  for (size_t i = 0; i < 100; ++i) inputs.nodes.push_back(node("input", {}));
  EXPECT_TRUE(find_repeats(inputs).empty());
}

/// Random pictures: stretches of random nodes, and blocks that are planted between them, whose
/// nodes read their own block, the block before, a list outside, or one node outside. Within a
/// block there may be blocks again, since ops are few.
class RandomPicture {
 public:
  explicit RandomPicture(uint32_t seed) : random_(seed) {
    picture_ = with_an_input();
    for (size_t stretch = below(4) + 1; stretch > 0; --stretch) {
      for (size_t i = below(20); i > 0; --i) picture_.nodes.push_back(random_node());
      plant(below(8) + 1, below(12) + 1);
    }
  }

  const Picture& picture() const { return picture_; }

 private:
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }
  size_t any() { return below(picture_.nodes.size()); }
  PictureNode random_node() {
    PictureNode made = node(fmt::format("op{}", below(3)), {any()});
    if (below(2) == 0) made.inputs.push_back(any());
    return made;
  }

  void plant(size_t period, size_t count) {
    const size_t first = picture_.nodes.size();
    for (size_t place = 0; place < period; ++place) picture_.nodes.push_back(random_node());
    std::vector<std::vector<int64_t>> steps(period);
    for (size_t place = 0; place < period; ++place)
      for (const size_t input : picture_.nodes[first + place].inputs)
        steps[place].push_back(input >= first ? static_cast<int64_t>(period)
                                              : -static_cast<int64_t>(below(2)));
    std::vector<std::vector<size_t>> carried(period);
    for (size_t place = 0; place < period; ++place)
      for (size_t i = 0; i < steps[place].size(); ++i)
        carried[place].push_back(below(3) == 0 ? below(period) : period);
    for (size_t block = 1; block < count; ++block)
      for (size_t place = 0; place < period; ++place) {
        PictureNode made = picture_.nodes[first + place];
        for (size_t i = 0; i < made.inputs.size(); ++i) {
          const bool is_outside = made.inputs[i] < first;
          const auto moved =
              static_cast<int64_t>(made.inputs[i]) + steps[place][i] * static_cast<int64_t>(block);
          made.inputs[i] = is_outside && carried[place][i] < period
                               ? first + (block - 1) * period + carried[place][i]
                               : static_cast<size_t>(std::max<int64_t>(moved, 0));
        }
        picture_.nodes.push_back(made);
      }
  }

  std::mt19937 random_;
  Picture picture_;
};

TEST(Repeats, ExpandToThePictureTheyAreIn) {
  size_t found = 0;
  const uint32_t first = first_seed();
  for (uint32_t seed = first; seed < first + graph_count(500); ++seed) {
    SCOPED_TRACE(fmt::format("LAYLINE_SEED={}", seed));
    const RandomPicture random(seed);
    const std::vector<Repeat> repeats = find_repeats(random.picture());
    for (const Repeat& repeat : repeats) expect_expands(random.picture(), repeat);
    expect_nested(repeats);
    found += repeats.size();
    if (HasFailure()) return;
  }
  EXPECT_GT(found, graph_count(500) / 4);
}

/// Every block that is told apart from what is around it is found as it was planted.
TEST(Repeats, AreFoundWhereverTheyAre) {
  for (size_t period = 1; period < 30; ++period)
    for (const size_t before : {0, 1, 17}) {
      const size_t count = std::max(kLeastRepeats, kLeastRepeatedNodes / period + 2);
      Picture picture = with_an_input();
      for (size_t i = 0; i < before; ++i)
        picture.nodes.push_back(node(fmt::format("before{}", i), {}));
      const size_t first = picture.nodes.size();
      for (size_t block = 0; block < count; ++block)
        for (size_t place = 0; place < period; ++place)
          picture.nodes.push_back(node(fmt::format("op{}", place), {picture.nodes.size() - 1}));
      picture.nodes.push_back(node("output", {picture.nodes.size() - 1}));
      const std::vector<Repeat> repeats = find_repeats(picture);
      ASSERT_EQ(repeats.size(), 1u) << period;
      EXPECT_EQ(repeats[0].first, first);
      EXPECT_EQ(repeats[0].period, period);
      EXPECT_EQ(repeats[0].count, count);
    }
}

}  // namespace
}  // namespace layline
