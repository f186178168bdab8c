// block_convs: for which targets, and what it makes of a window's memory. What it computes is in
// tests/near_misses.
#include <gtest/gtest.h>

#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms_testing.h"

namespace layline {
namespace {

/// A filter of 256 samples that keeps every second one, as those of basic-pitch.
TestModel filter() {
  TestModel m;
  Value* x = m.input({1, 1, 44098, 1});
  m.output(m.add(Op::conv, {x, m.weights({1, 1, 256, 1})},
                 ConvAttrs{{1, 2}, {1, 1}, {0, 0}, {0, 0}, 1, {}}));
  return m;
}

TEST(BlockConvs, OnlyWhereFewOutputsTakeTheTimeOfMany) {
  TestModel m = filter();
  m.run({"block_convs"});
  EXPECT_EQ(m.only(Op::conv)->operand(0), m.built().inputs()[0].value);
}

TEST(BlockConvs, AWindowHasFewPointers) {
  TestModel m = filter();
  m.on(xnnpack::rules()).run({"block_convs"});
  const Node* conv = m.only(Op::conv);
  EXPECT_EQ(m.built().outputs()[0].value->shape(), Shape({1, 1, 21922, 1}));
  const Shape &window = conv->operand(1)->shape(), &result = conv->result()->shape();
  const int64_t pointers =
      result[1].value() * result[2].value() * window[1].value() * window[2].value();
  EXPECT_LT(pointers, 21922 * 256 / 400);
}

}  // namespace
}  // namespace layline
