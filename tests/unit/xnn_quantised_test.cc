// What XNNPACK is told of quantised ops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emitted_payload.h"
#include "ir/builder.h"
#include "ir/tensor.h"
#include "pte_reader.h"
#include "targets/xnnpack/kernels.h"

namespace layline::xnnpack {
namespace {

Value* integer_weight(const Builder& build, Shape shape) {
  Tensor integers({DType::i8, std::move(shape), per_tensor(DType::i8, 0.01f, 0)});
  for (int64_t i = 0; i < integers.count(); ++i) integers.set_int(i, i % 100 - 50);
  return build.constant(integers);
}

int count(const PayloadReader& payload, fb_xnnpack::XNodeUnion kind) {
  int result = 0;
  for (const auto* node : *payload.graph().xnodes()) result += node->xnode_union_type() == kind;
  return result;
}

TEST(XnnQuantised, AnActivationIsConvertedOnceForAllThatReadItAlike) {
  Graph graph("shared");
  const Builder build(graph, nullptr);
  Value* x = graph.add_input("x", {DType::f32, {1, 5, 5, 4}});
  ConvAttrs conv{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, {}};
  conv.dynamic = true;
  const LinearAttrs linear{{}, {}, true};
  for (int i = 0; i < 2; ++i) {
    graph.add_output(fmt::format("image{}", i),
                     build.add(Op::conv, {x, integer_weight(build, {6, 3, 3, 4})}, conv));
    graph.add_output(fmt::format("rows{}", i),
                     build.add(Op::linear, {x, integer_weight(build, {6, 4})}, linear));
  }
  graph.add_output("real", build.add(Op::tanh, {x}));
  const PayloadReader payload = emitted(graph);
  // One with a scale for the image, one with a scale for each row.
  EXPECT_EQ(count(payload, fb_xnnpack::XNodeUnion::XNNConvert), 2);
  EXPECT_EQ(count(payload, fb_xnnpack::XNodeUnion::XNNConv2d), 2);
  EXPECT_EQ(count(payload, fb_xnnpack::XNodeUnion::XNNFullyConnected), 2);
}

}  // namespace
}  // namespace layline::xnnpack
