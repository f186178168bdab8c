// Rewriting what a target refuses comes to an end, whatever is refused.
#include "targets/rewrites/apply_rules.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "targets/tosa/tosa_rewrites.h"
#include "targets/xnnpack/xnnpack_rewrites.h"
#include "transforms_testing.h"

namespace layline {
namespace {

/// The op on inputs of the dtype, the last one a number where there are two; nothing if the op has
/// attributes, or no such operands.
bool build(TestModel& m, const OpInfo& row, DType dtype) {
  Attributes attributes;
  if (row.attributes == Attributes(BinaryAttrs{}).index())
    attributes = BinaryAttrs{};
  else if (row.attributes != attributes.index())
    return false;
  std::vector<Value*> operands(static_cast<size_t>(row.min_operands), m.input({2, 3}, dtype));
  if (operands.empty()) return false;
  if (operands.size() > 1) operands.back() = m.scalar(dtype, 3);
  try {
    m.output(m.add(row.op, std::move(operands), std::move(attributes)));
  } catch (const UserError&) {
    return false;
  }
  return true;
}

TEST(Legalise, EndsForEveryDType) {
  int built = 0;
  for (const OpInfo& row : all_ops()) {
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      SCOPED_TRACE(fmt::format("{} of {}", row.name, name(dtype)));
      TestModel for_tosa, for_xnnpack;
      if (!build(for_tosa, row, dtype)) continue;
      build(for_xnnpack, row, dtype);
      ++built;
      EXPECT_NO_THROW(tosa::legalise(for_tosa.built()));
      EXPECT_NO_THROW(xnnpack::legalise(for_xnnpack.built()));
    }
  }
  EXPECT_GT(built, 200);
}

TEST(Legalise, RulesWithoutEndAreABug) {
  TestModel m;
  m.output(m.relu(m.input({2, 3})));
  const rewrites::Rule again{Op::clamp, [](const Builder& b, const Node& node) {
                               return b.clamp(b.add(Op::neg, {node.operand(0)}), 0, 1);
                             }};
  EXPECT_THROW(
      rewrites::apply_rules(
          m.built(), [](const Node& node) { return std::string(node.is(Op::clamp) ? "no" : ""); },
          std::span(&again, 1), 6),
      InternalError);
}

}  // namespace
}  // namespace layline
