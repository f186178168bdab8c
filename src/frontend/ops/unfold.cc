// Windows and patches without overlap are relayouts. Otherwise every element of a window, or every
// window, is a slice.
#include "frontend/ops/unfold.h"

#include <algorithm>
#include <array>

#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

/// More slices than these are not written out.
constexpr int64_t kMostSlices = 1 << 12;

/// One axis [length] as two, [count, size]: window i begins at i * step.
Value* windows(const Builder& build, Value* x, int64_t axis, int64_t count, int64_t size,
               int64_t step) {
  const auto a = static_cast<size_t>(axis);
  Shape split = x->shape();
  split[a] = count;
  split.insert(split.begin() + axis + 1, Dim(size));
  if (step == size) return build.view(build.slice(x, axis, 0, count * size), std::move(split));
  if (std::min(count, size) > kMostSlices)
    build.fail("takes {} windows of {} elements, too many to be written out", count, size);
  std::vector<Value*> parts;
  if (count <= size) {
    for (int64_t i = 0; i < count; ++i) parts.push_back(build.slice(x, axis, i * step, size));
    return build.view(build.concat(std::move(parts), axis), std::move(split));
  }
  for (int64_t k = 0; k < size; ++k)
    parts.push_back(with_axis(build, build.slice(x, axis, k, count, step), axis + 1));
  return build.concat(std::move(parts), axis + 1);
}

bool tile(const Patches& p) {
  return p.stride == p.kernel && p.dilation == Ints{1, 1} && p.padding == Ints{0, 0};
}

/// How many patches there are along each axis.
Ints count_patches(const Builder& build, const Patches& p, const Ints& image) {
  constexpr int64_t kMost = 1 << 20;
  Ints count;
  for (size_t i = 0; i < 2; ++i) {
    for (int64_t value : {p.kernel[i], p.dilation[i], p.stride[i]})
      if (value < 1 || value > kMost) build.fail("has the size {}", value);
    if (p.padding[i] < 0 || p.padding[i] > kMost) build.fail("pads by {}", p.padding[i]);
    const int64_t span = p.dilation[i] * (p.kernel[i] - 1) + 1;
    if (image[i] > kMost || span > image[i] + 2 * p.padding[i])
      build.fail("takes patches of {} from an image of {}", span, image[i]);
    count.push_back((image[i] + 2 * p.padding[i] - span) / p.stride[i] + 1);
  }
  if (p.kernel[0] * p.kernel[1] > kMostSlices && !tile(p))
    build.fail("takes patches of {}x{}, too large to be written out", p.kernel[0], p.kernel[1]);
  return count;
}

/// Element i of an axis goes to `first` + i * step of `length`, zeros elsewhere.
Value* spread(const Builder& build, Value* x, int64_t axis, int64_t first, int64_t step,
              int64_t length) {
  auto pad = [&](Value* value, int64_t at, int64_t low, int64_t high) {
    PadAttrs attrs{Ints(value->shape().size(), 0), Ints(value->shape().size(), 0),
                   PadMode::constant, 0};
    attrs.low[static_cast<size_t>(at)] = low;
    attrs.high[static_cast<size_t>(at)] = high;
    return low == 0 && high == 0 ? value : build.add(Op::pad, {value}, std::move(attrs));
  };
  const int64_t count = x->shape()[static_cast<size_t>(axis)].value();
  Shape spaced = x->shape();
  spaced[static_cast<size_t>(axis)] = count * step;
  x = build.view(pad(with_axis(build, x, axis + 1), axis + 1, 0, step - 1), std::move(spaced));
  // Behind the last element there is nothing to keep.
  const int64_t used = (count - 1) * step + 1;
  return pad(build.slice(x, axis, 0, used), axis, first, length - first - used);
}

/// Patches without overlap or gaps.
Value* untiled(const Builder& build, Value* x, const Patches& p, const Ints& count) {
  static constexpr std::array<int, 6> kKernelFirst = {0, 1, 3, 5, 2, 4};
  for (int64_t axis : {3, 2}) {
    const auto i = static_cast<size_t>(axis) - 2;
    x = windows(build, x, axis, count[i], p.kernel[i], p.stride[i]);
  }
  return build.permute(x, kKernelFirst);
}

/// A slice for each element of a patch: [N, C, kernel, rows, columns].
Value* taps(const Builder& build, Value* x, const Patches& p, const Ints& count) {
  PadAttrs pad{
      {0, 0, p.padding[0], p.padding[1]}, {0, 0, p.padding[0], p.padding[1]}, PadMode::constant, 0};
  if (p.padding != Ints{0, 0}) x = build.add(Op::pad, {x}, std::move(pad));
  std::vector<Value*> parts;
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j) {
      Value* rows = build.slice(x, 2, i * p.dilation[0], count[0], p.stride[0]);
      Value* tap = build.slice(rows, 3, j * p.dilation[1], count[1], p.stride[1]);
      parts.push_back(with_axis(build, tap, 2));
    }
  return build.concat(std::move(parts), 2);
}

/// Puts [N, C, kernel..., patches...] without overlap or gaps into an image, with zeros where there
/// is no patch.
Value* tiled(const Builder& build, Value* x, const Patches& p, const Ints& count,
             const Ints& image) {
  static constexpr std::array<int, 6> kPatchFirst = {0, 1, 4, 2, 5, 3};
  const Ints covered = {count[0] * p.kernel[0], count[1] * p.kernel[1]};
  const Dim batch = x->shape()[0], channels = x->shape()[1];
  x = build.view(build.permute(x, kPatchFirst), {batch, channels, covered[0], covered[1]});
  PadAttrs rest{
      {0, 0, 0, 0}, {0, 0, image[0] - covered[0], image[1] - covered[1]}, PadMode::constant, 0};
  return covered == image ? x : build.add(Op::pad, {x}, std::move(rest));
}

