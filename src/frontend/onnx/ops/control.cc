// Graphs in nodes: branches and loops.
#include "frontend/ops/shapes.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void branch(Call& call) {
  const bool taken = call.known(0, "the condition").get_int(0) != 0;
  for (Value* value : call.body(taken ? "then_branch" : "else_branch", {})) call.result(value);
}

constexpr OpRule kRules[] = {
    {"If", branch},
};

}  // namespace

std::span<const OpRule> control_rules() { return kRules; }

}  // namespace layline::onnx
