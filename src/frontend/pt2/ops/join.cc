// Taking tensors apart and putting them together.
#include <algorithm>
#include <limits>

#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"

namespace layline::pt2 {
namespace {

/// The tensors in one dtype, without the empty 1-d tensors that torch.cat passes over.
std::vector<Value*> joined_operands(Call& call) {
  const DType dtype = call.recorded().dtype;
  std::vector<Value*> parts;
  for (Value* part : call.tensors("tensors"))
    if (part->shape() != Shape{0}) parts.push_back(call.convert(part, dtype));
  return parts;
}

void cat(Call& call) {
  std::vector<Value*> parts = joined_operands(call);
  if (parts.empty())
    return call.result(call.constant(Constant::owned(call.recorded().dtype, {0}, {})));
  const int64_t rank = parts[0]->type().rank();
  call.result(call.concat(std::move(parts), call.axis("dim", 0, rank)));
}

void stack(Call& call) {
  std::vector<Value*> parts = joined_operands(call);
  if (parts.empty()) call.fail("stacks no tensors");
  const int64_t axis = call.axis("dim", 0, parts[0]->type().rank() + 1);
  for (Value*& part : parts) {
    Shape shape = part->shape();
    shape.insert(shape.begin() + axis, Dim(1));
    part = call.view(part, shape);
  }
  call.result(call.concat(std::move(parts), axis));
}

/// hstack and vstack: joins along `axis` what has been given `rank` axes at least, new ones in
/// front.
void stack_along(Call& call, int64_t axis, size_t rank) {
  std::vector<Value*> parts = joined_operands(call);
  if (parts.empty()) call.fail("stacks no tensors");
  for (Value*& part : parts) {
    Shape shape = part->shape();
    while (shape.size() < rank) shape.insert(shape.begin(), Dim(1));
    part = call.view(part, shape);
  }
  axis = std::min(axis, parts[0]->type().rank() - 1);
  call.result(call.concat(std::move(parts), axis));
}

/// Vectors are columns.
void column_stack(Call& call) {
  std::vector<Value*> parts = joined_operands(call);
  if (parts.empty()) call.fail("stacks no tensors");
  for (Value*& part : parts)
    if (part->shape().size() < 2) part = call.view(part, {element_count(part->shape()), 1});
  call.result(call.concat(std::move(parts), 1));
}

/// Along the third axis: a vector is a row of single elements.
void dstack(Call& call) {
  std::vector<Value*> parts = joined_operands(call);
  if (parts.empty()) call.fail("stacks no tensors");
  for (Value*& part : parts) {
    Shape shape = part->shape();
    if (shape.size() < 2) shape = {1, element_count(shape)};
    if (shape.size() < 3) shape.push_back(1);
    part = call.view(part, shape);
  }
  call.result(call.concat(std::move(parts), 2));
}

/// Each vector along an axis of its own, repeated along the others; "xy" exchanges the first two.
void meshgrid(Call& call) {
  const std::vector<Value*> vectors = call.tensors("tensors");
  const bool swaps = call.string("indexing", "ij") == "xy" && vectors.size() > 1;
  for (size_t i = 0; i < vectors.size(); ++i) {
    Shape shape(vectors.size(), Dim(1));
    shape[swaps && i < 2 ? 1 - i : i] = element_count(vectors[i]->shape());
    call.result(call.expand(call.view(vectors[i], shape), call.recorded(i).shape));
  }
}

/// All combinations of the elements, one a row.
void cartesian_prod(Call& call) {
  const std::vector<Value*> vectors = call.tensors("tensors");
  if (vectors.size() == 1) return call.result(vectors[0]);
  Shape grid;
  for (const Value* vector : vectors) grid.push_back(element_count(vector->shape()));
  std::vector<Value*> columns;
  for (size_t i = 0; i < vectors.size(); ++i) {
    Shape shape(vectors.size(), Dim(1));
    shape[i] = grid[i];
    columns.push_back(
        call.view(call.expand(call.view(vectors[i], shape), grid), {element_count(grid), 1}));
  }
  call.result(call.concat(std::move(columns), 1));
}

/// Matrices along a diagonal of zeros.
void block_diag(Call& call) {
  const TensorType type = call.recorded();
  if (!is_static(type.shape)) call.fail("of dynamic sizes is not supported");
  std::vector<Value*> rows;
  int64_t column = 0;
  for (Value* block : call.tensors("tensors")) {
    Shape shape = block->shape();
    while (shape.size() < 2) shape.insert(shape.begin(), Dim(1));
    block = call.convert(call.view(block, shape), type.dtype);
    const int64_t width = shape[1].value();
    PadAttrs pad{{0, column}, {0, type.shape[1].value() - column - width}, PadMode::constant, 0};
    rows.push_back(call.add(Op::pad, {block}, std::move(pad)));
    column += width;
  }
  call.result(call.concat(std::move(rows), 0));
}

int64_t axis_of(Call& call, Value* x) {
  if (x->shape().empty()) call.fail("takes no 0-d tensors");
  return call.axis("dim", 0, x->type().rank());
}

/// Differences of neighbours, n times over.
void diff(Call& call) {
  const DType dtype = call.recorded().dtype;
  Value* x = call.convert(call.tensor("self"), dtype);
  const int64_t rank = x->type().rank();
  if (rank == 0) call.fail("takes no 0-d tensors");
  const int64_t axis = call.axis("dim", -1, rank);
  std::vector<Value*> parts = {x};
  if (Value* before = call.optional_tensor("prepend"))
    parts.insert(parts.begin(), call.convert(before, dtype));
  if (Value* after = call.optional_tensor("append")) parts.push_back(call.convert(after, dtype));
  if (parts.size() > 1) x = call.concat(std::move(parts), axis);
  const int64_t length = call.static_length(x, axis);
  const Op subtract = dtype == DType::boolean ? Op::logical_xor : Op::sub;
  for (int64_t i = 1; i <= std::min(call.integer("n", 1), length); ++i) {
    const int64_t left = length - i;
    x = call.add(subtract, {call.slice(x, axis, 1, left), call.slice(x, axis, 0, left)});
  }
  call.result(x);
}

/// `size` elements, of which the first is `back` places before the end of a dynamic axis. Where the
/// axis ends is known when the model runs: there stands the largest of its own numbers.
Value* slice_from_end(Call& call, Value* x, int64_t axis, int64_t back, int64_t size,
                      int64_t step) {
  Value* numbers = call.arange({DType::i64, {x->shape()[static_cast<size_t>(axis)]}}, 0, 1);
  Value* last = call.add(Op::reduce_max, {numbers}, AxesAttrs{{0}});
  Value* offsets =
      call.arange({DType::i64, {size}}, static_cast<double>(1 - back), static_cast<double>(step));
  return call.add(Op::gather, {x, call.add(Op::add, {last, offsets})}, AxisAttrs{axis});
}

void slice(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  const int64_t step = call.integer("step", 1);
  if (step < 1) call.fail("the step is {}", step);
  SymbolTable& symbols = call.symbols();
  const Sum length = symbols.expand(x->shape()[static_cast<size_t>(axis)]);
  // Counted from the end if negative, and never outside.
  auto place = [&](std::string_view argument, const Sum& otherwise) {
    if (!call.has(argument)) return otherwise;
    Sum index = call.expression(argument);
    if (index == Sum::number(std::numeric_limits<int64_t>::max())) return length;
    const auto [least, greatest] = symbols.range(index);
    if (greatest < 0)
      index = index + length;
    else if (least < 0)
      call.fail("`{}` may count from either end", argument);
    return symbols.minimum({symbols.maximum({index, Sum()}), length});
  };
  const Sum start = place("start", Sum());
  const Sum end = symbols.maximum({start, place("end", length)});
  const Sum size = symbols.quotient(end - start + Sum::number(step - 1), step);
  if (const Sum back = length - start; !start.is_number() && back.is_number() && size.is_number())
    return call.result(slice_from_end(call, x, axis, back.constant(), size.constant(), step));
  if (!start.is_number())
    call.fail(
        "begins at {}, which is dynamic; layline slices from a fixed place, or so many "
        "elements from the end",
        to_string(start));
  call.view_result(call.slice(x, axis, start.constant(), symbols.dim(size), step), "self");
}

Value* without_axis(Call& call, Value* x, int64_t axis) {
  Shape shape = x->shape();
  shape.erase(shape.begin() + axis);
  return call.view(x, shape);
}

void select(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  int64_t index = call.integer("index");
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  if (index < 0 && !length.is_static() && -index <= call.symbols().least(length))
    return call.result(without_axis(call, slice_from_end(call, x, axis, -index, 1, 1), axis));
  if (index < 0) index += call.static_length(x, axis);
  if (index < 0 || index >= call.symbols().least(length))
    call.fail("selects element {} of {}", index, to_string(length));
  call.view_result(without_axis(call, call.slice(x, axis, index, 1), axis), "self");
}

void narrow(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  const Dim whole = x->shape()[static_cast<size_t>(axis)];
  int64_t start = call.integer("start");
  if (start < 0) start += call.static_length(x, axis);
  SymbolTable& symbols = call.symbols();
  const Sum length = call.expression("length");
  if (start < 0 || symbols.range(length).min < 0 ||
      symbols.range(symbols.expand(whole) - length - Sum::number(start)).min < 0)
    call.fail("takes {} elements from {} of {}", to_string(length), start, to_string(whole));
  call.view_result(call.slice(x, axis, start, symbols.dim(length)), "self");
}

void cut(Call& call, Value* x, int64_t axis, const Ints& sizes) {
  int64_t start = 0;
  const int64_t length = call.static_length(x, axis);
  for (int64_t size : sizes) {
    if (size < 0 || size > length - start)
      call.fail("cuts {} elements from {} of {}", size, start, length);
    call.view_result(call.slice(x, axis, start, size), "self");
    start += size;
  }
  if (start != length) call.fail("cuts {} of {} elements", start, length);
}

void split_into(Call& call, int64_t size) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  const int64_t length = call.static_length(x, axis);
  if (size < 0 || (size == 0 && length > 0)) call.fail("splits into pieces of {}", size);
  Ints sizes;
  for (int64_t start = 0; start < length; start += size)
    sizes.push_back(std::min(size, length - start));
  if (sizes.empty()) sizes.push_back(0);
  cut(call, x, axis, sizes);
}

void split(Call& call) { split_into(call, call.integer("split_size")); }

void split_with_sizes(Call& call) {
  Value* x = call.tensor("self");
  cut(call, x, axis_of(call, x), call.ints("split_sizes", {}));
}

void chunk(Call& call) {
  Value* x = call.tensor("self");
  const int64_t chunks = call.integer("chunks");
  if (chunks < 1) call.fail("splits into {} chunks", chunks);
  const int64_t length = call.static_length(x, axis_of(call, x));
  split_into(call, (length + chunks - 1) / chunks);
}

/// The first length % sections pieces have one element more than the others.
void tensor_split_sections(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  const int64_t sections = call.integer("sections");
  const int64_t length = call.static_length(x, axis);
  if (sections < 1 || static_cast<size_t>(sections) != call.output_count())
    call.fail("splits into {} sections", sections);
  Ints sizes;
  for (int64_t i = 0; i < sections; ++i)
    sizes.push_back(length / sections + (i < length % sections ? 1 : 0));
  cut(call, x, axis, sizes);
}

void tensor_split_indices(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  const int64_t length = call.static_length(x, axis);
  Ints sizes;
  int64_t start = 0;
  for (int64_t index : call.ints("indices", {})) {
    const int64_t end = std::clamp<int64_t>(index < 0 ? index + length : index, start, length);
    sizes.push_back(end - start);
    start = end;
  }
  sizes.push_back(length - start);
  cut(call, x, axis, sizes);
}

void unbind(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  for (int64_t i = 0; i < call.static_length(x, axis); ++i)
    call.view_result(without_axis(call, call.slice(x, axis, i, 1), axis), "self");
}

void flip(Call& call) {
  Value* x = call.tensor("self");
  if (call.ints("dims", {}).empty()) return call.result(x);
  call.result(call.add(Op::flip, {x}, AxesAttrs{call.axes("dims", x->type().rank())}));
}

void roll(Call& call) {
  Value* x = call.tensor("self");
  Ints shifts = call.ints("shifts", {});
  Ints axes = call.ints("dims", {});
  const Shape shape = x->shape();
  const bool flattened = axes.empty();
  if (flattened) {
    x = call.view(x, {element_count(shape)});
    axes = {0};
  }
  for (int64_t& axis : axes) axis += axis < 0 ? x->type().rank() : 0;
  call.result(call.view(call.add(Op::roll, {x}, RollAttrs{axes, shifts}), shape));
}

constexpr OpRule kRules[] = {
    {"aten.cat.default", cat},
    {"aten.concat.default", cat},
    {"aten.diff.default", diff},
    {"aten.stack.default", stack},
    {"aten.column_stack.default", column_stack},
    {"aten.dstack.default", dstack},
    {"aten.meshgrid.default", meshgrid},
    {"aten.meshgrid.indexing", meshgrid},
    {"aten.cartesian_prod.default", cartesian_prod},
    {"aten.block_diag.default", block_diag},
    {"aten.hstack.default", [](Call& call) { stack_along(call, 1, 1); }},
    {"aten.vstack.default", [](Call& call) { stack_along(call, 0, 2); }},
    {"aten.slice.Tensor", slice},
    {"aten.slice_copy.Tensor", slice},
    {"aten.select.int", select},
    {"aten.select_copy.int", select},
    {"aten.narrow.default", narrow},
    {"aten.split.Tensor", split},
    {"aten.split_copy.Tensor", split},
    {"aten.split_with_sizes.default", split_with_sizes},
    {"aten.split_with_sizes_copy.default", split_with_sizes},
    {"aten.split.sizes", split_with_sizes},
    {"aten.chunk.default", chunk},
    {"aten.tensor_split.sections", tensor_split_sections},
    {"aten.tensor_split.indices", tensor_split_indices},
    {"aten.unbind.int", unbind},
    {"aten.flip.default", flip},
    {"aten.roll.default", roll},
};

}  // namespace

std::span<const OpRule> join_rules() { return kRules; }

}  // namespace layline::pt2
