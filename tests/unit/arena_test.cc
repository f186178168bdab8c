// Which tensors of a method share their place: those that are never in use together.
#include "pte/arena.h"

#include <gtest/gtest.h>

#include "pte/memory_plan.h"

namespace layline::pte {
namespace {

/// Three kernels, each of which reads what the one before it has written; tensors of 16 bytes.
struct Chain {
  Method method;
  ValueId x = add(Unplanned{}), a = add(PlannedData{}), b = add(PlannedData{}),
          c = add(PlannedData{});
  std::vector<Alias> aliases = {};

  Chain() {
    method.inputs = {x};
    method.outputs = {c};
    for (const auto& [from, to] : {std::pair(x, a), std::pair(a, b), std::pair(b, c)})
      method.instructions.push_back(KernelCall{"aten::abs", "out", {from, to, to}});
  }
  ValueId add(Storage storage) {
    return method.add(
        TensorDesc{ScalarType::kFloat32, {2, 2}, {}, ShapeDynamism::kStatic, storage});
  }
  const PlannedData& place(ValueId id) const {
    return std::get<PlannedData>(
        std::get<TensorDesc>(method.values[static_cast<size_t>(id)]).storage);
  }
  uint64_t offset(ValueId id) const { return place(id).offset; }
  void read_last(ValueId id) { std::get<KernelCall>(method.instructions[2]).args.push_back(id); }
  /// Without the slack behind the last one.
  uint64_t bytes() { return plan_arena(method, aliases).arena_bytes - kOverReadSlack; }
};

TEST(Arena, WhatIsReadForTheLastTimeMakesRoom) {
  Chain chain;
  EXPECT_EQ(chain.bytes(), 32u);
  EXPECT_EQ(chain.method.arena_bytes, std::vector<uint64_t>{32 + kOverReadSlack});
  EXPECT_EQ(chain.offset(chain.a), chain.offset(chain.c));
  EXPECT_NE(chain.offset(chain.a), chain.offset(chain.b));
  EXPECT_TRUE(
      std::holds_alternative<Unplanned>(std::get<TensorDesc>(chain.method.values[0]).storage));
}

TEST(Arena, WhatIsReadLaterDoesNot) {
  Chain chain;
  chain.read_last(chain.a);
  EXPECT_EQ(chain.bytes(), 48u);
  Chain listed;
  listed.read_last(listed.method.add(TensorList{{listed.a}}));
  EXPECT_EQ(listed.bytes(), 48u);
  Chain output;
  output.method.outputs = {output.a, output.c};
  EXPECT_EQ(output.bytes(), 48u);
}

/// The last two kernels run again and again: what they find must still be there.
TEST(Arena, WhatALoopReadsLivesAsLongAsTheLoop) {
  Chain chain;
  chain.method.instructions.push_back(JumpFalse{{chain.method.add(false)}, /*target=*/1});
  EXPECT_EQ(chain.bytes(), 48u);
  Chain inside;
  inside.method.instructions.push_back(JumpFalse{{inside.method.add(false)}, /*target=*/0});
  EXPECT_EQ(inside.bytes(), 48u);  // the output is in use in the whole loop
}

TEST(Arena, InputsLiveFromTheStartAndOutputsToTheEnd) {
  Chain late;  // an input that only the last kernel reads
  const ValueId input = late.add(PlannedData{});
  late.method.inputs.push_back(input);
  late.read_last(input);
  EXPECT_EQ(late.bytes(), 48u);
  Chain early;  // and one that only the first one reads
  early.method.values[0] = early.method.values[1];
  EXPECT_EQ(early.bytes(), 32u);
  EXPECT_EQ(early.offset(early.x), early.offset(early.b));
  Chain unread;  // and one that none reads is there when the first one runs
  unread.method.inputs.push_back(unread.add(PlannedData{}));
  EXPECT_EQ(unread.bytes(), 32u);
}

TEST(Arena, AliasesLiveTogetherInOnePlace) {
  Chain chain;
  const ValueId view = chain.add(PlannedData{}), other = chain.add(PlannedData{});
  chain.aliases = {{view, chain.a}, {other, view}};
  EXPECT_EQ(chain.bytes(), 32u);
  EXPECT_EQ(chain.offset(view), chain.offset(chain.a));
  EXPECT_EQ(chain.offset(other), chain.offset(chain.a));
  chain.read_last(other);
  EXPECT_EQ(chain.bytes(), 48u);
  EXPECT_EQ(chain.offset(other), chain.offset(chain.a));
  EXPECT_NE(chain.offset(chain.c), chain.offset(chain.a));
}

TEST(Arena, OtherMemoriesAreLeftAlone) {
  Chain chain;
  std::get<TensorDesc>(chain.method.values[2]).storage = PlannedData{2, 4096};
  EXPECT_EQ(chain.bytes(), 16u);
  EXPECT_EQ(chain.offset(chain.b), 4096u);
  Method nothing;
  plan_arena(nothing, {});
  EXPECT_TRUE(nothing.arena_bytes.empty());
}

TEST(Arena, WhatNothingUsesStaysWhereItIs) {
  Chain chain;
  const ValueId unused = chain.add(PlannedData{});
  EXPECT_EQ(chain.offset(unused), 0u);
  const ValueId elsewhere = chain.add(PlannedData{kArena, 4096});
  EXPECT_EQ(chain.bytes(), 32u);
  EXPECT_EQ(chain.offset(elsewhere), 4096u);
}

/// An alias that is in no arena, or in another one, has nothing to be planned.
TEST(Arena, AliasesOutsideAreLeftAlone) {
  Chain chain;
  const ValueId given = chain.add(Unplanned{}), state = chain.add(PlannedData{2, 4096});
  chain.aliases = {{given, chain.b}, {state, chain.b}};
  EXPECT_EQ(chain.bytes(), 32u);
  EXPECT_EQ(chain.offset(state), 4096u);
}

TEST(Arena, BytesAreThoseOfTheDtype) {
  const std::pair<ScalarType, uint64_t> sizes[] = {
      {ScalarType::kUInt8, 1},    {ScalarType::kInt8, 1},   {ScalarType::kBool, 1},
      {ScalarType::kInt16, 2},    {ScalarType::kUInt16, 2}, {ScalarType::kFloat16, 2},
      {ScalarType::kBFloat16, 2}, {ScalarType::kInt32, 4},  {ScalarType::kUInt32, 4},
      {ScalarType::kFloat32, 4},  {ScalarType::kInt64, 8},  {ScalarType::kUInt64, 8},
      {ScalarType::kFloat64, 8}};
  for (const auto& [type, size] : sizes) {
    EXPECT_EQ(size_of(type), size);
    Method method;
    method.outputs = {
        method.add(TensorDesc{type, {2, 3, 16}, {}, ShapeDynamism::kStatic, PlannedData{}})};
    EXPECT_EQ(plan_arena(method, {}).arena_bytes, 96 * size + kOverReadSlack);
  }
}

}  // namespace
}  // namespace layline::pte
