// Quantisation.
#include "frontend/ops/quantise.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void dequantise(Call& call) { call.fail("is not written yet"); }

constexpr OpRule kRules[] = {
    {"DequantizeLinear", dequantise},
};

}  // namespace

std::span<const OpRule> quantise_rules() { return kRules; }

}  // namespace layline::onnx
