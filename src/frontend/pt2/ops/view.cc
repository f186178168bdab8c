// Ops that show the same elements in another shape or order, and copies of them.
#include <algorithm>
#include <numeric>

#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/weights.h"

namespace layline::pt2 {
namespace {

/// The sizes asked for, with the one that may be left open (-1) filled in.
Shape requested_shape(Call& call, std::string_view argument, Dim count) {
  Shape shape;
  std::optional<size_t> open;
  Dim known = 1;
  for (const auto& size : call.sizes(argument)) {
    if (!size) {
      if (open) call.fail("`{}` leaves more than one size open", argument);
      open = shape.size();
    } else {
      known = known * *size;
    }
    shape.push_back(size.value_or(Dim(1)));
  }
  if (open) {
    // An open size next to a zero is what the model records: nothing determines it.
    const auto rest =
        known.is_zero() ? std::optional<Dim>(call.recorded().shape[*open]) : divide(count, known);
    if (!rest) call.fail("{} elements do not fit {}", to_string(count), to_string(shape));
    shape[*open] = *rest;
  }
  if (element_count(shape) != count)
    call.fail("{} elements do not fit {}", to_string(count), to_string(shape));
  return shape;
}

void view_or_copy(Call& call, Value* value, std::string_view base) {
  if (call.copies(base))
    call.result(value);
  else
    call.view_result(value, base);
}

void view_as_recorded(Call& call) {
  Value* x = call.tensor("self");
  const Shape shape = call.recorded().shape;
  if (element_count(shape) != element_count(x->shape()))
    call.fail("{} does not have the elements of {}", to_string(x->type()), to_string(shape));
  view_or_copy(call, call.view(x, shape), "self");
}

void reshape(Call& call, std::string_view sizes) {
  Value* x = call.tensor("self");
  view_or_copy(call, call.view(x, requested_shape(call, sizes, element_count(x->shape()))), "self");
}

/// Moves axis from[i] to place to[i]; the others keep their order.
Value* move_axes(Call& call, Value* x, const Ints& from, const Ints& to) {
  const size_t rank = x->shape().size();
  if (from.size() != to.size()) call.fail("moves {} axes to {} places", from.size(), to.size());
  std::vector<int> order(rank, -1);
  std::vector<bool> moved(rank, false);
  for (size_t i = 0; i < from.size(); ++i) {
    order[static_cast<size_t>(to[i])] = static_cast<int>(from[i]);
    moved[static_cast<size_t>(from[i])] = true;
  }
  size_t next = 0;
  for (int& axis : order) {
    if (axis >= 0) continue;
    while (next < rank && moved[next]) ++next;
    if (next == rank) call.fail("moves an axis twice");
    axis = static_cast<int>(next++);
  }
  return call.permute(x, order);
}

int64_t checked_axis(Call& call, int64_t axis, int64_t rank) {
  const int64_t counted = axis < 0 ? axis + rank : axis;
  if (counted < 0 || counted >= rank) call.fail("axis {} of a tensor with {} axes", axis, rank);
  return counted;
}

Ints checked_axes(Call& call, std::string_view argument, int64_t rank) {
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
  call.view_result(call.permute(x, order), "self");
}

void swap_axes(Call& call, int64_t a, int64_t b) {
  Value* x = call.tensor("self");
  std::vector<int> order(x->shape().size());
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty()) std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  call.view_result(call.permute(x, order), "self");
}

void transpose(Call& call, std::string_view first, std::string_view second) {
  const int64_t rank = call.tensor("self")->type().rank();
  swap_axes(call, call.axis(first, 0, rank), call.axis(second, 0, rank));
}

void matrix_transpose(Call& call) {
  const int64_t rank = call.tensor("self")->type().rank();
  rank < 2 ? view_as_recorded(call) : swap_axes(call, rank - 2, rank - 1);
}

void reverse_axes(Call& call) {
  Value* x = call.tensor("self");
  std::vector<int> order(x->shape().size());
  std::iota(order.rbegin(), order.rend(), 0);
  call.view_result(call.permute(x, order), "self");
}

void movedim(Call& call) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank();
  call.view_result(move_axes(call, x, checked_axes(call, "source", rank),
                             checked_axes(call, "destination", rank)),
                   "self");
}

