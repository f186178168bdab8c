// Windows along an axis as an axis of their own, patches of an image as columns, and back. Without
// overlap these are relayouts; otherwise every element of a window, or every window, is a slice.
#include <algorithm>
#include <array>

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

/// What is too long to be written out as slices.
constexpr int64_t kMostSlices = 1 << 12;

Value* with_axis(const Call& call, Value* x, int64_t axis, Dim length) {
  Shape shape = x->shape();
  shape.insert(shape.begin() + axis, length);
  return call.view(x, std::move(shape));
}

/// One axis [length] as two, [count, size]: window i begins at i * step.
Value* windows(const Call& call, Value* x, int64_t axis, int64_t count, int64_t size,
               int64_t step) {
  const auto a = static_cast<size_t>(axis);
  Shape split = x->shape();
  split[a] = count;
  split.insert(split.begin() + axis + 1, Dim(size));
  if (step == size) return call.view(call.slice(x, axis, 0, count * size), std::move(split));
  if (std::min(count, size) > kMostSlices)
    call.fail("takes {} windows of {} elements, too many to be written out", count, size);
  std::vector<Value*> parts;
  if (count <= size) {
    for (int64_t i = 0; i < count; ++i) parts.push_back(call.slice(x, axis, i * step, size));
    return call.view(call.concat(std::move(parts), axis), std::move(split));
  }
  for (int64_t k = 0; k < size; ++k)
    parts.push_back(with_axis(call, call.slice(x, axis, k, count, step), axis + 1, 1));
  return call.concat(std::move(parts), axis + 1);
}

Value* unfolded(const Call& call) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank();
  if (rank == 0 || !is_static(x->shape())) call.fail("takes no {}", to_string(x->type()));
  const int64_t axis = call.axis("dimension", 0, rank);
  const int64_t length = x->shape()[static_cast<size_t>(axis)].value();
  const int64_t size = call.integer("size"), step = call.integer("step");
  if (size < 1 || step < 1 || size > length)
    call.fail("takes windows of {} every {} of {}", size, step, length);
  const int64_t count = (length - size) / step + 1;
  std::vector<int> last;
  for (int a = 0; a <= rank; ++a)
    if (a != axis + 1) last.push_back(a);
  last.push_back(static_cast<int>(axis) + 1);
  return call.permute(windows(call, x, axis, count, size, step), last);
}

void unfold(Call& call) { call.view_result(unfolded(call), "self"); }

void unfold_copy(Call& call) { call.result(unfolded(call)); }

/// How patches lie on an image, per spatial axis.
struct Patches {
  Ints kernel, dilation, padding, stride;
  Ints count;

  bool tile() const { return stride == kernel && dilation == Ints{1, 1} && padding == Ints{0, 0}; }
};

Patches patches(const Call& call, const Ints& image) {
  Patches p{call.ints_per_axis("kernel_size", 2, {}),
            call.ints_per_axis("dilation", 2, {1}),
            call.ints_per_axis("padding", 2, {0}),
            call.ints_per_axis("stride", 2, {1}),
            {}};
  constexpr int64_t kMost = 1 << 20;
  for (size_t i = 0; i < 2; ++i) {
    for (int64_t value : {p.kernel[i], p.dilation[i], p.stride[i]})
      if (value < 1 || value > kMost) call.fail("has the size {}", value);
    if (p.padding[i] < 0 || p.padding[i] > kMost) call.fail("pads by {}", p.padding[i]);
    const int64_t span = p.dilation[i] * (p.kernel[i] - 1) + 1;
    if (image[i] > kMost || span > image[i] + 2 * p.padding[i])
      call.fail("takes patches of {} from an image of {}", span, image[i]);
    p.count.push_back((image[i] + 2 * p.padding[i] - span) / p.stride[i] + 1);
  }
  if (p.kernel[0] * p.kernel[1] > kMostSlices && !p.tile())
    call.fail("takes patches of {}x{}, too large to be written out", p.kernel[0], p.kernel[1]);
  return p;
}

