// Taking tensors apart and putting them together.
#include "frontend/ops/join.h"

#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

/// The tensors in one dtype, without the empty 1-d tensors that torch.cat passes over.
std::vector<Value*> joined(const Call& call) {
  const DType dtype = call.recorded().dtype;
  std::vector<Value*> parts;
  for (Value* part : call.tensors("tensors"))
    if (part->shape() != Shape{0}) parts.push_back(call.convert(part, dtype));
  return parts;
}

std::vector<Value*> stacked(const Call& call) {
  std::vector<Value*> parts = joined(call);
  if (parts.empty()) call.fail("stacks no tensors");
  return parts;
}

void cat(Call& call) {
  std::vector<Value*> parts = joined(call);
  if (parts.empty())
    return call.result(call.constant(Constant::owned(call.recorded().dtype, {0}, {})));
  const int64_t rank = parts[0]->type().rank();
  call.result(call.concat(std::move(parts), call.axis("dim", 0, rank)));
}

void stack(Call& call) {
  const std::vector<Value*> parts = stacked(call);
  call.result(ops::stack(call, parts, call.axis("dim", 0, parts[0]->type().rank() + 1)));
}

void stack_along(Call& call, int64_t axis, size_t rank) {
  call.result(ops::stack_along(call, stacked(call), axis, rank));
}

void column_stack(Call& call) { call.result(ops::stack_columns(call, stacked(call))); }

void dstack(Call& call) { call.result(ops::stack_depth(call, stacked(call))); }

void meshgrid(Call& call) {
  const bool columns_first = call.string("indexing", "ij") == "xy";
  call.results(ops::meshgrid(call, call.tensors("tensors"), columns_first));
}

void broadcast_tensors(Call& call) {
  const std::vector<Value*> tensors = call.tensors("tensors");
  for (size_t i = 0; i < tensors.size(); ++i)
    call.result(call.expand(tensors[i], call.recorded(i).shape));
}

void cartesian_prod(Call& call) {
  call.result(ops::cartesian_product(call, call.tensors("tensors")));
}

void block_diag(Call& call) {
  std::vector<Value*> blocks = call.tensors("tensors");
  for (Value*& block : blocks) block = call.convert(block, call.recorded().dtype);
  if (blocks.empty()) call.fail("joins no tensors");
  call.result(ops::block_diagonal(call, blocks));
}

void diff(Call& call) {
  const DType dtype = call.recorded().dtype;
  Value* x = call.convert(call.tensor("self"), dtype);
  if (x->shape().empty()) call.fail("takes no 0-d tensors");
  const int64_t axis = call.axis("dim", -1, x->type().rank());
  std::vector<Value*> parts = {x};
  if (Value* before = call.optional_tensor("prepend"))
    parts.insert(parts.begin(), call.convert(before, dtype));
  if (Value* after = call.optional_tensor("append")) parts.push_back(call.convert(after, dtype));
  call.result(ops::diff(call, call.concat(std::move(parts), axis), axis, call.integer("n", 1)));
}

void slice(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis_of(x);
  // The size is what torch knows it to be: the elements from u to u + 3 are 3.
  if (call.reads_data("start"))
    return call.result(ops::slice_at(call, x, axis, call.computed("start"),
                                     call.recorded().shape[static_cast<size_t>(axis)],
                                     call.integer("step", 1)));
  ops::Slice slice;
  if (call.has("start")) slice.start = call.expression("start");
  if (call.has("end")) slice.end = call.expression("end");
  slice.step = call.integer("step", 1);
  call.result(ops::slice(call, x, axis, slice));
}

void select(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis_of(x);
  if (Value* index = call.computed("index"))
    return call.result(ops::without_axes(call, ops::slice_at(call, x, axis, index, 1, 1), {axis}));
  call.result(ops::select(call, x, axis, call.integer("index")));
}

void narrow(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis_of(x);
  if (Value* start = call.computed("start"))
    return call.result(
        ops::slice_at(call, x, axis, start, call.recorded().shape[static_cast<size_t>(axis)], 1));
  call.result(ops::narrow(call, x, axis, call.integer("start"), call.expression("length")));
}

void split(Call& call) {
  Value* x = call.tensor("self");
  call.results(ops::split(call, x, call.axis_of(x), call.integer("split_size")));
}

void split_with_sizes(Call& call) {
  Value* x = call.tensor("self");
  call.results(ops::cut(call, x, call.axis_of(x), call.ints("split_sizes", {})));
}

