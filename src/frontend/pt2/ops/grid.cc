#include "frontend/ops/grid.h"

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

void grid_sample(Call& call) {
  Value* x = call.tensor("input");
  const int64_t mode = call.integer("interpolation_mode"), outside = call.integer("padding_mode");
  // The numbers of ATen's GridSamplerInterpolation and GridSamplerPadding.
  static constexpr ops::GridMode kModes[] = {ops::GridMode::linear, ops::GridMode::nearest,
                                             ops::GridMode::cubic};
  if (mode < 0 || mode > 2) call.fail("has the interpolation mode {}", mode);
  if (outside < 0 || outside > 2) call.fail("has the padding mode {}", outside);
  const ops::GridSampling sampling{kModes[mode], static_cast<OutsideMode>(outside),
                                   call.flag("align_corners", false)};
  call.result(ops::grid_sample(call, x, call.tensor("grid"), sampling));
}

void affine_grid(Call& call) {
  Value* theta = call.tensor("theta");
  Ints size = call.ints("size", {});
  if (size.size() != 4 && size.size() != 5)
    call.fail("makes a grid of {} axes; only images and volumes are supported", size.size());
  size.erase(size.begin(), size.begin() + 2);
  call.result(ops::affine_grid(call, theta, size, call.flag("align_corners", false)));
}

constexpr OpRule kRules[] = {
    {"aten.grid_sampler.default", grid_sample},
    {"aten.grid_sampler_2d.default", grid_sample},
    {"aten.grid_sampler_3d.default", grid_sample},
    {"aten.affine_grid_generator.default", affine_grid},
};

}  // namespace

std::span<const OpRule> grid_rules() { return kRules; }

}  // namespace layline::pt2
