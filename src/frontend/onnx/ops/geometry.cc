// Ops on images and matrices that are written out in others.
#include "frontend/ops/shapes.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void determinant(Call& call) { call.fail("is not written yet"); }

constexpr OpRule kRules[] = {
    {"Det", determinant},
};

}  // namespace

std::span<const OpRule> geometry_rules() { return kRules; }

}  // namespace layline::onnx
