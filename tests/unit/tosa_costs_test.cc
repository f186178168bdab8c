// What orders of loops cost for TOSA and Ethos-U, and the forms of transposes.
#include <gtest/gtest.h>

#include "layout/loop_order.h"
#include "targets/tosa/npu_transpose.h"
#include "targets/tosa/tosa_rules.h"
#include "tosa_testing.h"

namespace layline::tosa {
namespace {

const Accelerator& u55() { return find_accelerator("ethos-u55-128"); }
const Accelerator& u65() { return find_accelerator("ethos-u65-512"); }
const Accelerator& u85() { return find_accelerator("ethos-u85-2048"); }

constexpr int64_t kByte = 1'000, kCall = 256 * 1024 * kByte;

/// Of %y in the order in which the model has it, or with the operands swapped.
Cost cost_of(const std::string& text, const Accelerator* accelerator = nullptr,
             bool swapped = false) {
  const Graph graph = parse_graph(text, "test");
  const TargetRules target = rules(accelerator);
  for (const Node* node : graph)
    if (node->result()->name() == "y") {
      LoopOrder order = source_order(*node);
      order.swapped = swapped;
      return target.orders.node_cost(*node, order, target.orders.moves);
    }
  throw std::out_of_range("there is no %y");
}

TEST(TosaCosts, AMatrixThatIsReadTransposedIsMoved) {
  const std::string both_inputs =
      on_tensors({"f32[2,3,4]", "f32[2,5,4]"}, "%y = matmul(%a, %b) { transpose_b = true }");
  const Cost cost = cost_of(both_inputs);
  EXPECT_EQ(cost.time_ps, kCall + 2 * 5 * 4 * 4 * kByte);
  EXPECT_EQ(cost.permutes, 1);
  EXPECT_EQ(cost_of(both_inputs, &u55()).time_ps, cost.time_ps);
  EXPECT_EQ(cost_of(both_inputs, nullptr, true).time_ps, kCall + 2 * 3 * 4 * 4 * kByte);
  EXPECT_EQ(cost_of(on_tensors({"f32[2,3,4]", "f32[2,4,5]"}, "%y = matmul(%a, %b)")).time_ps, 0);
  // The last two axes change places, which a row does without being moved.
  const Cost row = cost_of(
      on_tensors({"f32[2,3,4]", "f32[2,1,4]"}, "%y = matmul(%a, %b) { transpose_b = true }"));
  EXPECT_EQ(row.time_ps, 0);
  EXPECT_EQ(row.views, 1);
  // A constant is moved when the program is made.
  const std::string known = on_tensors({"f32[2,3,4]"},
                                       "%w = constant() { data = f32[2,5,4] splat 1 }\n"
                                       "%y = matmul(%a, %w) { transpose_b = true }");
  EXPECT_EQ(cost_of(known).time_ps, 0);
  EXPECT_EQ(cost_of(known, nullptr, true).time_ps, kCall + 2 * 3 * 4 * 4 * kByte);
}

/// Eight times what a byte costs elsewhere, for elements that have no neighbour to go with.
TEST(TosaCosts, SingleElementsAreSlowOnEthos) {
  const auto single = [](int64_t elements, int64_t bytes) {
    return kCall + elements * 8 * bytes * kByte;
  };
  const auto concat = [](std::string_view a, std::string_view b, int axis) {
    return on_tensors({std::string(a), std::string(b)},
                      fmt::format("%y = concat(%a, %b) {{ axis = {} }}", axis));
  };
  EXPECT_EQ(cost_of(concat("f32[4,1]", "f32[4,3]", 1), &u55()).time_ps, single(4, 4));
  EXPECT_EQ(cost_of(concat("i8[4,1]", "i8[4,3]", 1), &u55()), (Cost{single(4, 1), 0, 0, 0}));
  EXPECT_EQ(cost_of(on_tensors({"i8[4,1]"}, "%y = concat(%a) { axis = 1 }"), &u55()).time_ps, 0);
  EXPECT_EQ(cost_of(concat("i8[4,1]", "i8[4,1]", 1), &u85()).time_ps, 2 * single(4, 1));
  EXPECT_EQ(cost_of(concat("i8[4,2]", "i8[4,3]", 1), &u55()).time_ps, 0);
  EXPECT_EQ(cost_of(concat("i8[4,1,2]", "i8[4,1,2]", 1), &u55()).time_ps, 0);
  EXPECT_EQ(cost_of(concat("i8[4,1,1]", "i8[4,1,1]", 1), &u55()).time_ps, 2 * single(4, 1));
  EXPECT_EQ(cost_of(concat("f32[4,1]", "f32[4,3]", 1)).time_ps, 0);  // for no device

  const auto slice = [](std::string_view from, std::string_view size, std::string_view zeros) {
    return on_tensors(
        {std::string(from)},
        fmt::format("%y = slice(%a) {{ start = [{}], size = [{}], step = [1,1] }}", zeros, size));
  };
  EXPECT_EQ(cost_of(slice("i8[4,4]", "4,1", "0,0"), &u55()).time_ps, single(4, 1));
  EXPECT_EQ(cost_of(slice("i8[4,4]", "3,1", "0,0"), &u55()).time_ps, single(3, 1));
  EXPECT_EQ(cost_of(slice("i8[4,4]", "4,2", "0,0"), &u55()).time_ps, 0);
  // Along the last axis that is cut: rows of one element, of which there are several or one.
  EXPECT_EQ(cost_of(slice("i8[4,1]", "2,1", "0,0"), &u55()).time_ps, 0);
  EXPECT_EQ(cost_of(slice("i8[4,1]", "1,1", "0,0"), &u55()).time_ps, single(1, 1));
  EXPECT_EQ(cost_of(slice("i8[4,4]", "1,4", "0,0"), &u55()).time_ps, 0);
  EXPECT_EQ(cost_of(slice("i8[4,4]", "4,4", "0,0"), &u55()).time_ps, 0);
  EXPECT_EQ(cost_of(slice("i8[4,4]", "4,1", "0,0")).time_ps, 0);
}

TEST(TosaCosts, MovesCostACallAndTheirBytes) {
  for (const Accelerator* accelerator : {static_cast<const Accelerator*>(nullptr), &u55()}) {
    const TargetRules target = rules(accelerator);
    EXPECT_FALSE(target.quantises_dynamically);
    EXPECT_EQ(target.orders.most_axes, 6u);
    const MoveCosts& moves = target.orders.moves;
    const auto cost = [&](const Shape& shape, const std::vector<int>& order, DType dtype) {
      return move_cost(moves, Relayout::permute(shape, order), dtype).time_ps;
    };
    EXPECT_EQ(cost({16, 64}, {1, 0}, DType::f32), kCall + 16 * 64 * 4 * kByte);
    EXPECT_EQ(cost({16, 64}, {1, 0}, DType::i8), kCall + 16 * 64 * kByte);
    EXPECT_EQ(cost({4, 4, 64}, {1, 0, 2}, DType::i16), kCall + 16 * 64 * 2 * kByte);
    // Seven factors take two.
    EXPECT_EQ(cost({2, 3, 2, 3, 2, 3}, {5, 4, 3, 2, 1, 0}, DType::i8), kCall + 216 * kByte);
    EXPECT_EQ(cost({2, 3, 2, 3, 2, 3, 2}, {6, 5, 4, 3, 2, 1, 0}, DType::i8),
              2 * (kCall + 432 * kByte));
    EXPECT_EQ(moves.slice.copy_ps(4096, 16), 0);
    EXPECT_EQ(moves.concat.copy_ps(4096, 16), 0);
  }
}

struct Form {
  Shape shape;
  std::vector<int> order;
  size_t bytes;
  std::vector<int64_t> dims;  // of the TRANSPOSE; empty: there is none
  std::vector<int> perm;
};

void expect_forms(const std::vector<Form>& forms, const Accelerator& accelerator) {
  for (const Form& form : forms) {
    const auto found =
        npu_transpose(Relayout::permute(form.shape, form.order), form.bytes, accelerator);
    ASSERT_EQ(found.has_value(), !form.dims.empty()) << to_string(form.shape);
    if (!found) continue;
    EXPECT_EQ(static_dims(found->dims), form.dims);
    EXPECT_EQ(std::vector<int>(found->perm.begin(), found->perm.end()), form.perm);
  }
}

TEST(TosaNpuTransposes, U55MergesAxes) {
  expect_forms(
      {
          {{1, 3, 4, 5}, {0, 2, 3, 1}, 1, {3, 20}, {1, 0}},
          {{2, 3, 4}, {2, 1, 0}, 1, {2, 3, 4}, {2, 1, 0}},
          // What is too long is two axes of about the same length: 65792 is 256 * 257.
          {{3, 65792}, {1, 0}, 1, {3, 257, 256}, {1, 2, 0}},
          {{65792, 3}, {1, 0}, 1, {257, 256, 3}, {2, 0, 1}},
          {{3, 16448}, {1, 0}, 4, {3, 257, 64}, {1, 2, 0}},
          {{3, 16448}, {1, 0}, 2, {3, 16448}, {1, 0}},
          {{3, 65542}, {1, 0}, 1, {3, 32771, 2}, {1, 2, 0}},
          {{3, 65537}, {1, 0}, 1, {}, {}},  // a prime
      },
      u55());
}

TEST(TosaNpuTransposes, U65KeepsTheOperandsAxes) {
  expect_forms(
      {
          {{1, 3, 4, 5}, {0, 2, 3, 1}, 1, {1, 3, 4, 5}, {0, 2, 3, 1}},
          {{3, 4}, {1, 0}, 1, {3, 4}, {1, 0}},
          {{1, 3, 4}, {0, 2, 1}, 1, {1, 3, 4}, {0, 2, 1}},
          {{3, 65792}, {1, 0}, 1, {3, 257, 256}, {1, 2, 0}},
          // Four axes whose two largest are too many, and merged they are fewer.
          {{2, 3, 300, 300}, {1, 0, 2, 3}, 1, {}, {}},
      },
      u65());
}

TEST(TosaNpuTransposes, U85TransposesLongRowsInShortOnes) {
  expect_forms(
      {
          {{3, 256}, {1, 0}, 1, {3, 256}, {1, 0}},
          {{3, 288}, {1, 0}, 1, {3, 9, 32}, {1, 2, 0}},
          {{3, 16352}, {1, 0}, 1, {3, 511, 32}, {1, 2, 0}},
          {{3, 16384}, {1, 0}, 1, {3, 256, 64}, {1, 2, 0}},
          {{3, 16416}, {1, 0}, 1, {3, 513, 32}, {1, 2, 0}},  // no multiple of 64
          {{3, 288}, {1, 0}, 2, {3, 18, 16}, {1, 2, 0}},     // no multiple of 64: 16 of 18
          {{3, 320}, {1, 0}, 2, {3, 5, 64}, {1, 2, 0}},
          {{3, 270}, {1, 0}, 2, {3, 270}, {1, 0}},  // 15 of 18 is too short
          {{3, 257}, {1, 0}, 1, {3, 257}, {1, 0}},
          {{512, 3}, {1, 0}, 1, {512, 3}, {1, 0}},
          {{2, 3, 512}, {2, 1, 0}, 1, {2, 3, 512}, {2, 1, 0}},
          {{2, 3, 2, 3, 2, 3}, {5, 4, 3, 2, 1, 0}, 1, {2, 3, 2, 3, 2, 3}, {5, 4, 3, 2, 1, 0}},
          {{2, 3, 2, 3, 2, 3, 2}, {6, 5, 4, 3, 2, 1, 0}, 1, {}, {}},
      },
      u85());
}

}  // namespace
}  // namespace layline::tosa