/// The sum of what each element of a patch adds to the image. x is [N, C, kernel, patches...].
Value* added_up(const Builder& build, Value* x, const Patches& p, const Ints& count,
                const Ints& image, const Ints& behind) {
  Shape shape = {x->shape()[0], x->shape()[1]};
  shape.insert(shape.end(), count.begin(), count.end());
  Value* sum = nullptr;
  const int64_t taps = x->shape()[2].value();
  for (int64_t tap = 0; tap < taps; ++tap) {
    Value* part = build.view(build.slice(x, 2, tap, 1), shape);
    int64_t rest = tap;
    for (size_t i = count.size(); i-- > 0; rest /= p.kernel[i])
      part = spread(build, part, static_cast<int64_t>(i) + 2, rest % p.kernel[i] * p.dilation[i],
                    p.stride[i], p.padding[i] + image[i] + behind[i]);
    sum = sum == nullptr ? part : build.add(Op::add, {sum, part});
  }
  for (size_t i = 0; i < count.size(); ++i)
    sum = build.slice(sum, static_cast<int64_t>(i) + 2, p.padding[i], image[i]);
  return sum;
}

}  // namespace

Value* unfold(const Builder& build, Value* x, int64_t axis, int64_t size, int64_t step) {
  const int64_t rank = x->type().rank();
  if (rank == 0 || !is_static(x->shape())) build.fail("takes no {}", to_string(x->type()));
  const int64_t length = x->shape()[static_cast<size_t>(axis)].value();
  if (size < 1 || step < 1 || size > length)
    build.fail("takes windows of {} every {} of {}", size, step, length);
  const int64_t count = (length - size) / step + 1;
  std::vector<int> last;
  for (int a = 0; a <= rank; ++a)
    if (a != axis + 1) last.push_back(a);
  last.push_back(static_cast<int>(axis) + 1);
  return build.permute(windows(build, x, axis, count, size, step), last);
}

Value* im2col(const Builder& build, Value* x, const Patches& patches) {
  if (!is_static(x->shape()) || x->shape().size() < 3 || x->shape().size() > 4)
    build.fail("takes no {}", to_string(x->type()));
  const bool batched = x->shape().size() == 4;
  if (!batched) x = with_axis(build, x, 0);
  const Ints count = count_patches(build, patches, {x->shape()[2].value(), x->shape()[3].value()});
  Shape columns = {x->shape()[0], x->shape()[1] * Dim(patches.kernel[0] * patches.kernel[1]),
                   count[0] * count[1]};
  if (!batched) columns.erase(columns.begin());
  x = tile(patches) ? untiled(build, x, patches, count) : taps(build, x, patches, count);
  return build.view(x, std::move(columns));
}

Value* col2im(const Builder& build, Value* x, const Ints& image, const Patches& patches) {
  if (!is_static(x->shape()) || x->shape().size() < 2 || x->shape().size() > 3)
    build.fail("takes no {}", to_string(x->type()));
  const bool batched = x->shape().size() == 3;
  if (!batched) x = with_axis(build, x, 0);
  const Ints count = count_patches(build, patches, image);
  const auto channels = divide(x->shape()[1], patches.kernel[0] * patches.kernel[1]);
  if (!channels || x->shape()[2] != Dim(count[0] * count[1]))
    build.fail("{} does not hold {}x{} patches", to_string(x->type()), count[0], count[1]);
  if (tile(patches)) {
    x = build.view(
        x, {x->shape()[0], *channels, patches.kernel[0], patches.kernel[1], count[0], count[1]});
    x = tiled(build, x, patches, count, image);
  } else {
    x = col2im(build, x, image, patches, patches.padding);
  }
  return batched ? x : without_axes(build, x, {0});
}

Value* col2im(const Builder& build, Value* x, const Ints& image, const Patches& patches,
              const Ints& padding_behind) {
  if (!is_static(x->shape()) || x->shape().size() != 3)
    build.fail("takes no {}", to_string(x->type()));
  int64_t taps = 1, places = 1;
  Ints count;
  for (size_t i = 0; i < image.size(); ++i) {
    const int64_t reach = (patches.kernel[i] - 1) * patches.dilation[i] + 1;
    const int64_t length = patches.padding[i] + image[i] + padding_behind[i];
    if (patches.kernel[i] < 1 || patches.dilation[i] < 1 || patches.stride[i] < 1 ||
        patches.padding[i] < 0 || padding_behind[i] < 0 || image[i] < 1 || reach > length)
      build.fail("a patch of {} does not fit an axis of {}", patches.kernel[i], image[i]);
    count.push_back((length - reach) / patches.stride[i] + 1);
    taps *= patches.kernel[i];
    places *= count.back();
  }
  const auto channels = divide(x->shape()[1], taps);
  if (!channels || x->shape()[2] != Dim(places))
    build.fail("{} does not hold {} patches of {} elements", to_string(x->type()), places, taps);
  x = build.view(x, {x->shape()[0], *channels, taps, places});
  return added_up(build, x, patches, count, image, padding_behind);
}

}  // namespace layline::ops
