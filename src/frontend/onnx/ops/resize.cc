// Resizing, and images read at the places of a grid.
#include "frontend/ops/grid.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void affine_grid(Call& call) {
  const Ints size = call.integers(1, "`size`");
  if (size.size() != 4) call.fail("of {} axes is not supported", size.size());
  call.result(
      ops::affine_grid(call, call.input(0), size[2], size[3], call.flag("align_corners", false)));
}

constexpr OpRule kRules[] = {
    {"AffineGrid", affine_grid},
};

}  // namespace

std::span<const OpRule> resize_rules() { return kRules; }

}  // namespace layline::onnx
