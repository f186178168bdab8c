// Ops that show the same elements in another shape or order, and copies of them.
#include "frontend/ops/view.h"

#include <algorithm>

#include "frontend/ops/index.h"
#include "frontend/ops/shapes.h"
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"
#include "frontend/pt2/weights.h"

namespace layline::pt2 {
namespace {

void reshape(Call& call, std::string_view argument) {
  Value* x = call.tensor("self");
  const std::vector<std::optional<Dim>> sizes = call.sizes(argument);
  // An open size next to a zero is what the model records: nothing determines it.
  const Shape recorded = call.recorded().shape;
  std::optional<Dim> beside_zero;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i]) continue;
    if (beside_zero) call.fail("`{}` leaves more than one size open", argument);
    beside_zero = i < recorded.size() ? recorded[i] : Dim(0);
  }
  const Dim count = element_count(x->shape());
  call.result(call.view(x, ops::complete_shape(call, sizes, count, beside_zero.value_or(0))));
}

void view_as_recorded(Call& call) {
  call.result(ops::view(call, call.tensor("self"), call.recorded().shape));
}

int64_t checked_axis(const Call& call, int64_t axis, int64_t rank) {
  const int64_t counted = axis < 0 ? axis + rank : axis;
  if (counted < 0 || counted >= rank) call.fail("axis {} of a tensor with {} axes", axis, rank);
  return counted;
}

Ints checked_axes(const Call& call, std::string_view argument, int64_t rank) {
  Ints axes = call.ints(argument, {});
  for (int64_t& axis : axes) axis = checked_axis(call, axis, rank);
  Ints sorted = axes;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    call.fail("`{}` names an axis twice", argument);
  return axes;
}

void permute(Call& call) {
  Value* x = call.tensor("self");
  const Ints axes = checked_axes(call, "dims", x->type().rank());
  if (axes.size() != x->shape().size())
    call.fail("permutes {} of {} axes", axes.size(), x->shape().size());
  const std::vector<int> order(axes.begin(), axes.end());
  call.result(call.permute(x, order));
}

void transpose(Call& call, std::string_view first, std::string_view second) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank();
  call.result(ops::swap_axes(call, x, call.axis(first, 0, rank), call.axis(second, 0, rank)));
}

void matrix_transpose(Call& call) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank();
  call.result(rank < 2 ? x : ops::swap_axes(call, x, rank - 2, rank - 1));
}

void reverse_axes(Call& call) { call.result(ops::reverse_axes(call, call.tensor("self"))); }

void movedim(Call& call) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank();
  call.result(ops::move_axes(call, x, checked_axes(call, "source", rank),
                             checked_axes(call, "destination", rank)));
}

void pixel_shuffle(Call& call) {
  call.result(ops::pixel_shuffle(call, call.tensor("self"), call.integer("upscale_factor")));
}

void pixel_unshuffle(Call& call) {
  call.result(ops::pixel_unshuffle(call, call.tensor("self"), call.integer("downscale_factor")));
}

void channel_shuffle(Call& call) {
  call.result(ops::channel_shuffle(call, call.tensor("self"), call.integer("groups")));
}

void expand(Call& call) { call.result(call.expand(call.tensor("self"), call.recorded().shape)); }

void repeat(Call& call, std::string_view times) {
  call.result(ops::repeat(call, call.tensor("self"), call.ints(times, {})));
}

void repeat_interleave(Call& call) {
  Value* x = call.tensor("self");
  if (!call.has("dim")) x = call.view(x, {element_count(x->shape())});
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  call.result(ops::repeat_elements(call, x, axis, call.integer("repeats")));
}

void repeat_interleave_each(Call& call) {
  if (!call.has("output_size")) call.fail("does not say how long its result is; give output_size");
  Value* x = call.tensor("self");
  if (!call.has("dim")) x = call.view(x, {element_count(x->shape())});
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  call.result(ops::repeat_each(call, x, axis, call.tensor("repeats")));
}

/// A permutation of a contiguous tensor's elements that the strides spell out.
void as_strided(Call& call) {
  Value* x = call.tensor("self");
  const Ints sizes = call.ints("size", {}), strides = call.ints("stride", {});
  if (sizes.size() != strides.size())
    call.fail("has {} sizes and {} strides", sizes.size(), strides.size());
  const auto order = dense_order(sizes, strides);
  const Shape shape(sizes.begin(), sizes.end());
  if (!order || element_count(shape) != element_count(x->shape()) ||
      call.integer("storage_offset", 0) != 0 || !call.is_contiguous("self"))
    call.fail("is supported only where it permutes a contiguous tensor");
  Shape stored;
  for (int axis : *order) stored.push_back(shape[static_cast<size_t>(axis)]);
  std::vector<int> back(order->size());
  for (size_t i = 0; i < back.size(); ++i)
    back[static_cast<size_t>((*order)[i])] = static_cast<int>(i);
  call.result(call.permute(call.view(x, stored), back));
}

void same(Call& call) { call.result(call.tensor("self")); }

/// The same elements, cast if the model records another dtype.
void cast(Call& call) { call.result(self_as_recorded(call)); }

