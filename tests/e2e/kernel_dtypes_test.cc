// Preflight against the runtime: every core op with every dtype, without delegates. What compiles
// must run, and give what the reference evaluator gives; nothing may be refused by the runtime that
// was not refused at compile time.
#include <gtest/gtest.h>

#include <cmath>

#include "../unit/random_op.h"
#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "op_programs.h"

namespace layline {
namespace {

constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16,   DType::f64,
                             DType::i8,  DType::i16, DType::i32,    DType::i64,
                             DType::u8,  DType::u16, DType::boolean};
constexpr uint32_t kSeeds = 6;

bool divides(Op op) {
  return op == Op::div || op == Op::floor_div || op == Op::remainder || op == Op::fmod;
}

/// What the generator chose for want of a reason, as opposed to indices and conditions.
bool is_replaceable(const Tensor& operand, Op op) {
  return operand.dtype() == DType::f32 || (is_elementwise(op) && operand.dtype() == DType::i32);
}

/// The instance with another dtype; nothing if the op does not take it.
std::optional<OpInstance> with_dtype(RandomOps& random, const OpInstance& original, DType dtype) {
  std::vector<TensorType> types;
  for (const Tensor& operand : original.operands) {
    types.push_back(operand.type());
    if (is_replaceable(operand, original.node->op())) types.back().dtype = dtype;
  }
  Attributes attributes = original.node->attributes();
  if (auto* binary = std::get_if<BinaryAttrs>(&attributes)) binary->bounds = {};
  std::optional<OpInstance> result;
  try {
    result = random.make(original.node->op(), types, attributes);
  } catch (const UserError&) {
    return std::nullopt;
  }
  const Op op = original.node->op();
  for (size_t i = 0; i < types.size(); ++i) {
    if (!is_replaceable(original.operands[i], op))
      result->operands[i] = original.operands[i];
    else
      for (int64_t k = 0; k < result->operands[i].count(); ++k) {
        const bool divisor = divides(op) && i == 1 && result->operands[i].get_int(k) == 0;
        if (divisor) result->operands[i].set_int(k, 3);
        // Of equal elements either may come first.
        if (op == Op::argsort) result->operands[i].set_int(k, 7 * k % 113);
        if (i == 1 && (op == Op::left_shift || op == Op::right_shift))
          result->operands[i].set_int(k, k % 7);
        if (op == Op::pow) result->operands[i].set_int(k, (k + 1) % 4);
      }
  }
  return result;
}

void expect_near(const HostTensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.dtype, expected.dtype());
  ASSERT_EQ(actual.shape, expected.dims());
  const Tensor a({actual.dtype, expected.type().shape}, actual.bytes);
  double largest = 1;
  for (int64_t i = 0; i < expected.count(); ++i)
    if (std::isfinite(expected.get(i))) largest = std::max(largest, std::abs(expected.get(i)));
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double x = a.get(i), y = expected.get(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_LE(std::abs(x - y), tolerance * largest) << "element " << i;
  }
}

double tolerance(DType dtype) {
  if (dtype == DType::bf16) return 3e-2;
  if (dtype == DType::f16) return 4e-3;
  return is_float(dtype) ? 1e-5 : 0;
}

/// Whether the instance is compiled; it must run then.
bool runs(OpInstance& instance, DType dtype) {
  Graph& graph = *instance.graph;
  graph.add_output("y", instance.node->result());
  const std::string text = print(graph);
  std::vector<Tensor> expected;
  try {
    expected = evaluate(graph, instance.operands);
  } catch (const UserError&) {
    return true;  // no data for the op
  }
  const auto program = program_of(graph, false);
  if (!program) return false;
  SCOPED_TRACE(text);
  try {
    expect_near(first_output(*program, instance.operands), expected[0], tolerance(dtype));
  } catch (const std::exception& error) {
    ADD_FAILURE() << "compiles, but: " << error.what();
  }
  return true;
}

class KernelDTypes : public testing::TestWithParam<Op> {};

TEST_P(KernelDTypes, WhatCompilesRuns) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(name(dtype));
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
      RandomOps random(seed);
      const auto original = random.instance(GetParam());
      if (!original) continue;
      auto instance = with_dtype(random, *original, dtype);
      if (instance) runs(*instance, dtype);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelDTypes, testing::ValuesIn(every_op()),
                         [](const auto& op) { return std::string(name(op.param)); });

}  // namespace
}  // namespace layline