void pixel_shuffle(Call& call) {
  // [..., C*r*r, H, W] -> [..., C, H*r, W*r]: channel c*r*r + i*r + j goes to pixel (h*r+i, w*r+j).
  Value* x = call.tensor("self");
  const Dim r = call.integer("upscale_factor");
  const Shape& shape = x->shape();
  if (shape.size() < 3)
    call.fail("takes 3 axes or more, but the input is {}", to_string(x->type()));
  const size_t n = shape.size() - 3;
  const auto channels = divide(shape[n], r * r);
  if (!channels)
    call.fail("{} channels do not divide by {}", to_string(shape[n]), to_string(r * r));
  Shape split(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(n));
  split.insert(split.end(), {*channels, r, r, shape[n + 1], shape[n + 2]});
  std::vector<int> order(split.size());
  std::iota(order.begin(), order.end(), 0);
  const int c = static_cast<int>(n);
  std::ranges::copy(std::vector<int>{c, c + 3, c + 1, c + 4, c + 2}, order.begin() + c);
  call.result(call.view(call.permute(call.view(x, split), order), call.recorded().shape));
}

void pixel_unshuffle(Call& call) {
  Value* x = call.tensor("self");
  const Dim r = call.integer("downscale_factor");
  const Shape& shape = x->shape();
  if (shape.size() < 3)
    call.fail("takes 3 axes or more, but the input is {}", to_string(x->type()));
  const size_t n = shape.size() - 3;
  const auto height = divide(shape[n + 1], r), width = divide(shape[n + 2], r);
  if (!height || !width) call.fail("{} does not divide by {}", to_string(x->type()), to_string(r));
  Shape split(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(n) + 1);
  split.insert(split.end(), {*height, r, *width, r});
  std::vector<int> order(split.size());
  std::iota(order.begin(), order.end(), 0);
  const int c = static_cast<int>(n);
  std::ranges::copy(std::vector<int>{c, c + 2, c + 4, c + 1, c + 3}, order.begin() + c);
  call.result(call.view(call.permute(call.view(x, split), order), call.recorded().shape));
}

void channel_shuffle(Call& call) {
  Value* x = call.tensor("self");
  const Dim groups = call.integer("groups");
  if (x->shape().size() < 2)
    call.fail("takes 2 axes or more, but the input is {}", to_string(x->type()));
  const auto each = divide(x->shape()[1], groups);
  if (!each)
    call.fail("{} channels do not divide by {}", to_string(x->shape()[1]), to_string(groups));
  Shape split = {x->shape()[0], groups, *each};
  split.insert(split.end(), x->shape().begin() + 2, x->shape().end());
  std::vector<int> order(split.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[1], order[2]);
  call.result(call.view(call.permute(call.view(x, split), order), x->shape()));
}

void expand(Call& call) {
  call.view_result(call.expand(call.tensor("self"), call.recorded().shape), "self");
}

/// Each axis as often as asked: [n] -> [1, n] -> [times, n] -> [times * n].
void repeat(Call& call, std::string_view argument) {
  Value* x = call.tensor("self");
  Ints times = call.ints(argument, {});
  Shape shape = x->shape();
  if (times.size() < shape.size()) times.insert(times.begin(), shape.size() - times.size(), 1);
  shape.insert(shape.begin(), times.size() - shape.size(), Dim(1));
  Shape split, expanded;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (times[i] != 1) {
      split.push_back(1);
      expanded.push_back(times[i]);
    }
    split.push_back(shape[i]);
    expanded.push_back(shape[i]);
  }
  call.result(call.view(call.expand(call.view(x, split), expanded), call.recorded().shape));
}

/// Each element as often as asked: [n] -> [n, 1] -> [n, times] -> [n * times].
void repeat_interleave(Call& call) {
  Value* x = call.tensor("self");
  if (!call.has("dim")) x = call.view(x, {element_count(x->shape())});
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  const int64_t times = call.integer("repeats");
  if (times < 0) call.fail("repeats {} times", times);
  Shape split = x->shape();
  if (split.empty()) split.push_back(1);
  split.insert(split.begin() + axis + 1, Dim(1));
  Shape expanded = split;
  expanded[static_cast<size_t>(axis) + 1] = times;
  call.result(call.view(call.expand(call.view(x, split), expanded), call.recorded().shape));
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
  call.view_result(call.permute(call.view(x, stored), back), "self");
}

/// A tensor of its own with the same elements.
void copy(Call& call) { call.result(call.convert(call.tensor("self"), call.recorded().dtype)); }

