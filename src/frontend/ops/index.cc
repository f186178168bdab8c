#include "frontend/ops/index.h"

#include <algorithm>

#include "frontend/ops/creation.h"
#include "frontend/ops/overwrite.h"
#include "frontend/ops/reduction.h"
#include "frontend/ops/scatter.h"
#include "frontend/ops/shapes.h"
#include "ir/evaluate.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

/// Whether these are places that an op has found, and so not negative.
bool are_found(const Value* index) {
  const Node* node = index->def();
  if (node == nullptr) return false;
  switch (node->op()) {
    case Op::argmax:
    case Op::argmin:
    case Op::argsort:
      return true;
    case Op::relayout:
    case Op::expand:
    case Op::slice:
      return are_found(node->operand(0));
    default:
      return false;
  }
}

/// A constant mask stands for the places where it is true: an index for each of its axes.
std::vector<Value*> places_in(const Builder& build, const Constant& mask) {
  const Tensor tensor = tensor_of(mask);
  Ints hits;
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (tensor.get_int(i) != 0) hits.push_back(i);
  std::vector<Value*> indices;
  int64_t inner = tensor.count();
  for (int64_t size : tensor.dims()) {
    inner /= std::max<int64_t>(size, 1);
    Tensor along({DType::i64, {std::ssize(hits)}});
    for (size_t k = 0; k < hits.size(); ++k)
      along.set_int(static_cast<int64_t>(k),
                    hits[k] / std::max<int64_t>(inner, 1) % std::max<int64_t>(size, 1));
    indices.push_back(build.constant(Constant::of(along)));
  }
  return indices;
}

/// The index tensors with constant masks replaced.
std::vector<Value*> without_masks(const Builder& build, const std::vector<Value*>& given) {
  std::vector<Value*> indices;
  for (Value* index : given) {
    const Constant* mask = index && index->dtype() == DType::boolean ? constant_of(index) : nullptr;
    if (mask == nullptr) {
      indices.push_back(index);
      continue;
    }
    const std::vector<Value*> places = places_in(build, *mask);
    indices.insert(indices.end(), places.begin(), places.end());
  }
  return indices;
}

/// The axes that x[..., i, :, j] indexes, with the index tensor of each.
struct Indexed {
  std::vector<int> axes;
  std::vector<Value*> indices;
};

Indexed indexed_axes(const Builder& build, const Value* x, const std::vector<Value*>& indices) {
  Indexed indexed;
  const std::vector<Value*> given = without_masks(build, indices);
  if (given.size() > x->shape().size())
    build.fail("{} indices for {}", given.size(), to_string(x->type()));
  for (size_t a = 0; a < given.size(); ++a) {
    if (given[a] == nullptr) continue;
    if (given[a]->dtype() == DType::boolean)
      build.fail(
          "a mask selects as many elements as it has, so the size of the result depends on "
          "the data; use torch.where instead");
    if (!x->shape()[a].is_static()) build.fail("indexes a dynamic axis, which is not supported");
    indexed.axes.push_back(static_cast<int>(a));
    indexed.indices.push_back(given[a]);
  }
  if (indexed.axes.empty()) build.fail("has no indices");
  return indexed;
}

/// Several index tensors as one, `position`, into the indexed axes flattened. If these stand next
/// to each other, that axis takes their place; otherwise it comes first.
struct Flattened {
  Value* data;      // permuted by `order`, the indexed axes merged
  Value* position;  // in the common shape of the indices
  int64_t axis;     // the axis that the indexed ones are merged into
  Shape unmerged;   // the shape of the data before merging
  std::vector<int> order;
};

Flattened flattened(const Builder& build, Value* x, const std::vector<Value*>& indices) {
  const Indexed indexed = indexed_axes(build, x, indices);
  const size_t count = indexed.axes.size();
  const bool adjacent = indexed.axes.back() - indexed.axes.front() + 1 == static_cast<int>(count);
  const size_t place = adjacent ? static_cast<size_t>(indexed.axes.front()) : 0;

  std::vector<int> order;
  for (int a = 0; a < static_cast<int>(x->shape().size()); ++a)
    if (std::ranges::find(indexed.axes, a) == indexed.axes.end()) order.push_back(a);
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), indexed.axes.begin(),
               indexed.axes.end());
  Value* moved = build.permute(x, order);

  Value* position = nullptr;
  int64_t length = 1;
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis_length = x->shape()[static_cast<size_t>(indexed.axes[i])].value();
    Value* index = counted_from_start(build, indexed.indices[i], axis_length);
    if (position != nullptr) {
      Value* scale = build.scalar(DType::i64, static_cast<double>(axis_length));
      index = build.add(Op::add, {build.add(Op::mul, {position, scale}), index});
    }
    position = index;
    length *= axis_length;
  }
  Shape merged = moved->shape();
  const auto first = merged.begin() + static_cast<std::ptrdiff_t>(place);
  merged.erase(first, first + static_cast<std::ptrdiff_t>(count));
  merged.insert(merged.begin() + static_cast<std::ptrdiff_t>(place), Dim(length));
  return {build.view(moved, merged), position, static_cast<int64_t>(place), moved->shape(),
          std::move(order)};
}

