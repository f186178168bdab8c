// Reading elements at places that a tensor holds, and writing to a part of a tensor.
#include <algorithm>
#include <limits>

#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/overwrite.h"
#include "ir/evaluate.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

int64_t axis_of(Call& call, const Value* x) {
  if (x->shape().empty()) call.fail("takes no 0-d tensors");
  return call.axis("dim", 0, x->type().rank());
}

/// The runtime takes one axis of indices.
Value* gather_flat(const Call& call, Value* x, Value* indices, int64_t axis) {
  Value* flat = call.view(indices, {element_count(indices->shape())});
  Shape shape = x->shape();
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices->shape().begin(), indices->shape().end());
  return call.view(call.add(Op::gather, {x, flat}, AxisAttrs{axis}), shape);
}

void embedding(Call& call) {
  call.result(call.add(Op::gather, {call.tensor("weight"), call.tensor("indices")}, AxisAttrs{0}));
}

void index_select(Call& call) {
  Value* x = call.tensor("self");
  call.result(call.view(gather_flat(call, x, call.tensor("index"), axis_of(call, x)),
                        call.recorded().shape));
}

void gather(Call& call) {
  Value* x = call.tensor("self");
  Value* index = call.tensor("index");
  if (x->shape().empty()) x = call.view(x, {1});
  if (index->shape().empty()) index = call.view(index, {1});
  Value* y =
      call.add(Op::gather_elements, {x, index}, AxisAttrs{call.axis("dim", 0, x->type().rank())});
  call.result(call.view(y, call.recorded().shape));
}

/// An index from -length to -1 counts from the end. Constant indices fold to constants.
Value* counted_from_start(const Call& call, Value* index, int64_t length) {
  index = call.convert(index, DType::i64);
  Value* negative = call.add(Op::less, {index, call.scalar(DType::i64, 0)});
  Value* wrapped = call.add(Op::add, {index, call.scalar(DType::i64, static_cast<double>(length))});
  return call.add(Op::where, {negative, wrapped, index});
}

/// A constant mask stands for the places where it is true: an index for each of its axes.
std::vector<Value*> places_in(const Call& call, const Constant& mask) {
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
    indices.push_back(call.constant(Constant::of(along)));
  }
  return indices;
}

/// The index tensors with constant masks replaced.
std::vector<Value*> given_indices(const Call& call) {
  std::vector<Value*> indices;
  for (Value* index : call.optional_tensors("indices")) {
    const Constant* mask = index && index->dtype() == DType::boolean ? constant_of(index) : nullptr;
    if (mask == nullptr) {
      indices.push_back(index);
      continue;
    }
    const std::vector<Value*> places = places_in(call, *mask);
    indices.insert(indices.end(), places.begin(), places.end());
  }
  return indices;
}

/// The axes that x[..., i, :, j] indexes, with the index tensor of each.
struct Indexed {
  std::vector<int> axes;
  std::vector<Value*> indices;
};

Indexed indexed_axes(Call& call, const Value* x) {
  Indexed indexed;
  const std::vector<Value*> given = given_indices(call);
  if (given.size() > x->shape().size())
    call.fail("{} indices for {}", given.size(), to_string(x->type()));
  for (size_t a = 0; a < given.size(); ++a) {
    if (given[a] == nullptr) continue;
    if (given[a]->dtype() == DType::boolean)
      call.fail(
          "a mask selects as many elements as it has, so the size of the result depends on "
          "the data; use torch.where instead");
    if (!x->shape()[a].is_static()) call.fail("indexes a dynamic axis, which is not supported");
    indexed.axes.push_back(static_cast<int>(a));
    indexed.indices.push_back(given[a]);
  }
  if (indexed.axes.empty()) call.fail("has no indices");
  return indexed;
}

/// Several index tensors are one, `position`, into the indexed axes flattened. Where these stand
/// next to each other, that axis takes their place; otherwise it comes first.
struct Flattened {
  Value* data;      // permuted by `order`, the indexed axes merged
  Value* position;  // of the indices' common shape
  int64_t axis;     // of the merged axes
  Shape unmerged;   // of the data before merging
  std::vector<int> order;
};

