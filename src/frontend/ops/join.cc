#include "frontend/ops/join.h"

#include <algorithm>
#include <limits>

#include "frontend/ops/creation.h"
#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

Dim length_of(const Value* x, int64_t axis) { return x->shape()[static_cast<size_t>(axis)]; }

Shape with_rank(Shape shape, size_t rank) {
  if (shape.size() < rank) shape.insert(shape.begin(), rank - shape.size(), Dim(1));
  return shape;
}

/// `size` elements, the first of them `back` places before the end of a dynamic axis. Where the
/// axis ends is known when the model runs: there stands the largest of its own numbers.
Value* slice_from_end(const Builder& build, Value* x, int64_t axis, int64_t back, int64_t size,
                      int64_t step) {
  Value* numbers = arange(build, {DType::i64, {length_of(x, axis)}}, 0, 1);
  Value* last = build.add(Op::reduce_max, {numbers}, AxesAttrs{{0}});
  Value* offsets =
      arange(build, {DType::i64, {size}}, static_cast<double>(1 - back), static_cast<double>(step));
  return build.add(Op::gather, {x, build.add(Op::add, {last, offsets})}, AxisAttrs{axis});
}

/// A vector along one axis of a grid, repeated along the others.
Value* along_grid(const Builder& build, Value* vector, const Shape& grid, size_t axis) {
  Shape shape(grid.size(), Dim(1));
  shape[axis] = grid[axis];
  return build.expand(build.view(vector, std::move(shape)), grid);
}

}  // namespace

Value* stack(const Builder& build, std::vector<Value*> parts, int64_t axis) {
  for (const Value* part : parts)
    if (part->shape() != parts[0]->shape())
      build.fail("stacks {} and {}", to_string(parts[0]->type()), to_string(part->type()));
  for (Value*& part : parts) part = with_axis(build, part, axis);
  return build.concat(std::move(parts), axis);
}

Value* stack_along(const Builder& build, std::vector<Value*> parts, int64_t axis, size_t rank) {
  for (Value*& part : parts) part = build.view(part, with_rank(part->shape(), rank));
  axis = std::min(axis, parts[0]->type().rank() - 1);
  return build.concat(std::move(parts), axis);
}

Value* stack_columns(const Builder& build, std::vector<Value*> parts) {
  for (Value*& part : parts)
    if (part->shape().size() < 2) part = build.view(part, {element_count(part->shape()), 1});
  return build.concat(std::move(parts), 1);
}

Value* stack_depth(const Builder& build, std::vector<Value*> parts) {
  for (Value*& part : parts) {
    Shape shape = with_rank(part->shape(), 2);
    if (shape.size() < 3) shape.push_back(1);
    part = build.view(part, shape);
  }
  return build.concat(std::move(parts), 2);
}

Value* cartesian_product(const Builder& build, const std::vector<Value*>& vectors) {
  if (vectors.size() == 1) return vectors[0];
  Shape grid;
  for (const Value* vector : vectors) grid.push_back(element_count(vector->shape()));
  std::vector<Value*> columns;
  for (size_t i = 0; i < vectors.size(); ++i)
    columns.push_back(build.view(along_grid(build, vectors[i], grid, i), {element_count(grid), 1}));
  return build.concat(std::move(columns), 1);
}

Value* block_diagonal(const Builder& build, const std::vector<Value*>& blocks) {
  int64_t width = 0, column = 0;
  for (const Value* block : blocks) {
    if (!is_static(block->shape())) build.fail("of dynamic sizes is not supported");
    if (block->shape().size() > 2) build.fail("takes no {}", to_string(block->type()));
    width += with_rank(block->shape(), 2)[1].value();
  }
  std::vector<Value*> rows;
  for (Value* block : blocks) {
    block = build.view(block, with_rank(block->shape(), 2));
    const int64_t length = block->shape()[1].value();
    PadAttrs pad{{0, column}, {0, width - column - length}, PadMode::constant, 0};
    rows.push_back(build.add(Op::pad, {block}, std::move(pad)));
    column += length;
  }
  return build.concat(std::move(rows), 0);
}

std::vector<Value*> meshgrid(const Builder& build, const std::vector<Value*>& vectors,
                             bool columns_first) {
  const bool swaps = columns_first && vectors.size() > 1;
  auto axis_of = [&](size_t i) { return swaps && i < 2 ? 1 - i : i; };
  Shape grid(vectors.size());
  for (size_t i = 0; i < vectors.size(); ++i) grid[axis_of(i)] = element_count(vectors[i]->shape());
  std::vector<Value*> results;
  for (size_t i = 0; i < vectors.size(); ++i)
    results.push_back(along_grid(build, vectors[i], grid, axis_of(i)));
  return results;
}

