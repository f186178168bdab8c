// Writes to slices: those to a state stay as they are, if the target writes in place, since they
// cost no more than what they write. All others make a new value, and are written out in the form
// that joins the ops around them best.
#include <algorithm>
#include <optional>

#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

/// Whether the value is written to the input at the end of a run, moved or written to on the way.
bool goes_to(const Graph& graph, const Value* value, size_t input) {
  for (const GraphOutput& output : graph.outputs())
    if (output.value == value && output.writes == input) return true;
  return std::ranges::any_of(value->uses(), [&](const Use& use) {
    const bool passes =
        use.user->is(Op::relayout) || (use.user->is(Op::scatter) && use.operand == 0);
    return passes && goes_to(graph, use.user->result(), input);
  });
}

/// Whether the scatter's data are a state's, and what it gives becomes the state.
bool writes_state(const Graph& graph, const Node& scatter) {
  const Value* data = scatter.operand(0);
  while (data->def() && (data->def()->is(Op::relayout) || data->def()->is(Op::scatter)))
    data = data->def()->operand(0);
  const auto inputs = graph.inputs();
  const auto state = std::ranges::find(inputs, data, &GraphInput::value);
  return data->def() == nullptr && state != inputs.end() && state->is_state() &&
         goes_to(graph, scatter.result(), static_cast<size_t>(state - inputs.begin()));
}

/// Places that are as far from each other.
struct Progression {
  int64_t start, step, count;
};

std::optional<Progression> progression(const Value* indices, int64_t length) {
  const Constant* data = constant_of(indices);
  if (data == nullptr) return std::nullopt;
  const Tensor places = tensor_of(*data);
  if (places.count() == 0) return std::nullopt;
  const int64_t start = places.get_int(0),
                step = places.count() > 1 ? places.get_int(1) - start : 1;
  for (int64_t i = 0; i < places.count(); ++i)
    if (places.get_int(i) != start + i * step) return std::nullopt;
  if (start < 0 || step < 1 || start + (places.count() - 1) * step >= length) return std::nullopt;
  return Progression{start, step, places.count()};
}

/// `base` with a run of slices replaced.
Value* with_run(const Builder& build, Value* base, Value* part, int64_t axis, int64_t start) {
  const auto a = static_cast<size_t>(axis);
  const int64_t length = base->shape()[a].value(), end = start + part->shape()[a].value();
  std::vector<Value*> pieces;
  if (start > 0) pieces.push_back(build.slice(base, axis, 0, start));
  pieces.push_back(part);
  if (end < length) pieces.push_back(build.slice(base, axis, end, length - end));
  return build.concat(std::move(pieces), axis);
}

Value* with_progression(const Builder& build, Value* base, Value* part, int64_t axis,
                        const Progression& places) {
  const auto [start, step, count] = places;
  if (step == 1 || count == 1) return with_run(build, base, part, axis, start);
  // The region as [outer, count, step, inner]: element 0 of each step is replaced. The last step
  // may reach beyond the axis.
  const auto a = static_cast<size_t>(axis);
  const int64_t missing = std::max<int64_t>(0, start + count * step - base->shape()[a].value());
  Value* padded = base;
  if (missing > 0) {
    PadAttrs pad{Ints(base->shape().size(), 0), Ints(base->shape().size(), 0)};
    pad.high[a] = missing;
    padded = build.add(Op::pad, {base}, std::move(pad));
  }
  Value* region = build.slice(padded, axis, start, count * step);
  const Shape shape = region->shape();
  const std::span<const Dim> dims(shape);
  const Dim outer = product(dims.first(a)), inner = product(dims.subspan(a + 1));
  Value* kept = build.slice(build.view(region, {outer, count, step, inner}), 2, 1, step - 1);
  Value* joined = build.concat({build.view(part, {outer, count, 1, inner}), kept}, 2);
  Value* replaced = build.slice(build.view(joined, shape), axis, 0, count * step - missing);
  return with_run(build, base, replaced, axis, start);
}

/// One slice, chosen by comparison: that is elementwise, as what surrounds it often is.
Value* with_slice(const Builder& build, Value* base, Value* index, Value* part, int64_t axis) {
  Shape along(base->shape().size() - static_cast<size_t>(axis), Dim(1));
  along[0] = base->shape()[static_cast<size_t>(axis)];
  Tensor places({DType::i64, {along[0]}});
  for (int64_t i = 0; i < places.count(); ++i) places.set_int(i, i);
  Value* hit = build.add(Op::equal, {build.constant(places), build.view(index, {1})});
  return build.add(Op::where, {build.view(hit, std::move(along)), part, base});
}

Value* written_out(const Builder& build, const Node& node) {
  Value *base = node.operand(0), *indices = node.operand(1), *part = node.operand(2);
  const int64_t axis = node.attrs<AxisAttrs>().axis;
  const Dim& length = base->shape()[static_cast<size_t>(axis)];
  constexpr int64_t kMostPlaces = 1 << 28;
  if (length.is_static()) {
    if (const auto places = progression(indices, length.value()))
      return with_progression(build, base, part, axis, *places);
    if (has_one_element(indices) && length.value() <= kMostPlaces)
      return with_slice(build, base, indices, part, axis);
  }
  return build.add(Op::scatter_elements, {base, build.expand(indices, part->shape()), part},
                   AxisAttrs{axis});
}

}  // namespace

bool expand_scatters(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::scatter)) continue;
    if (context.target().writes_in_place && writes_state(graph, *node)) continue;
    context.rewrite(*node, "is written out: it does not write to a state in place");
    const BuildBefore build(graph, node);
    replace(graph, node, written_out(build, *node));
    changed = true;
  }
  return changed;
}

}  // namespace layline