/// [N, C, H, W] to [N, C * kernel, patches].
void im2col(Call& call) {
  Value* x = call.tensor("self");
  if (!is_static(x->shape()) || x->shape().size() < 3 || x->shape().size() > 4)
    call.fail("takes no {}", to_string(x->type()));
  if (x->shape().size() == 3) x = with_axis(call, x, 0, 1);
  const Patches p = patches(call, {x->shape()[2].value(), x->shape()[3].value()});
  if (p.tile()) {
    static constexpr std::array<int, 6> kKernelFirst = {0, 1, 3, 5, 2, 4};
    for (int64_t axis : {3, 2}) {
      const auto i = static_cast<size_t>(axis) - 2;
      x = windows(call, x, axis, p.count[i], p.kernel[i], p.stride[i]);
    }
    return call.result(call.view(call.permute(x, kKernelFirst), call.recorded().shape));
  }
  PadAttrs pad{
      {0, 0, p.padding[0], p.padding[1]}, {0, 0, p.padding[0], p.padding[1]}, PadMode::constant, 0};
  if (p.padding != Ints{0, 0}) x = call.add(Op::pad, {x}, std::move(pad));
  std::vector<Value*> taps;
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j) {
      Value* rows = call.slice(x, 2, i * p.dilation[0], p.count[0], p.stride[0]);
      Value* tap = call.slice(rows, 3, j * p.dilation[1], p.count[1], p.stride[1]);
      taps.push_back(with_axis(call, tap, 2, 1));
    }
  call.result(call.view(call.concat(std::move(taps), 2), call.recorded().shape));
}

/// Element i of an axis goes to `first` + i * step of `length`, zeros elsewhere.
Value* spread(const Call& call, Value* x, int64_t axis, int64_t first, int64_t step,
              int64_t length) {
  auto pad = [&](Value* value, int64_t at, int64_t low, int64_t high) {
    PadAttrs attrs{Ints(value->shape().size(), 0), Ints(value->shape().size(), 0),
                   PadMode::constant, 0};
    attrs.low[static_cast<size_t>(at)] = low;
    attrs.high[static_cast<size_t>(at)] = high;
    return low == 0 && high == 0 ? value : call.add(Op::pad, {value}, std::move(attrs));
  };
  const int64_t count = x->shape()[static_cast<size_t>(axis)].value();
  Shape spaced = x->shape();
  spaced[static_cast<size_t>(axis)] = count * step;
  x = call.view(pad(with_axis(call, x, axis + 1, 1), axis + 1, 0, step - 1), std::move(spaced));
  // Behind the last element there is nothing to keep.
  const int64_t used = (count - 1) * step + 1;
  return pad(call.slice(x, axis, 0, used), axis, first, length - first - used);
}

/// [N, C * kernel, patches] to [N, C, H, W]: overlapping elements are added up.
void col2im(Call& call) {
  Value* x = call.tensor("self");
  if (!is_static(x->shape()) || x->shape().size() < 2 || x->shape().size() > 3)
    call.fail("takes no {}", to_string(x->type()));
  if (x->shape().size() == 2) x = with_axis(call, x, 0, 1);
  const Ints image = call.ints_per_axis("output_size", 2, {});
  const Patches p = patches(call, image);
  const auto channels = divide(x->shape()[1], p.kernel[0] * p.kernel[1]);
  if (!channels || x->shape()[2] != Dim(p.count[0] * p.count[1]))
    call.fail("{} does not hold {}x{} patches", to_string(x->type()), p.count[0], p.count[1]);
  const Dim batch = x->shape()[0];
  x = call.view(x, {batch, *channels, p.kernel[0], p.kernel[1], p.count[0], p.count[1]});
  if (p.tile()) {
    static constexpr std::array<int, 6> kPatchFirst = {0, 1, 4, 2, 5, 3};
    const Ints covered = {p.count[0] * p.kernel[0], p.count[1] * p.kernel[1]};
    x = call.view(call.permute(x, kPatchFirst), {batch, *channels, covered[0], covered[1]});
    PadAttrs rest{
        {0, 0, 0, 0}, {0, 0, image[0] - covered[0], image[1] - covered[1]}, PadMode::constant, 0};
    if (covered != image) x = call.add(Op::pad, {x}, std::move(rest));
    return call.result(call.view(x, call.recorded().shape));
  }
  Value* sum = nullptr;
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j) {
      Value* tap = call.slice(call.slice(x, 2, i, 1), 3, j, 1);
      tap = call.view(tap, {batch, *channels, p.count[0], p.count[1]});
      const int64_t tall = image[0] + 2 * p.padding[0], wide = image[1] + 2 * p.padding[1];
      tap = spread(call, tap, 2, i * p.dilation[0], p.stride[0], tall);
      tap = spread(call, tap, 3, j * p.dilation[1], p.stride[1], wide);
      sum = sum == nullptr ? tap : call.add(Op::add, {sum, tap});
    }
  sum = call.slice(call.slice(sum, 2, p.padding[0], image[0]), 3, p.padding[1], image[1]);
  call.result(call.view(sum, call.recorded().shape));
}

constexpr OpRule kRules[] = {
    {"aten.unfold.default", unfold},
    {"aten.unfold_copy.default", unfold_copy},
    {"aten.im2col.default", im2col},
    {"aten.col2im.default", col2im},
};

}  // namespace

std::span<const OpRule> unfold_rules() { return kRules; }

}  // namespace layline::pt2
