#include "frontend/ops/grid.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/checked.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/shapes.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

/// Place i of a row of `count` from -1 to 1: between the centres of the first and the last pixel,
/// or between their outer edges.
double coordinate(int64_t i, int64_t count, bool align_corners) {
  if (align_corners)
    return count > 1 ? 2.0 * static_cast<double>(i) / static_cast<double>(count - 1) - 1 : 0;
  return (2 * static_cast<double>(i) + 1) / static_cast<double>(count) - 1;
}

Value* number(const Builder& build, const Value* like, double value) {
  return build.scalar(like->dtype(), value);
}

/// One element that a place reads along one axis.
struct Sample {
  Value* element;  // i64, inside the axis
  Value* weight;   // null for 1
};

/// One axis of an image, and how places along it are read.
struct SampledAxis {
  double length;
  GridSampling sampling;

  Value* place(const Builder& build, Value* coordinate) const {
    // From -1 .. 1 to 0 .. length - 1, or to -0.5 .. length - 0.5.
    const double factor = (sampling.align_corners ? length - 1 : length) / 2;
    return build.add(
        Op::add, {times(build, coordinate, factor), number(build, coordinate, (length - 1) / 2)});
  }

  /// A place outside is moved inside, where the grid reads the border or a reflection.
  Value* moved_inside(const Builder& build, Value* place) const {
    if (sampling.outside == OutsideMode::zeros) return place;
    const double low = sampling.align_corners ? 0 : -0.5, span = length - 1 - 2 * low;
    if (sampling.outside == OutsideMode::reflection && span > 0) {
      // A wave of triangles: span - |(place - low) mod 2 span - span| + low.
      Value* wave = build.add(Op::add, {place, number(build, place, -low)});
      wave = build.add(Op::remainder, {wave, number(build, place, 2 * span)});
      wave = build.add(Op::abs, {build.add(Op::sub, {wave, number(build, place, span)})});
      place = build.add(Op::sub, {number(build, place, span + low), wave});
    }
    return build.clamp(place, 0, length - 1);
  }

  /// The element at a whole place; outside, its weight is 0, or it has been moved inside.
  Sample at(const Builder& build, Value* place, Value* weight) const {
    if (sampling.outside == OutsideMode::zeros) {
      Value* is_inside = build.add(
          Op::logical_and, {build.add(Op::greater_equal, {place, number(build, place, 0)}),
                            build.add(Op::less_equal, {place, number(build, place, length - 1)})});
      Value* counted = weight ? weight : number(build, place, 1);
      weight = build.add(Op::where, {is_inside, counted, number(build, place, 0)});
    }
    return {build.convert(build.clamp(place, 0, length - 1), DType::i64), weight};
  }

  std::vector<Sample> samples(const Builder& build, Value* place) const {
    if (sampling.mode == GridMode::nearest)
      return {at(build, build.add(Op::round, {moved_inside(build, place)}), nullptr)};
    if (sampling.mode == GridMode::linear) {
      place = moved_inside(build, place);
      Value* below = build.add(Op::floor, {place});
      Value* part = build.add(Op::sub, {place, below});
      Value* rest = build.add(Op::sub, {number(build, place, 1), part});
      Value* above = build.add(Op::add, {below, number(build, place, 1)});
      const Sample first = at(build, below, rest);
      return {first, at(build, above, part)};
    }
    return cubic_samples(build, place);
  }

  /// Cubic convolution of four neighbours, Keys 1981, with a = -0.75.
  std::vector<Sample> cubic_samples(const Builder& build, Value* place) const {
    constexpr double a = -0.75;
    const auto polynomial = [&](Value* d, std::initializer_list<double> greatest_power_first) {
      Value* sum = nullptr;
      for (const double factor : greatest_power_first) {
        Value* next = number(build, d, factor);
        sum = sum == nullptr ? next : build.add(Op::add, {build.add(Op::mul, {sum, d}), next});
      }
      return sum;
    };
    Value* below = build.add(Op::floor, {place});
    std::vector<Sample> found;
    for (int offset = -1; offset <= 2; ++offset) {
      Value* neighbour = build.add(Op::add, {below, number(build, place, offset)});
      Value* distance = build.add(Op::abs, {build.add(Op::sub, {place, neighbour})});
      Value* weight = offset == 0 || offset == 1 ? polynomial(distance, {a + 2, -(a + 3), 0, 1})
                                                 : polynomial(distance, {a, -5 * a, 8 * a, -4 * a});
      Value* element = sampling.outside == OutsideMode::zeros
                           ? neighbour
                           : build.add(Op::round, {moved_inside(build, neighbour)});
      found.push_back(at(build, element, weight));
    }
    return found;
  }
};

