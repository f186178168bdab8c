#include "layout/signature.h"

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
      const auto v = static_cast<size_t>(variables[i]);
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
        for (int v : own.variables) {
          bound[static_cast<size_t>(v)] = true;
          size = size * s.variables[static_cast<size_t>(v)].size;
          ordered |= s.variables[static_cast<size_t>(v)].role == Role::ordered;
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
      if (operand.count() == 0) continue;
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

}  // namespace
}  // namespace layline