void same(Call& call, std::string_view argument) {
  view_or_copy(call, call.tensor(argument), argument);
}

/// A cast, or nothing: torch gives back the same tensor where the dtype is already right.
void to_dtype(Call& call) {
  Value* x = call.tensor("self");
  const DType to = call.recorded().dtype;
  x->dtype() == to ? same(call, "self") : call.result(call.convert(x, to));
}

/// self[...] = src: the functional form of copy_, which is its only use.
void copy_from(Call& call) {
  Value* self = call.tensor("self");
  call.result(call.expand(call.convert(call.tensor("src"), self->dtype()), self->shape()));
}

constexpr OpRule kRules[] = {
    {"aten.view.default", [](Call& call) { reshape(call, "size"); }},
    {"aten.view_copy.default", [](Call& call) { reshape(call, "size"); }},
    {"aten._unsafe_view.default", [](Call& call) { reshape(call, "size"); }},
    {"aten.reshape.default", [](Call& call) { reshape(call, "shape"); }},
    {"aten.flatten.using_ints", view_as_recorded},
    {"aten.ravel.default", view_as_recorded},
    {"aten.unflatten.int", view_as_recorded},
    {"aten.squeeze.default", view_as_recorded},
    {"aten.squeeze.dim", view_as_recorded},
    {"aten.squeeze.dims", view_as_recorded},
    {"aten.squeeze_copy.dims", view_as_recorded},
    {"aten.unsqueeze.default", view_as_recorded},
    {"aten.unsqueeze_copy.default", view_as_recorded},
    {"aten.view_as.default", view_as_recorded},
    {"aten.reshape_as.default", view_as_recorded},
    {"aten.permute.default", permute},
    {"aten.permute_copy.default", permute},
    {"aten.transpose.int", [](Call& call) { transpose(call, "dim0", "dim1"); }},
    {"aten.transpose_copy.int", [](Call& call) { transpose(call, "dim0", "dim1"); }},
    {"aten.swapaxes.default", [](Call& call) { transpose(call, "axis0", "axis1"); }},
    {"aten.swapdims.default", [](Call& call) { transpose(call, "dim0", "dim1"); }},
    {"aten.t.default", matrix_transpose},
    {"aten.t_copy.default", matrix_transpose},
    {"aten.mT.default", matrix_transpose},
    {"aten.numpy_T.default", reverse_axes},
    {"aten.movedim.intlist", movedim},
    {"aten.movedim.int", movedim},
    {"aten.moveaxis.intlist", movedim},
    {"aten.moveaxis.int", movedim},
    {"aten.pixel_shuffle.default", pixel_shuffle},
    {"aten.pixel_unshuffle.default", pixel_unshuffle},
    {"aten.channel_shuffle.default", channel_shuffle},
    {"aten.native_channel_shuffle.default", channel_shuffle},
    {"aten.expand.default", expand},
    {"aten.expand_copy.default", expand},
    {"aten.expand_as.default", expand},
    {"aten.broadcast_to.default", expand},
    {"aten.repeat.default", [](Call& call) { repeat(call, "repeats"); }},
    {"aten.tile.default", [](Call& call) { repeat(call, "dims"); }},
    {"aten.repeat_interleave.self_int", repeat_interleave},
    {"aten.as_strided.default", as_strided},
    {"aten.clone.default", copy},
    {"aten._to_copy.default", copy},
    {"dim_order_ops._to_dim_order_copy.default", copy},
    {"aten.lift_fresh_copy.default", copy},
    {"aten.alias_copy.default", copy},
    {"aten.detach_copy.default", copy},
    {"aten.copy.default", copy_from},
    {"aten.alias.default", [](Call& call) { same(call, "self"); }},
    {"aten.detach.default", [](Call& call) { same(call, "self"); }},
    {"aten.detach_.default", [](Call& call) { same(call, "self"); }},
    {"aten.contiguous.default", [](Call& call) { same(call, "self"); }},
    {"aten.lift_fresh.default", [](Call& call) { same(call, "self"); }},
    {"aten.to.dtype", to_dtype},
    {"aten.to.dtype_layout", to_dtype},
    {"aten.to.device", to_dtype},
    {"aten.to.other", to_dtype},
    {"aten.type_as.default", to_dtype},
    {"prims.convert_element_type.default", to_dtype},
};

}  // namespace

std::span<const OpRule> view_rules() { return kRules; }

}  // namespace layline::pt2
