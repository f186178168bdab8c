// Taking tensors apart and putting them together.
#include "frontend/ops/join.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/shapes.h"

namespace layline::onnx {
namespace {

void concat(Call& call) {
  const std::vector<Value*> parts = call.inputs();
  const int64_t axis = call.axis(call.integer("axis"), parts[0]->type().rank());
  call.result(call.concat(parts, axis));
}

/// The sizes of the pieces: given, or equal, or (opset 18) equal but for the last.
void split(Call& call) {
  Value* x = call.input(0);
  const int64_t axis = call.axis(call.integer("axis", 0), x->type().rank());
  if (const auto sizes = call.attribute_or_input("split", 1)) {
    const Dim length = x->shape()[static_cast<size_t>(axis)];
    const int64_t sum = std::accumulate(sizes->begin(), sizes->end(), int64_t{0});
    if (std::ranges::any_of(*sizes, [](int64_t size) { return size < 0; }) || !length.is_static() ||
        length.value() != sum)
      call.fail("splits {} into pieces of {} elements together", to_string(length), sum);
    int64_t start = 0;
    for (const int64_t size : *sizes) {
      call.result(call.slice(x, axis, start, size));
      start += size;
    }
    return;
  }
  const auto pieces = call.integer("num_outputs", static_cast<int64_t>(call.node().outputs.size()));
  if (pieces < 1) call.fail("splits into {} pieces", pieces);
  const int64_t length = ops::static_length(call, x, axis);
  const int64_t size = (length + pieces - 1) / pieces;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t start = std::min(i * size, length);
    call.result(call.slice(x, axis, start, std::min(size, length - start)));
  }
}

/// One axis of a slice. A negative step walks backwards: the axis is flipped first.
Value* sliced(const Call& call, Value* x, int64_t axis, Sum start, Sum end, int64_t step) {
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
  if (step == 0) call.fail("the step is 0");
  SymbolTable& symbols = call.graph().symbol_table();
  const Sum length = symbols.expand(x->shape()[static_cast<size_t>(axis)]);
  auto is_far = [&](const Sum& place) { return place.is_number() && place.constant() >= kFar; };
  ops::Slice slice;
  if (step > 0) {
    slice.step = step;
    if (!(start.is_number() && start.constant() <= -kFar)) slice.start = start;
    if (!is_far(end)) slice.end = end;
    if (slice.start && is_far(*slice.start)) slice.start = length;
    return ops::slice(call, x, axis, slice);
  }
  // Element i counted from the end is element length - 1 - i.
  auto from_start = [&](const Sum& place) {
    const auto [least, greatest] = symbols.range(place);
    if (greatest < 0) return place + length;
    if (least < 0) call.fail("a place may count from either end");
    return place;
  };
  const Sum last = length - Sum::number(1);
  Sum first = is_far(start) ? last : symbols.minimum({from_start(start), last});
  first = symbols.maximum({first, Sum::number(-1)});
  Sum before = Sum::number(-1);
  if (!(end.is_number() && end.constant() <= -kFar)) {
    before = symbols.maximum({from_start(end), Sum::number(-1)});
    before = symbols.minimum({before, last});
  }
  slice.start = last - first;
  slice.end = last - before;
  slice.step = -step;
  return ops::slice(call, call.add(Op::flip, {x}, AxesAttrs{{axis}}), axis, slice);
}

void slice(Call& call) {
  Value* x = call.input(0);
  const int64_t rank = x->type().rank();
  std::vector<Sum> starts, ends;
  Ints axes, steps;
  if (call.opset() >= 10) {
    starts = call.sums(1, "`starts`");
    ends = call.sums(2, "`ends`");
    if (call.has(3)) axes = call.integers(3, "`axes`");
    if (call.has(4)) steps = call.integers(4, "`steps`");
  } else {
    for (const int64_t place : call.ints("starts", {})) starts.push_back(Sum::number(place));
    for (const int64_t place : call.ints("ends", {})) ends.push_back(Sum::number(place));
    axes = call.ints("axes", {});
  }
  if (axes.empty() && !call.has(3)) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  steps.resize(steps.empty() ? starts.size() : steps.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    call.fail("has {} starts, {} ends, {} axes and {} steps", starts.size(), ends.size(),
              axes.size(), steps.size());
  call.axes(axes, rank);  // each once
  for (size_t i = 0; i < axes.size(); ++i)
    x = sliced(call, x, call.axis(axes[i], rank), starts[i], ends[i], steps[i]);
  call.result(x);
}

constexpr OpRule kRules[] = {
    {"Concat", concat},
    {"Split", split},
    {"Slice", slice},
};

}  // namespace

std::span<const OpRule> join_rules() { return kRules; }

}  // namespace layline::onnx
