#include "layout/signature.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "random_op.h"

namespace layline {
namespace {

constexpr int kAbsent = -1;

/// The value of each variable at a position of a port; kAbsent where the port lacks it.
Ints coordinates(const Signature& s, const Node& node, int port, int64_t position) {
  Ints result(s.variables.size(), kAbsent);
  const Binding& binding = s.port(port);
  for (size_t dim = binding.size(); dim-- > 0;) {
    const int64_t size = port_shape(node, port)[dim].value();
    int64_t index = position % size;
    position /= size;
    if (binding[dim].broadcast) continue;
    const auto& variables = binding[dim].variables;
    for (size_t i = variables.size(); i-- > 0;) {
      const VariableId v = variables[i];
      const int64_t radix = i == 0 ? size : s.variables[v].size.value();
      result[v] = index % radix;
      index /= radix;
    }
  }
  return result;
}

bool same(const Tensor& a, const Tensor& b, int64_t i) {
  return a.get(i) == b.get(i) || (std::isnan(a.get(i)) && std::isnan(b.get(i)));
}

template <typename Check>
void for_all_ops(int instances, Check check) {
  for (const OpInfo& row : all_ops()) {
    if (row.op == Op::constant || row.op == Op::relayout) continue;
    RandomOps ops(static_cast<uint32_t>(row.op) + 100, RandomOps::Types::some_quantised);
    for (int i = 0; i < instances; ++i) {
      auto instance = ops.instance(row.op);
      ASSERT_TRUE(instance) << row.name << " has no generator in random_op.h";
      SCOPED_TRACE(print(*instance->graph));
      check(*instance, ops.random());
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Signature, BindsEveryDimToVariablesOfItsSize) {
  for_all_ops(60, [](const OpInstance& instance, Random&) {
    const Node& node = *instance.node;
    const Signature s = signature(node);
    std::vector<bool> bound(s.variables.size(), false);
    ASSERT_EQ(s.operands.size(), static_cast<size_t>(node.operand_count()));
    for (int port = kResultPort; port < node.operand_count(); ++port) {
      const Shape& shape = port_shape(node, port);
      ASSERT_EQ(s.port(port).size(), shape.size());
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        const BoundDim& own = s.port(port)[dim];
        Dim size = 1;
        bool ordered = false;
        for (VariableId v : own.variables) {
          bound[v] = true;
          size = size * s.variables[v].size;
          ordered |= s.variables[v].role == Role::ordered;
        }
        if (own.broadcast) size = 1;
        EXPECT_TRUE(shape[dim] == size || (ordered && !own.broadcast))
            << "dim " << dim << " of port " << port;
      }
    }
    EXPECT_EQ(std::ranges::count(bound, false), 0) << "a variable of no tensor";
  });
}

/// The law of signature(), by changing one element of an operand: only such elements of the result
/// change as have the same value of every parallel variable that both have.
TEST(Signature, ParallelVariablesKeepElementsApart) {
  for_all_ops(60, [](const OpInstance& instance, Random& random) {
    const Node& node = *instance.node;
    const Signature s = signature(node);
    const Tensor before = evaluate_node(node, instance.operands);
    for (int port = 0; port < node.operand_count(); ++port) {
      std::vector<Tensor> operands = instance.operands;
      Tensor& operand = operands[static_cast<size_t>(port)];
      // Another count would be another size.
      if (operand.count() == 0 || (node.is(Op::counted_slice) && port == 1)) continue;
      const int64_t at = random.between(0, operand.count() - 1);
      const bool index = is_integer(operand.dtype());
      operand.set(at, index ? 0 : operand.get(at) == 0 ? 1 : -operand.get(at));
      const Ints from = coordinates(s, node, port, at);
      const Tensor after = evaluate_node(node, operands);
      for (int64_t i = 0; i < after.count(); ++i) {
        if (same(before, after, i)) continue;
        const Ints to = coordinates(s, node, kResultPort, i);
        for (size_t v = 0; v < to.size(); ++v) {
          if (s.variables[v].role != Role::parallel || to[v] == kAbsent || from[v] == kAbsent)
            continue;
          ASSERT_EQ(to[v], from[v]) << "variable " << v << ", element " << i;
        }
      }
    }
  });
}

/// "p2 o3 | 2 | 0 1, 1* > 0 1": the variables by role and size, how many of them all share, and
/// those of each dim of each operand and of the result; a star is broadcast.
std::string written(const Signature& s) {
  std::string text;
  for (const Variable& v : s.variables)
    text += fmt::format("{}{} ", "prso"[static_cast<size_t>(v.role)], to_string(v.size));
  text += fmt::format("| {} |", s.shared);
  const auto add = [&](const Binding& binding) {
    for (const BoundDim& dim : binding)
      text += fmt::format(" {}{}", fmt::join(dim.variables, "."), dim.broadcast ? "*" : "");
  };
  for (size_t i = 0; i < s.operands.size(); ++i) {
    if (i > 0) text += ",";
    add(s.operands[i]);
  }
  text += " >";
  add(s.result);
  return text;
}

/// Every size is different, so that none is taken for another.
TEST(Signature, IsAsDescribed) {
  struct Case {
    std::vector<std::string> types;
    std::string_view node;
    std::string_view expected;
  };
  const Case cases[] = {
      {{"f32[2,3,4]", "f32[3,1]"}, "add(%x0, %x1)", "p2 p3 p4 | 3 | 0 1 2, 1 2* > 0 1 2"},
      {{"f32[3,1]"}, "expand(%x0) { shape = [2,3,4] }", "p2 p3 p4 | 3 | 1 2* > 0 1 2"},
      {{"f32[2,3,4]"},
       "slice(%x0) { start = [0,1,0], size = [2,2,2], step = [1,1,2] }",
       "p2 o3 o4 | 3 | 0 1 2 > 0 1 2"},
      {{"f32[2,3,4]"},
       "slice(%x0) { start = [0,0,0], size = [2,3,3], step = [1,1,1] }",
       "p2 p3 o4 | 3 | 0 1 2 > 0 1 2"},
      {{"f32[1,3]"},
       "slice(%x0) { start = [0,0], size = [1,3], step = [2,1] }",
       "o1 p3 | 2 | 0 1 > 0 1"},
      {{"f32[2,3]", "f32[2,4]"}, "concat(%x0, %x1) { axis = 1 }", "p2 o3 | 2 | 0 1, 0 1 > 0 1"},
      {{"f32[2,3,4,5]"},
       "pad(%x0) { low = [0,1,0,2], high = [0,0,1,2], mode = constant, value = 0 }",
       "p2 o3 o4 o5 | 4 | 0 1 2 3 > 0 1 2 3"},
      {{"f32[2,3]"}, "flip(%x0) { axes = [0] }", "o2 p3 | 2 | 0 1 > 0 1"},
      {{"f32[2,3]"}, "roll(%x0) { axes = [1], shifts = [1] }", "p2 o3 | 2 | 0 1 > 0 1"},
      {{"f32[2,3,4]", "i64[5,6]"},
       "gather(%x0, %x1) { axis = 1 }",
       "p2 o3 p4 p5 p6 | 0 | 0 1 2, 3 4 > 0 3 4 2"},
      {{"f32[2,3,4]", "i64[2,5,3]"},
       "gather_elements(%x0, %x1) { axis = 1 }",
       "p2 o3 o4 | 3 | 0 1 2, 0 1 2 > 0 1 2"},
      {{"f32[2,3,4]", "i64[]"},
       "counted_slice(%x0, %x1) { axis = 1, start = [0,1,0], size = [2,2,4] }",
       "p2 o3 p4 | 3 | 0 1 2, > 0 1 2"},
      {{"f32[2,3,4]", "i64[1,5,1]", "f32[2,5,4]"},
       "scatter(%x0, %x1, %x2) { axis = 1 }",
       "p2 o3 p4 | 3 | 0 1 2, 0* 1 2*, 0 1 2 > 0 1 2"},
      {{"f32[2,3,4,5]", "f32[2,6,2,5]", "f32[2,6,2,5]", "i64[]"},
       "causal_attention(%x0, %x1, %x2, %x3)",
       "p2 o3 o6 p2 p2 r5 p5 | 0 | 0 1 3.4 5, 0 2 3 5, 0 2 3 6, > 0 1 3.4 6"},
      {{"f32[2,3]", "f32[3]"},
       "scan(%x0, %x1) { body = graph \"b\" { input \"x\" %x : f32[3] input \"y\" %y : f32[3] "
       "%z = add(%x, %y) output \"z\" %z write %z to %y } }",
       "o2 o3 o3 o2 o3 | 0 | 0 1, 2 > 3 4"},
      {{"f32[2,3]", "i64[2,3]", "f32[2,3]"},
       "scatter_elements(%x0, %x1, %x2) { axis = 0 }",
       "o2 p3 | 2 | 0 1, 0 1, 0 1 > 0 1"},
      {{"f32[2,3]", "i64[2,3]", "f32[2,3]"},
       "scatter_add(%x0, %x1, %x2) { axis = 1 }",
       "p2 o3 | 2 | 0 1, 0 1, 0 1 > 0 1"},
      {{"f32[2,3,4]", "f32[5,4]", "f32[5]"},
       "linear(%x0, %x1, %x2)",
       "p2 p3 r4 p5 | 0 | 0 1 2, 3 2, 3 > 0 1 3"},
      {{"f32[3,4]", "f32[5,4]"}, "linear(%x0, %x1)", "p3 r4 p5 | 0 | 0 1, 2 1 > 0 2"},
      {{"f32[6,2,3,4]", "f32[2,4,5]"},
       "matmul(%x0, %x1)",
       "p6 p2 p3 p5 r4 | 2 | 0 1 2 4, 1 4 3 > 0 1 2 3"},
      {{"f32[1,3,4]", "f32[2,5,4]"},
       "matmul(%x0, %x1) { transpose_b = true }",
       "p2 p3 p5 r4 | 1 | 0* 1 3, 0 2 3 > 0 1 2"},
      {{"f32[2,7,8,6]", "f32[15,4,5,2]", "f32[15]"},
       "conv(%x0, %x1, %x2) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0], "
       "groups = 3 }",
       "p2 p3 r2 p5 o7 o4 o8 o5 | 0 | 0 4 6 1.2, 1.3 5 7 2, 1.3 > 0 4 6 1.3"},
      {{"f32[2,7,8,6]", "f32[15,4,5,6]"},
       "conv(%x0, %x1) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0] }",
       "p2 p1 r6 p15 o7 o4 o8 o5 | 0 | 0 4 6 1.2, 1.3 5 7 2 > 0 4 6 1.3"},
      {{"f32[2,7,8,6]", "f32[15,4,5,6]"},
       "conv_transpose(%x0, %x1) { stride = [2,2], dilation = [1,1], low = [0,0], high = [0,0], "
       "extra = [1,1] }",
       "p2 p1 r6 p15 o7 o4 o8 o5 | 0 | 0 4 6 1.2, 1.3 5 7 2 > 0 4 6 1.3"},
      {{"f32[2,7,8,6]"},
       "max_pool(%x0) { kernel = [2,3], stride = [1,1], dilation = [1,1], low = [0,0], high = "
       "[0,0] }",
       "p2 o7 o8 p6 | 0 | 0 1 2 3 > 0 1 2 3"},
      {{"f32[2,7,8,6]", "f32[2,3,4,2]"},
       "grid_sample(%x0, %x1) { mode = nearest, outside = reflection, align_corners = true }",
       "p2 o7 o8 p6 p3 p4 o2 | 0 | 0 1 2 3, 0 4 5 6 > 0 4 5 3"},
      {{"f32[2,3,4]"}, "reduce_sum(%x0) { axes = [0,2] }", "r2 p3 r4 | 3 | 0 1 2 > 0* 1 2*"},
      {{"f32[2,3]"}, "argmax(%x0) { axis = 1 }", "p2 o3 | 2 | 0 1 > 0 1*"},
      {{"f32[2,3]"}, "argsort(%x0) { axis = 0 }", "o2 p3 | 2 | 0 1 > 0 1"},
      {{"f32[2,3]"}, "cumsum(%x0) { axis = 1 }", "p2 o3 | 2 | 0 1 > 0 1"},
      {{"f32[2,3,4]"}, "softmax(%x0) { axis = 1 }", "p2 s3 p4 | 3 | 0 1 2 > 0 1 2"},
      {{"f32[2,3,4]"}, "normalize(%x0) { axes = [1,2], eps = 1 }", "p2 s3 s4 | 3 | 0 1 2 > 0 1 2"},
      {{"f32[2,3]"}, "choose_scale(%x0) { axes = [1], eps = 1e-7 }", "p2 r3 | 2 | 0 1 > 0 1*"},
      {{"f32[2,3]"},
       "relayout(%x0) { relayout = [2,3] (2,3)->(1,0) [3,2] }",
       "p2 p3 | 0 | 0 1 >  "},
  };
  for (const Case& c : cases) {
    std::string text = "graph \"test\" {\n";
    for (size_t i = 0; i < c.types.size(); ++i)
      text += fmt::format("  input \"x{0}\" %x{0} : {1}\n", i, c.types[i]);
    text += fmt::format("  %y = {}\n  output \"y\" %y\n}}\n", c.node);
    const Graph graph = parse_graph(text, "test");
    EXPECT_EQ(written(signature(*graph.outputs()[0].value->def())), c.expected) << c.node;
  }
}

}  // namespace
}  // namespace layline
