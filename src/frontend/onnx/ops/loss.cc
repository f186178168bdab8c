// Losses, which some exported models end with.
#include "frontend/ops/reduction.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void likelihood(Call& call) { call.fail("is not written yet"); }

constexpr OpRule kRules[] = {
    {"NegativeLogLikelihoodLoss", likelihood},
};

}  // namespace

std::span<const OpRule> loss_rules() { return kRules; }

}  // namespace layline::onnx
