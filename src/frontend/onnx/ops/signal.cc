// Fourier transforms and the windows that go with them.
#include "frontend/ops/shapes.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void dft(Call& call) { call.fail("is not written yet"); }

constexpr OpRule kRules[] = {
    {"DFT", dft},
};

}  // namespace

std::span<const OpRule> signal_rules() { return kRules; }

}  // namespace layline::onnx