/// x with the elements under a mask replaced by one value; null if there is no mask, or more than
/// one value.
Value* put_under_mask(const Builder& build, Value* x, const std::vector<Value*>& given,
                      Value* values, bool accumulate) {
  if (given.size() != 1 || given[0] == nullptr || given[0]->dtype() != DType::boolean)
    return nullptr;
  values = build.convert(values, x->dtype());
  if (!element_count(values->shape()).is_one() || given[0]->shape().size() > x->shape().size())
    return nullptr;
  values = build.view(values, {});
  if (accumulate) values = build.add(Op::add, {x, values});
  Shape mask = given[0]->shape();
  mask.resize(x->shape().size(), Dim(1));
  return build.add(Op::where, {build.view(given[0], mask), values, x});
}

int64_t written_length(const Builder& build, const Value* x, int64_t axis) {
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  if (!length.is_static()) build.fail("writes to a dynamic axis, which is not supported");
  return length.value();
}

}  // namespace

Value* counted_from_start(const Builder& build, Value* index, Dim length) {
  index = build.convert(index, DType::i64);
  if (const Constant* known = constant_of(index)) {
    Tensor places = tensor_of(*known);
    bool has_negative = false;
    for (int64_t i = 0; i < places.count(); ++i) {
      if (places.get_int(i) >= 0) continue;
      if (!length.is_static()) build.fail("counts from the end of a dynamic axis");
      places.set_int(i, places.get_int(i) + length.value());
      has_negative = true;
    }
    return has_negative ? build.constant(Constant::of(places)) : index;
  }
  if (are_found(index)) return index;
  Value* negative = build.add(Op::less, {index, build.scalar(DType::i64, 0)});
  Value* size = number(build, build.graph().symbol_table().expand(length));
  return build.add(Op::where, {negative, build.add(Op::add, {index, size}), index});
}

Value* gather(const Builder& build, Value* x, Value* indices, int64_t axis) {
  // The runtime takes one axis of indices.
  Value* flat = build.view(indices, {element_count(indices->shape())});
  Shape shape = x->shape();
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices->shape().begin(), indices->shape().end());
  return build.view(build.add(Op::gather, {x, flat}, AxisAttrs{axis}), shape);
}

Value* gather_elements(const Builder& build, Value* x, Value* index, int64_t axis) {
  const Shape result = index->shape();
  x = with_some_axis(build, x);
  index = with_some_axis(build, index);
  return build.view(build.add(Op::gather_elements, {x, index}, AxisAttrs{axis}), result);
}

Value* take_along_axis(const Builder& build, Value* x, Value* index, int64_t axis) {
  if (x->shape().size() != index->shape().size())
    build.fail("indices with other axes than the data");
  Shape data = x->shape(), places = index->shape();
  for (size_t i = 0; i < data.size(); ++i) {
    if (i == static_cast<size_t>(axis)) continue;
    if (data[i].is_one()) data[i] = places[i];
    if (places[i].is_one()) places[i] = data[i];
  }
  return build.add(Op::gather_elements, {build.expand(x, data), build.expand(index, places)},
                   AxisAttrs{axis});
}

Value* take(const Builder& build, Value* x, Value* index) {
  const Dim count = element_count(x->shape());
  index = counted_from_start(build, index, count);
  return gather(build, build.view(x, {count}), index, 0);
}