void chunk(Call& call) {
  Value* x = call.tensor("self");
  const int64_t chunks = call.integer("chunks");
  if (chunks < 1) call.fail("splits into {} chunks", chunks);
  const int64_t axis = call.axis_of(x), length = ops::static_length(call, x, axis);
  call.results(ops::split(call, x, axis, (length + chunks - 1) / chunks));
}

void tensor_split_sections(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis_of(x);
  const int64_t sections = call.integer("sections");
  if (sections < 1 || static_cast<size_t>(sections) != call.output_count())
    call.fail("splits into {} sections", sections);
  call.results(ops::split_evenly(call, x, axis, sections));
}

void tensor_split_indices(Call& call) {
  Value* x = call.tensor("self");
  call.results(ops::split_at(call, x, call.axis_of(x), call.ints("indices", {})));
}

void unbind(Call& call) {
  Value* x = call.tensor("self");
  call.results(ops::unbind(call, x, call.axis_of(x)));
}

void flip(Call& call) {
  Value* x = call.tensor("self");
  if (call.ints("dims", {}).empty()) return call.result(x);
  call.result(call.add(Op::flip, {x}, AxesAttrs{call.axes("dims", x->type().rank())}));
}

template <int64_t axis>
void flip_axis(Call& call) {
  Value* x = call.tensor("self");
  if (x->type().rank() <= axis) call.fail("takes no {}", to_string(x->type()));
  call.result(call.add(Op::flip, {x}, AxesAttrs{{axis}}));
}

void rot90(Call& call) {
  Value* x = call.tensor("self");
  const Ints axes = call.ints("dims", {0, 1});
  const int64_t rank = x->type().rank();
  if (axes.size() != 2) call.fail("turns a plane of {} axes", axes.size());
  auto counted = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  const int64_t from = counted(axes[0]), to = counted(axes[1]);
  if (from < 0 || from >= rank || to < 0 || to >= rank || from == to)
    call.fail("turns from axis {} to axis {} of {}", axes[0], axes[1], to_string(x->type()));
  call.result(ops::quarter_turns(call, x, from, to, call.integer("k", 1)));
}

void roll(Call& call) {
  Value* x = call.tensor("self");
  Ints axes = call.ints("dims", {});
  for (int64_t& axis : axes) axis += axis < 0 ? x->type().rank() : 0;
  call.result(ops::roll(call, x, std::move(axes), call.ints("shifts", {})));
}

constexpr OpRule kRules[] = {
    {"aten.cat.default", cat},
    {"aten.diff.default", diff},
    {"aten.stack.default", stack},
    {"aten.column_stack.default", column_stack},
    {"aten.dstack.default", dstack},
    {"aten.broadcast_tensors.default", broadcast_tensors},
    {"aten.meshgrid.default", meshgrid},
    {"aten.meshgrid.indexing", meshgrid},
    {"aten.cartesian_prod.default", cartesian_prod},
    {"aten.block_diag.default", block_diag},
    {"aten.hstack.default", [](Call& call) { stack_along(call, 1, 1); }},
    {"aten.vstack.default", [](Call& call) { stack_along(call, 0, 2); }},
    {"aten.slice.Tensor", slice, Memory::shared},
    {"aten.slice_copy.Tensor", slice},
    {"aten.select.int", select, Memory::shared},
    {"aten.select_copy.int", select},
    {"aten.narrow.default", narrow, Memory::shared},
    {"aten.split.Tensor", split, Memory::shared},
    {"aten.split_copy.Tensor", split},
    {"aten.split_with_sizes.default", split_with_sizes, Memory::shared},
    {"aten.split_with_sizes_copy.default", split_with_sizes},
    {"aten.split.sizes", split_with_sizes, Memory::shared},
    {"aten.chunk.default", chunk, Memory::shared},
    {"aten.tensor_split.sections", tensor_split_sections, Memory::shared},
    {"aten.tensor_split.indices", tensor_split_indices, Memory::shared},
    {"aten.unbind.int", unbind, Memory::shared},
    {"aten.flip.default", flip},
    {"aten.fliplr.default", flip_axis<1>},
    {"aten.flipud.default", flip_axis<0>},
    {"aten.rot90.default", rot90},
    {"aten.roll.default", roll},
};

}  // namespace

std::span<const OpRule> join_rules() { return kRules; }

}  // namespace layline::pt2
