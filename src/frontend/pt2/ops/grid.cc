// Images read at the places of a grid, and grids of affine maps.
#include <array>

#include "frontend/pt2/ops/rules.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

void grid_sample(Call& call) {
  Value* x = call.tensor("input");
  Value* grid = call.tensor("grid");
  if (x->shape().size() != 4)
    call.fail("samples {}; only images are supported", to_string(x->type()));
  const int64_t mode = call.integer("interpolation_mode"), outside = call.integer("padding_mode");
  // The numbers of ATen's GridSamplerInterpolation and GridSamplerPadding.
  if (mode != 0 && mode != 1) call.fail("samples bicubically, which is not supported");
  if (outside < 0 || outside > 2) call.fail("has the padding mode {}", outside);
  const GridSampleAttrs attrs{mode == 0 ? ResizeMode::bilinear : ResizeMode::nearest,
                              static_cast<OutsideMode>(outside), call.flag("align_corners", false)};
  Value* y =
      call.add(Op::grid_sample, {call.to_channels_last(x), call.convert(grid, x->dtype())}, attrs);
  call.result(call.from_channels_last(y));
}

/// Of each row of `count` places from -1 to 1: between the centres of the first and the last pixel,
/// or between their outer edges.
double coordinate(int64_t i, int64_t count, bool align_corners) {
  if (align_corners)
    return count > 1 ? 2.0 * static_cast<double>(i) / static_cast<double>(count - 1) - 1 : 0;
  return (2 * static_cast<double>(i) + 1) / static_cast<double>(count) - 1;
}

/// [n, 2, 3] maps applied to the places (x, y, 1) of an image.
void affine_grid(Call& call) {
  Value* theta = call.tensor("theta");
  const Ints size = call.ints("size", {});
  if (size.size() != 4)
    call.fail("makes a grid of {} axes; only images are supported", size.size());
  const int64_t rows = size[2], columns = size[3];
  constexpr int64_t kMostPlaces = 1 << 26;
  if (rows < 1 || columns < 1 || rows > kMostPlaces / columns)
    call.fail("makes a grid of {}x{}", rows, columns);
  const bool corners = call.flag("align_corners", false);
  Tensor base({theta->dtype(), {rows * columns, 3}});
  for (int64_t i = 0; i < rows * columns; ++i) {
    base.set(3 * i, coordinate(i % columns, columns, corners));
    base.set(3 * i + 1, coordinate(i / columns, rows, corners));
    base.set(3 * i + 2, 1);
  }
  Value* places = call.constant(Constant::of(base));
  call.result(
      call.view(call.add(Op::matmul, {places, theta}, MatmulAttrs{true}), call.recorded().shape));
}

constexpr OpRule kRules[] = {
    {"aten.grid_sampler.default", grid_sample},
    {"aten.grid_sampler_2d.default", grid_sample},
    {"aten.affine_grid_generator.default", affine_grid},
};

}  // namespace

std::span<const OpRule> grid_rules() { return kRules; }

}  // namespace layline::pt2