Flattened flattened(Call& call, Value* x) {
  const Indexed indexed = indexed_axes(call, x);
  const size_t count = indexed.axes.size();
  const bool adjacent = indexed.axes.back() - indexed.axes.front() + 1 == static_cast<int>(count);
  const size_t place = adjacent ? static_cast<size_t>(indexed.axes.front()) : 0;

  std::vector<int> order;
  for (int a = 0; a < static_cast<int>(x->shape().size()); ++a)
    if (std::ranges::find(indexed.axes, a) == indexed.axes.end()) order.push_back(a);
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), indexed.axes.begin(),
               indexed.axes.end());
  Value* moved = call.permute(x, order);

  Value* position = nullptr;
  int64_t length = 1;
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis_length = x->shape()[static_cast<size_t>(indexed.axes[i])].value();
    Value* index = counted_from_start(call, indexed.indices[i], axis_length);
    if (position != nullptr) {
      Value* scale = call.scalar(DType::i64, static_cast<double>(axis_length));
      index = call.add(Op::add, {call.add(Op::mul, {position, scale}), index});
    }
    position = index;
    length *= axis_length;
  }
  Shape merged = moved->shape();
  const auto first = merged.begin() + static_cast<std::ptrdiff_t>(place);
  merged.erase(first, first + static_cast<std::ptrdiff_t>(count));
  merged.insert(merged.begin() + static_cast<std::ptrdiff_t>(place), Dim(length));
  return {call.view(moved, merged), position, static_cast<int64_t>(place), moved->shape(),
          std::move(order)};
}

void index(Call& call) {
  const Flattened flat = flattened(call, call.tensor("self"));
  call.result(gather_flat(call, flat.data, flat.position, flat.axis));
}

/// x with the element `index`, a tensor of one, of an axis replaced by `part`, of length 1 there: a
/// choice by comparison, which stays among the elementwise ops around it, as a scatter does not.
Value* with_element(const Call& call, Value* x, int64_t axis, Value* index, Value* part) {
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  constexpr int64_t kMostPlaces = 1 << 28;
  if (length.value() > kMostPlaces) call.fail("writes to an axis of {} elements", length.value());
  Tensor places({DType::i64, {length}});
  for (int64_t i = 0; i < length.value(); ++i) places.set_int(i, i);
  Value* numbers = call.constant(Constant::of(places));
  index = call.view(counted_from_start(call, index, length.value()), {1});
  Shape along(x->shape().size() - static_cast<size_t>(axis), Dim(1));
  along[0] = length;
  Value* hit = call.view(call.add(Op::equal, {numbers, index}), std::move(along));
  return call.add(Op::where, {hit, part, x});
}

/// x with the elements that a list of indices names, of one axis, replaced by those of `source`.
void index_copy(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  Value* index = call.tensor("index");
  Value* source = call.tensor("source");
  if (source->shape().size() != x->shape().size() || !is_static(x->shape()))
    call.fail("copies {} into {}", to_string(source->type()), to_string(x->type()));
  if (element_count(index->shape()).is_one())
    return call.result(with_element(call, x, axis, index, source));
  Shape along(x->shape().size() - static_cast<size_t>(axis), Dim(1));
  along[0] = element_count(index->shape());
  index =
      call.expand(call.view(call.convert(index, DType::i64), std::move(along)), source->shape());
  call.result(call.add(Op::scatter_elements, {x, index, source}, AxisAttrs{axis}));
}

/// x with the elements under a mask replaced by one value.
bool put_under_mask(Call& call, Value* x, bool accumulate) {
  const std::vector<Value*> given = call.optional_tensors("indices");
  if (given.size() != 1 || given[0] == nullptr || given[0]->dtype() != DType::boolean) return false;
  Value* values = call.convert(call.tensor("values"), x->dtype());
  if (!element_count(values->shape()).is_one() || given[0]->shape().size() > x->shape().size())
    return false;
  values = call.view(values, {});
  if (accumulate) values = call.add(Op::add, {x, values});
  Shape mask = given[0]->shape();
  mask.resize(x->shape().size(), Dim(1));
  call.result(call.add(Op::where, {call.view(given[0], mask), values, x}));
  return true;
}

