// Graphs before and after the rules of the TOSA target, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/verify.h"
#include "make_tensor.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/tosa_rules.h"
#include "tosa_testing.h"
#include "transforms/pass.h"

namespace layline::tosa {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

/// The op as it stands, and as the rules have it.
struct Both {
  Graph graph;
  layline::Tensor before, after;
  std::vector<Explanation> explanations;
  bool changed;

  int count(Op op) const {
    int result = 0;
    for (const Node* node : graph) result += node->is(op);
    return result;
  }
  const Node* only(Op op) const {
    EXPECT_EQ(count(op), 1) << print(graph);
    for (const Node* node : graph)
      if (node->is(op)) return node;
    return nullptr;
  }
};

inline Both both(const std::string& text, const std::vector<layline::Tensor>& inputs,
                 const Accelerator* accelerator = nullptr) {
  Graph graph = parse_graph(text, "test");
  layline::Tensor before = evaluate(graph, inputs)[0];
  const TargetRules target = rules(accelerator);
  std::vector<Explanation> explanations;
  PassContext context("legalise", target, &explanations);
  const bool changed = target.legalise(graph, context);
  verify(graph);
  layline::Tensor after = evaluate(graph, inputs)[0];
  return {std::move(graph), std::move(before), std::move(after), std::move(explanations), changed};
}

/// What the graph gives is the same but for `tolerance` of it.
inline void expect_same(const Both& found, double tolerance) {
  EXPECT_EQ(to_string(found.after.type()), to_string(found.before.type()));
  for (int64_t i = 0; i < found.before.count(); ++i) {
    const double wanted = found.before.get(i), given = found.after.get(i);
    const bool same = wanted == given || (std::isnan(wanted) && std::isnan(given)) ||
                      std::abs(wanted - given) <= tolerance * std::max(std::abs(wanted), 1e-30);
    EXPECT_TRUE(same) << "at " << i << ": " << given << " and not " << wanted;
  }
}

/// On inputs of their own types, which are %a, %b, ...; nothing is left that TOSA refuses, unless
/// it is of f64.
inline Both checked(const std::vector<layline::Tensor>& inputs, std::string_view statements,
                    double tolerance = 0) {
  std::vector<std::string> types;
  bool is_double = false;
  for (const layline::Tensor& input : inputs) {
    types.push_back(to_string(input.type()));
    is_double = is_double || input.dtype() == DType::f64;
  }
  SCOPED_TRACE(statements);
  Both result = both(on_tensors(types, statements), inputs);
  EXPECT_TRUE(result.changed);
  expect_same(result, tolerance);
  for (const Node* node : result.graph)
    if (!is_double && !node->is(Op::constant)) {
      EXPECT_EQ(refusal(*node), "") << print(result.graph);
    }
  return result;
}

inline layline::Tensor numbers(DType dtype, const std::vector<double>& values) {
  return make_tensor(dtype, {static_cast<int64_t>(values.size())}, values);
}

}  // namespace layline::tosa