/// self[...] = src: the functional form of copy_, which is its only use.
void copy_from(Call& call) {
  Value* self = call.tensor("self");
  call.result(call.expand(call.convert(call.tensor("src"), self->dtype()), self->shape()));
}

constexpr OpRule kRules[] = {
    {"aten.view.default", [](Call& call) { reshape(call, "size"); }, Memory::shared_unless_copied},
    {"aten.view_copy.default", [](Call& call) { reshape(call, "size"); }},
    {"aten._unsafe_view.default", [](Call& call) { reshape(call, "size"); },
     Memory::shared_unless_copied},
    {"aten.reshape.default", [](Call& call) { reshape(call, "shape"); },
     Memory::shared_unless_copied},
    {"aten.flatten.using_ints", view_as_recorded, Memory::shared_unless_copied},
    {"aten.ravel.default", view_as_recorded, Memory::shared_unless_copied},
    {"aten.unflatten.int", view_as_recorded, Memory::shared_unless_copied},
    {"aten.squeeze.default", view_as_recorded, Memory::shared_unless_copied},
    {"aten.squeeze.dim", view_as_recorded, Memory::shared_unless_copied},
    {"aten.squeeze.dims", view_as_recorded, Memory::shared_unless_copied},
    {"aten.squeeze_copy.dims", view_as_recorded},
    {"aten.squeeze_.default", view_as_recorded, Memory::shared},
    {"aten.squeeze_.dim", view_as_recorded, Memory::shared},
    {"aten.squeeze_.dims", view_as_recorded, Memory::shared},
    {"aten.unsqueeze.default", view_as_recorded, Memory::shared_unless_copied},
    {"aten.unsqueeze_.default", view_as_recorded, Memory::shared},
    {"aten.unsqueeze_copy.default", view_as_recorded},
    {"aten.view_as.default", view_as_recorded, Memory::shared_unless_copied},
    {"aten.reshape_as.default", view_as_recorded, Memory::shared_unless_copied},
    {"aten.permute.default", permute, Memory::shared},
    {"aten.permute_copy.default", permute},
    {"aten.transpose.int", [](Call& call) { transpose(call, "dim0", "dim1"); }, Memory::shared},
    {"aten.transpose_copy.int", [](Call& call) { transpose(call, "dim0", "dim1"); }},
    {"aten.transpose_.default", [](Call& call) { transpose(call, "dim0", "dim1"); },
     Memory::shared},
    {"aten.swapaxes.default", [](Call& call) { transpose(call, "axis0", "axis1"); },
     Memory::shared},
    {"aten.swapdims.default", [](Call& call) { transpose(call, "dim0", "dim1"); }, Memory::shared},
    {"aten.t.default", matrix_transpose, Memory::shared},
    {"aten.t_.default", matrix_transpose, Memory::shared},
    {"aten.t_copy.default", matrix_transpose},
    {"aten.mT.default", matrix_transpose, Memory::shared},
    {"aten.numpy_T.default", reverse_axes, Memory::shared},
    {"aten.movedim.intlist", movedim, Memory::shared},
    {"aten.movedim.int", movedim, Memory::shared},
    {"aten.pixel_shuffle.default", pixel_shuffle},
    {"aten.pixel_unshuffle.default", pixel_unshuffle},
    {"aten.channel_shuffle.default", channel_shuffle},
    {"aten.native_channel_shuffle.default", channel_shuffle},
    {"aten.expand.default", expand, Memory::shared},
    {"aten.expand_copy.default", expand},
    {"aten.expand_as.default", expand, Memory::shared},
    {"aten.broadcast_to.default", expand, Memory::shared},
    {"aten.repeat.default", [](Call& call) { repeat(call, "repeats"); }},
    {"aten.tile.default", [](Call& call) { repeat(call, "dims"); }},
    {"aten.repeat_interleave.self_int", repeat_interleave},
    {"aten.repeat_interleave.self_Tensor", repeat_interleave_each},
    {"aten.as_strided.default", as_strided, Memory::shared},
    {"aten.clone.default", cast},
    {"aten._to_copy.default", cast},
    {"dim_order_ops._to_dim_order_copy.default", cast},
    {"aten.lift_fresh_copy.default", cast},
    {"aten.alias_copy.default", cast},
    {"aten.detach_copy.default", cast},
    {"aten.copy.default", copy_from},
    {"aten.alias.default", same, Memory::shared},
    {"aten.detach.default", same, Memory::shared},
    {"aten.detach_.default", same, Memory::shared},
    {"aten.contiguous.default", same, Memory::shared_unless_copied},
    {"aten.lift_fresh.default", same, Memory::shared},
    {"aten.to.dtype", cast, Memory::shared_unless_copied},
    {"aten.to.dtype_layout", cast, Memory::shared_unless_copied},
    {"aten.to.device", cast, Memory::shared_unless_copied},
    {"aten.to.other", cast, Memory::shared_unless_copied},
    {"aten.type_as.default", cast, Memory::shared_unless_copied},
    {"prims.convert_element_type.default", cast, Memory::shared_unless_copied},
};

}  // namespace

std::span<const OpRule> view_rules() { return kRules; }

}  // namespace layline::pt2
