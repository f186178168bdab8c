// Which permutes are left of attention, on the XNNPACK target: one that splits the heads of q, k
// and v together, and one that merges them; windows, patches and rolls go into these two. Every
// pass is checked against the reference evaluator on the way.
#include <gtest/gtest.h>

#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms_testing.h"

namespace layline {
namespace {

constexpr int64_t kHeads = 2, kHeadSize = 8, kChannels = kHeads * kHeadSize;

Value* linear(TestModel& m, Value* x, int64_t outputs) {
  return m.add(Op::linear, {x, m.weights({outputs, x->shape().back()}), m.weights({outputs})},
               LinearAttrs{});
}

/// Attention among the tokens of x [batch, tokens, channels], q, k and v from one product, which is
/// rounded to 8 bits if `rounded`.
Value* attention(TestModel& m, Value* x, bool rounded = false) {
  const Dim batch = x->shape()[0], tokens = x->shape()[1];
  Value* qkv = linear(m, x, 3 * kChannels);
  if (rounded) {
    qkv = m.add(Op::quantize, {qkv}, QuantisationAttrs{per_tensor(DType::i8, 1, 3)});
    qkv = m.add(Op::dequantize, {qkv});
  }
  qkv = m.view(qkv, {batch, tokens, 3, kHeads, kHeadSize});
  qkv = m.permute(qkv, std::vector{2, 0, 3, 1, 4});
  auto part = [&](int64_t i) {
    return m.view(m.slice(qkv, 0, i, 1), {batch, kHeads, tokens, kHeadSize});
  };
  Value* q = m.add(Op::mul, {part(0), m.number(0.25)});
  Value* scores =
      m.add(Op::matmul, {q, m.permute(part(1), std::vector{0, 1, 3, 2})}, MatmulAttrs{});
  scores = m.add(Op::add, {scores, m.weights({1, kHeads, tokens, tokens})});
  Value* weights = m.add(Op::softmax, {scores}, AxisAttrs{3});
  Value* heads = m.add(Op::matmul, {weights, part(2)}, MatmulAttrs{});
  Value* merged = m.view(m.permute(heads, std::vector{0, 2, 1, 3}), {batch, tokens, kChannels});
  return linear(m, merged, kChannels);
}

/// x [1, 8, 8, channels], in four windows of 16 tokens: [4, 16, channels].
Value* windows(TestModel& m, Value* x) {
  x = m.permute(m.view(x, {2, 4, 2, 4, kChannels}), std::vector{0, 2, 1, 3, 4});
  return m.view(x, {4, 16, kChannels});
}
Value* from_windows(TestModel& m, Value* x) {
  x = m.permute(m.view(x, {2, 2, 4, 4, kChannels}), std::vector{0, 2, 1, 3, 4});
  return m.view(x, {1, 8, 8, kChannels});
}

TestModel xnnpack_model() {
  TestModel m;
  m.on(xnnpack::rules());
  return m;
}

TEST(AttentionPermutes, OneForTheHeadsAndOneForTheirResult) {
  TestModel m = xnnpack_model();
  Value* x = m.input({1, 16, kChannels});
  for (int block = 0; block < 2; ++block) x = m.add(Op::add, {x, attention(m, x)});
  m.output(x).run_all();
  EXPECT_EQ(m.moves(), 4);
  EXPECT_TRUE(m.certificate().optimal());
}

TEST(AttentionPermutes, WindowsGoIntoThem) {
  for (const int blocks : {1, 2, 4}) {
    TestModel m = xnnpack_model();
    Value* x = m.input({1, 8, 8, kChannels});
    for (int block = 0; block < blocks; ++block)
      x = m.add(Op::add, {x, from_windows(m, attention(m, windows(m, x)))});
    m.output(x).run_all();
    EXPECT_EQ(m.moves(), 2 * blocks) << print(m.built(), {.elide_constants = true});
  }
}

TEST(AttentionPermutes, WindowsThatAreRolledToo) {
  TestModel m = xnnpack_model();
  Value* x = m.input({1, 8, 8, kChannels});
  Value* y = m.add(Op::roll, {x}, RollAttrs{{1, 2}, {-2, -2}});
  y = from_windows(m, attention(m, windows(m, y)));
  y = m.add(Op::roll, {y}, RollAttrs{{1, 2}, {2, 2}});
  m.output(m.add(Op::add, {x, y})).run_all();
  EXPECT_EQ(m.moves(), 2);
}

/// As in MobileViT: between convolutions, the pixels at one place of all 2x2 patches attend to each
/// other, in several blocks without leaving that form.
void expect_patches_go_into_them(bool rounded) {
  TestModel m = xnnpack_model();
  Value* x = m.conv_nchw(m.input({1, 3, 8, 8}), kChannels, 3, 1);
  Value* y = m.permute(m.view(x, {kChannels * 4, 2, 4, 2}), std::vector{0, 2, 1, 3});
  y = m.permute(m.view(y, {1, kChannels, 16, 4}), std::vector{0, 3, 2, 1});
  y = m.view(y, {4, 16, kChannels});
  constexpr int kBlocks = 3;
  for (int block = 0; block < kBlocks; ++block) y = m.add(Op::add, {y, attention(m, y, rounded)});
  y = m.permute(m.view(y, {1, 4, 16, kChannels}), std::vector{0, 3, 2, 1});
  y = m.permute(m.view(y, {kChannels * 4, 4, 2, 2}), std::vector{0, 2, 1, 3});
  y = m.conv_nchw(m.view(y, {1, kChannels, 8, 8}), kChannels);
  m.output(m.add(Op::reduce_mean, {m.add(Op::add, {x, y})}, AxesAttrs{{2, 3}})).run_all();
  EXPECT_EQ(m.moves(), 1 + 2 * kBlocks) << print(m.built(), {.elide_constants = true});
}

TEST(AttentionPermutes, PatchesBetweenConvolutionsGoIntoThem) {
  expect_patches_go_into_them(false);
}

/// q, k and v are taken from integers that are dequantised in between.
TEST(AttentionPermutes, PatchesGoIntoThemThroughDequantize) { expect_patches_go_into_them(true); }

/// An axis that the permute takes apart has no neighbour to stay with: the slices stay as they are.
TEST(AttentionPermutes, ASlicedAxisInPieces) {
  TestModel m = xnnpack_model();
  Value* x = m.input({4, 2, 6});
  x = m.view(m.permute(x, std::vector{2, 1, 0}), {12, 4});
  m.output(m.add(Op::tanh, {m.slice(x, 0, 3, 5)})).output(m.relu(m.slice(x, 0, 0, 6))).run_all();
  EXPECT_EQ(m.moves(), 1);
}

}  // namespace
}  // namespace layline
