// Recurrent layers.
#include "frontend/ops/recurrent.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void lstm(Call& call) { call.fail("is not written yet"); }

constexpr OpRule kRules[] = {
    {"LSTM", lstm},
};

}  // namespace

std::span<const OpRule> recurrent_rules() { return kRules; }

}  // namespace layline::onnx