Value* repeat_each(const Builder& build, Value* x, int64_t axis, const Value* times) {
  const Constant* known = constant_of(times);
  const int64_t length = static_length(build, x, axis);
  if (known == nullptr)
    build.fail("the size of the result depends on the data; give the repeats as constants");
  const Tensor counts = tensor_of(*known);
  if (counts.count() != 1 && counts.count() != length)
    build.fail("{} repeats for {} elements", counts.count(), length);
  constexpr int64_t kMost = int64_t{1} << 26;
  Ints places;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t count = counts.get_int(counts.count() == 1 ? 0 : i);
    if (count < 0 || count > kMost - std::ssize(places)) build.fail("repeats {} times", count);
    places.insert(places.end(), static_cast<size_t>(count), i);
  }
  Tensor index({DType::i64, {std::ssize(places)}});
  for (int64_t i = 0; i < index.count(); ++i) index.set_int(i, places[static_cast<size_t>(i)]);
  return gather(build, x, build.constant(index), axis);
}

Value* bags(const Builder& build, Value* table, Value* indices, const Value* offsets, int64_t count,
            Value* weights, Bag bag) {
  const Constant* known = constant_of(offsets);
  const int64_t total = static_length(build, indices, 0);
  bool alike = known != nullptr && count > 0 && total % count == 0 && total > 0;
  if (alike) {
    const Tensor starts = tensor_of(*known);
    for (int64_t i = 0; i < count; ++i) alike = alike && starts.get_int(i) == i * (total / count);
  }
  if (!alike) build.fail("the bags are not of one length; give the indices as a matrix");
  const Dim width = table->shape().back();
  Value* rows = build.view(gather(build, table, indices, 0), {count, total / count, width});
  if (weights != nullptr)
    rows = build.add(Op::mul, {rows, build.view(weights, {count, total / count, 1})});
  constexpr Op kOps[] = {Op::reduce_sum, Op::reduce_mean, Op::reduce_max};
  return reduce(build, kOps[static_cast<size_t>(bag)], rows, {{1}, false});
}

Value* index(const Builder& build, Value* x, const std::vector<Value*>& indices) {
  const Flattened flat = flattened(build, x, indices);
  return gather(build, flat.data, flat.position, flat.axis);
}

Value* index_put(const Builder& build, Value* x, const std::vector<Value*>& indices, Value* values,
                 bool accumulate) {
  if (Value* y = put_under_mask(build, x, indices, values, accumulate)) return y;
  const Flattened flat = flattened(build, x, indices);
  const auto axis = static_cast<std::ptrdiff_t>(flat.axis);
  // The values as x[...] has them, then with one axis of indices.
  Shape written = flat.data->shape();
  written.erase(written.begin() + axis);
  written.insert(written.begin() + axis, flat.position->shape().begin(),
                 flat.position->shape().end());
  values = build.expand(build.convert(values, x->dtype()), written);
  Shape elements = flat.data->shape();
  elements[static_cast<size_t>(axis)] = element_count(flat.position->shape());
  values = build.view(values, elements);
  Value* y = accumulate ? index_add(build, flat.data, flat.axis, flat.position, values)
                        : put_slices(build, flat.data, flat.axis, flat.position, values);
  std::vector<int> inverse(flat.order.size());
  for (size_t i = 0; i < inverse.size(); ++i)
    inverse[static_cast<size_t>(flat.order[i])] = static_cast<int>(i);
  return build.permute(build.view(y, flat.unmerged), inverse);
}

Value* index_copy(const Builder& build, Value* x, int64_t axis, Value* index, Value* source) {
  if (source->shape().size() != x->shape().size() || !is_static(x->shape()))
    build.fail("copies {} into {}", to_string(source->type()), to_string(x->type()));
  return put_slices(build, x, axis, index, build.convert(source, x->dtype()));
}

Value* slice_scatter(const Builder& build, Value* x, Value* source, int64_t axis, int64_t start,
                     int64_t end, int64_t step) {
  const int64_t length = written_length(build, x, axis);
  if (step < 1) build.fail("the step is {}", step);
  auto place = [length](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + length : index, 0, length);
  };
  start = place(start);
  end = std::max(start, place(end));
  Shape part = x->shape();
  part[static_cast<size_t>(axis)] = (end - start) / step + ((end - start) % step != 0);
  source = build.expand(build.convert(source, x->dtype()), part);
  return overwrite(build, x, source, axis, start, step);
}

Value* select_scatter(const Builder& build, Value* x, Value* source, int64_t axis, int64_t index) {
  const int64_t length = written_length(build, x, axis);
  if (index < 0) index += length;
  if (index < 0 || index >= length) build.fail("writes to element {} of {}", index, length);
  Shape part = x->shape();
  part[static_cast<size_t>(axis)] = 1;
  source = view(build, build.convert(source, x->dtype()), part);
  return overwrite(build, x, source, axis, index, 1);
}

}  // namespace layline::ops
