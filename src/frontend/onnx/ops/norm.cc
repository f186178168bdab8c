// Normalisation.
#include "frontend/ops/norm.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void instance_norm(Call& call) {
  Value* x = call.input(0);
  call.result(
      ops::instance_norm(call, x, {call.input(1), call.input(2)}, call.number("epsilon", 1e-5)));
}

constexpr OpRule kRules[] = {
    {"InstanceNormalization", instance_norm},
};

}  // namespace

std::span<const OpRule> norm_rules() { return kRules; }

}  // namespace layline::onnx
