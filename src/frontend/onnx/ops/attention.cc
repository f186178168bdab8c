// Attention, and layers of language models.
#include "frontend/ops/attention.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void attention(Call& call) { call.fail("is not written yet"); }

constexpr OpRule kRules[] = {
    {"Attention", attention},
};

}  // namespace

std::span<const OpRule> attention_rules() { return kRules; }

}  // namespace layline::onnx