/// x with x[..., i, :, j] replaced by values, which broadcast, or with the values added.
void index_put(Call& call) {
  const bool accumulate = call.flag("accumulate", false);
  Value* x = call.tensor("self");
  if (put_under_mask(call, x, accumulate)) return;
  if (const Indexed indexed = indexed_axes(call, x);
      !accumulate && indexed.axes.size() == 1 &&
      element_count(indexed.indices[0]->shape()).is_one()) {
    const auto place = static_cast<size_t>(indexed.axes[0]);
    Shape part = x->shape();
    part.erase(part.begin() + static_cast<std::ptrdiff_t>(place));
    const Shape& index = indexed.indices[0]->shape();
    part.insert(part.begin() + static_cast<std::ptrdiff_t>(place), index.begin(), index.end());
    Value* values = call.expand(call.convert(call.tensor("values"), x->dtype()), part);
    part = x->shape();
    part[place] = 1;
    return call.result(with_element(call, x, indexed.axes[0], indexed.indices[0],
                                    call.view(values, std::move(part))));
  }
  const Flattened flat = flattened(call, x);
  const auto axis = static_cast<std::ptrdiff_t>(flat.axis);
  // The values as x[...] has them, then with one axis of indices; every element has its own index.
  Shape written = flat.data->shape();
  written.erase(written.begin() + axis);
  written.insert(written.begin() + axis, flat.position->shape().begin(),
                 flat.position->shape().end());
  Value* values = call.expand(call.convert(call.tensor("values"), x->dtype()), written);
  Shape elements = flat.data->shape();
  elements[static_cast<size_t>(axis)] = element_count(flat.position->shape());
  Shape one_axis(elements.size(), Dim(1));
  one_axis[static_cast<size_t>(axis)] = elements[static_cast<size_t>(axis)];
  Value* positions = call.expand(call.view(flat.position, one_axis), elements);
  Value* y = call.add(accumulate ? Op::scatter_add : Op::scatter_elements,
                      {flat.data, positions, call.view(values, elements)}, AxisAttrs{flat.axis});
  std::vector<int> inverse(flat.order.size());
  for (size_t i = 0; i < inverse.size(); ++i)
    inverse[static_cast<size_t>(flat.order[i])] = static_cast<int>(i);
  call.result(call.permute(call.view(y, flat.unmerged), inverse));
}

int64_t static_length(Call& call, const Value* x, int64_t axis) {
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  if (!length.is_static()) call.fail("writes to a dynamic axis, which is not supported");
  return length.value();
}

void slice_scatter(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  const int64_t length = static_length(call, x, axis);
  const int64_t step = call.integer("step", 1);
  if (step < 1) call.fail("the step is {}", step);
  auto place = [length](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + length : index, 0, length);
  };
  const int64_t start = place(call.integer("start", 0));
  const int64_t end =
      std::max(start, place(call.integer("end", std::numeric_limits<int64_t>::max())));
  Shape part = x->shape();
  part[static_cast<size_t>(axis)] = (end - start) / step + ((end - start) % step != 0);
  Value* source = call.expand(call.convert(call.tensor("src"), x->dtype()), part);
  call.result(overwrite(call, x, source, axis, start, step));
}

void select_scatter(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x);
  const int64_t length = static_length(call, x, axis);
  int64_t index = call.integer("index");
  if (index < 0) index += length;
  if (index < 0 || index >= length) call.fail("writes to element {} of {}", index, length);
  Shape part = x->shape();
  part[static_cast<size_t>(axis)] = 1;
  Value* source = call.view(call.convert(call.tensor("src"), x->dtype()), part);
  call.result(overwrite(call, x, source, axis, index, 1));
}

constexpr OpRule kRules[] = {
    {"aten.embedding.default", embedding},
    {"aten.index_select.default", index_select},
    {"aten.gather.default", gather},
    {"aten.index.Tensor", index},
    {"aten.index_put.default", index_put},
    {"aten.index_copy.default", index_copy},
    {"aten.slice_scatter.default", slice_scatter},
    {"aten.select_scatter.default", select_scatter},
};

}  // namespace

std::span<const OpRule> index_rules() { return kRules; }

}  // namespace layline::pt2