/// For what no kernel has: the weighted sum of single elements that are read one by one.
Value* sample_elements(const Builder& build, Value* x, Value* grid, const GridSampling& sampling) {
  const size_t axes = x->shape().size() - 2;
  const int64_t last = grid->type().rank() - 1;
  if (grid->shape().size() < 2 || grid->shape().back() != Dim(static_cast<int64_t>(axes)))
    build.fail("reads {} at the places {}", to_string(x->type()), to_string(grid->type()));
  const Dim batch = x->shape()[0], channels = x->shape()[1];
  const Shape inner(grid->shape().begin() + 1, grid->shape().end() - 1);
  const Dim places = element_count(inner);

  // One sample of the axes so far: a place in the flattened image, and its weight.
  std::vector<Sample> samples = {{nullptr, nullptr}};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t length = static_length(build, x, static_cast<int64_t>(i) + 2);
    Value* coordinate = build.slice(grid, last, static_cast<int64_t>(axes - 1 - i), 1);
    coordinate = build.view(coordinate, {batch, 1, places});
    const SampledAxis axis{static_cast<double>(length), sampling};
    const std::vector<Sample> along = axis.samples(build, axis.place(build, coordinate));
    std::vector<Sample> all;
    for (const Sample& before : samples)
      for (const Sample& here : along) {
        Sample both = here;
        if (before.element != nullptr) {
          Value* row = times(build, before.element, static_cast<double>(length));
          both.element = build.add(Op::add, {row, here.element});
        }
        if (before.weight != nullptr)
          both.weight =
              here.weight ? build.add(Op::mul, {before.weight, here.weight}) : before.weight;
        all.push_back(both);
      }
    samples = std::move(all);
  }

  Value* flat =
      build.view(x, {batch, channels, product({x->shape().begin() + 2, x->shape().end()})});
  Value* total = nullptr;
  for (const Sample& sample : samples) {
    Value* element = build.expand(sample.element, {batch, channels, places});
    Value* y = build.add(Op::gather_elements, {flat, element}, AxisAttrs{2});
    if (sample.weight != nullptr) y = build.add(Op::mul, {y, sample.weight});
    total = total ? build.add(Op::add, {total, y}) : y;
  }
  Shape result = {batch, channels};
  result.insert(result.end(), inner.begin(), inner.end());
  return build.view(total, result);
}

}  // namespace

Value* grid_sample(const Builder& build, Value* x, Value* grid, const GridSampling& sampling) {
  if (x->shape().size() < 3 || x->shape().size() > 5)
    build.fail("samples {}; only images and volumes are supported", to_string(x->type()));
  grid = build.convert(grid, x->dtype());
  if (x->shape().size() != 4 || sampling.mode == GridMode::cubic)
    return sample_elements(build, x, grid, sampling);
  const bool nearest = sampling.mode == GridMode::nearest;
  const GridSampleAttrs attrs{nearest ? ResizeMode::nearest : ResizeMode::bilinear,
                              sampling.outside, sampling.align_corners};
  return build.from_channels_last(
      build.add(Op::grid_sample, {build.to_channels_last(x), grid}, attrs));
}

Value* affine_grid(const Builder& build, Value* maps, const Ints& sizes, bool align_corners) {
  constexpr int64_t kMostPlaces = 1 << 26;
  const auto places = checked_product(sizes);
  const bool is_empty = std::ranges::any_of(sizes, [](int64_t size) { return size < 1; });
  if (is_empty || !places || *places > kMostPlaces)
    build.fail("makes a grid of {}", fmt::join(sizes, "x"));
  const auto axes = std::ssize(sizes);
  Tensor base({maps->dtype(), {*places, axes + 1}});
  for (int64_t i = 0; i < *places; ++i) {
    int64_t rest = i;
    for (int64_t j = 0; j < axes; ++j) {
      const int64_t length = sizes[static_cast<size_t>(axes - 1 - j)];
      base.set((axes + 1) * i + j, coordinate(rest % length, length, align_corners));
      rest /= length;
    }
    base.set((axes + 1) * i + axes, 1);
  }
  Value* y = build.add(Op::matmul, {build.constant(base), maps}, MatmulAttrs{true});
  if (y->shape().size() != 3) build.fail("maps {}", to_string(maps->type()));
  Shape shape = {y->shape()[0]};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  shape.push_back(axes);
  return view(build, y, shape);
}

}  // namespace layline::ops