Value* slice(const Builder& build, Value* x, int64_t axis, const Slice& slice) {
  if (slice.step < 1) build.fail("the step is {}", slice.step);
  SymbolTable& symbols = build.graph().symbol_table();
  const Sum length = symbols.expand(length_of(x, axis));
  auto place = [&](std::string_view what, const std::optional<Sum>& given, const Sum& otherwise) {
    if (!given) return otherwise;
    Sum index = *given;
    if (index == Sum::number(std::numeric_limits<int64_t>::max())) return length;
    const auto [least, greatest] = symbols.range(index);
    if (greatest < 0)
      index = index + length;
    else if (least < 0)
      build.fail("`{}` may count from either end", what);
    return symbols.minimum({symbols.maximum({index, Sum()}), length});
  };
  const Sum start = place("start", slice.start, Sum());
  const Sum end = symbols.maximum({start, place("end", slice.end, length)});
  const Sum size = symbols.quotient(end - start + Sum::number(slice.step - 1), slice.step);
  if (const Sum back = length - start; !start.is_number() && back.is_number() && size.is_number())
    return slice_from_end(build, x, axis, back.constant(), size.constant(), slice.step);
  if (!start.is_number())
    return slice_at(build, x, axis, number(build, start), symbols.dim(size), slice.step);
  return build.slice(x, axis, start.constant(), symbols.dim(size), slice.step);
}

Value* slice_at(const Builder& build, Value* x, int64_t axis, Value* start, const Dim& size,
                int64_t step) {
  Value* offsets = arange(build, {DType::i64, {size}}, 0, static_cast<double>(step));
  return build.add(Op::gather, {x, build.add(Op::add, {offsets, start})}, AxisAttrs{axis});
}

Value* select(const Builder& build, Value* x, int64_t axis, int64_t index) {
  const Dim length = length_of(x, axis);
  const int64_t least = build.graph().symbol_table().least(length);
  if (index < 0 && !length.is_static() && -index <= least)
    return without_axes(build, slice_from_end(build, x, axis, -index, 1, 1), {axis});
  if (index < 0) index += static_length(build, x, axis);
  if (index < 0 || index >= least) build.fail("selects element {} of {}", index, to_string(length));
  return without_axes(build, build.slice(x, axis, index, 1), {axis});
}

Value* narrow(const Builder& build, Value* x, int64_t axis, int64_t start, const Sum& length) {
  if (start < 0) start += static_length(build, x, axis);
  const Dim whole = length_of(x, axis);
  SymbolTable& symbols = build.graph().symbol_table();
  if (start < 0 || symbols.range(length).min < 0 ||
      symbols.range(symbols.expand(whole) - length - Sum::number(start)).min < 0)
    build.fail("takes {} elements from {} of {}", to_string(length), start, to_string(whole));
  return build.slice(x, axis, start, symbols.dim(length));
}

std::vector<Value*> cut(const Builder& build, Value* x, int64_t axis, const Ints& sizes) {
  std::vector<Value*> pieces;
  int64_t start = 0;
  const int64_t length = static_length(build, x, axis);
  for (int64_t size : sizes) {
    if (size < 0 || size > length - start)
      build.fail("cuts {} elements from {} of {}", size, start, length);
    pieces.push_back(build.slice(x, axis, start, size));
    start += size;
  }
  if (start != length) build.fail("cuts {} of {} elements", start, length);
  return pieces;
}

std::vector<Value*> split(const Builder& build, Value* x, int64_t axis, int64_t size) {
  const int64_t length = static_length(build, x, axis);
  if (size < 0 || (size == 0 && length > 0)) build.fail("splits into pieces of {}", size);
  Ints sizes;
  for (int64_t start = 0; start < length; start += size)
    sizes.push_back(std::min(size, length - start));
  if (sizes.empty()) sizes.push_back(0);
  return cut(build, x, axis, sizes);
}

std::vector<Value*> split_evenly(const Builder& build, Value* x, int64_t axis, int64_t pieces) {
  const int64_t length = static_length(build, x, axis);
  Ints sizes;
  for (int64_t i = 0; i < pieces; ++i)
    sizes.push_back(length / pieces + (i < length % pieces ? 1 : 0));
  return cut(build, x, axis, sizes);
}

std::vector<Value*> split_at(const Builder& build, Value* x, int64_t axis, const Ints& places) {
  const int64_t length = static_length(build, x, axis);
  Ints sizes;
  int64_t start = 0;
  for (int64_t place : places) {
    const int64_t end = std::clamp<int64_t>(place < 0 ? place + length : place, start, length);
    sizes.push_back(end - start);
    start = end;
  }
  sizes.push_back(length - start);
  return cut(build, x, axis, sizes);
}

std::vector<Value*> unbind(const Builder& build, Value* x, int64_t axis) {
  std::vector<Value*> elements;
  for (int64_t i = 0; i < static_length(build, x, axis); ++i)
    elements.push_back(without_axes(build, build.slice(x, axis, i, 1), {axis}));
  return elements;
}

Value* roll(const Builder& build, Value* x, Ints axes, const Ints& shifts) {
  const Shape shape = x->shape();
  if (axes.empty()) {
    x = build.view(x, {element_count(shape)});
    axes = {0};
  }
  return build.view(build.add(Op::roll, {x}, RollAttrs{std::move(axes), shifts}), shape);
}

Value* diff(const Builder& build, Value* x, int64_t axis, int64_t n) {
  const int64_t length = static_length(build, x, axis);
  const Op subtract = x->dtype() == DType::boolean ? Op::logical_xor : Op::sub;
  for (int64_t i = 1; i <= std::min(n, length); ++i) {
    const int64_t left = length - i;
    x = build.add(subtract, {build.slice(x, axis, 1, left), build.slice(x, axis, 0, left)});
  }
  return x;
}

}  // namespace layline::ops
