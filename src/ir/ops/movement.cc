// Ops that copy elements.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "ir/ops/checks.h"
#include "ir/ops/walk.h"

namespace layline::rules {

// ---- Types ----

TensorType infer_constant(Types, const Attributes& attributes, SymbolTable&) {
  const auto& [data, quantisation] = std::get<ConstantAttrs>(attributes);
  TensorType type = result_type(data.dtype(), data.shape());
  if (quantisation) {
    expect_quantisation(*quantisation, type.shape);
    if (quantisation->dtype != type.dtype)
      throw UserError("expected data of {}, found {}", name(quantisation->dtype), to_string(type));
    type.quantisation = quantisation;
  }
  return type;
}

TensorType infer_relayout(Types operands, const Attributes& attributes, SymbolTable&) {
  const Relayout& relayout = std::get<RelayoutAttrs>(attributes).relayout;
  if (operands[0].shape != relayout.source())
    throw UserError("expected an operand of shape {}, found {}", to_string(relayout.source()),
                    to_string(operands[0]));
  return result_type(operands[0].dtype, relayout.target());
}

TensorType infer_expand(Types operands, const Attributes& attributes, SymbolTable&) {
  const Shape& shape = std::get<ShapeAttrs>(attributes).shape;
  if (broadcast(operands[0].shape, shape) != shape)
    throw UserError("{} does not broadcast to {}", to_string(operands[0]), to_string(shape));
  return result_type(operands[0].dtype, shape);
}

TensorType infer_slice(Types operands, const Attributes& attributes, SymbolTable&) {
  const auto& [start, size, step] = std::get<SliceAttrs>(attributes);
  const TensorType& x = operands[0];
  expect_entries(start, x.shape.size(), "start");
  expect_entries(step, x.shape.size(), "step");
  expect_at_least(start, 0, "start");
  expect_at_least(step, 1, "step");
  if (size.size() != x.shape.size())
    throw UserError("expected {} entries in size, found {}", x.rank(), size.size());
  for (size_t a = 0; a < size.size(); ++a) {
    // What a symbolic size selects was checked by whoever derived that size.
    if (!size[a].is_static() || !x.shape[a].is_static()) continue;
    const int64_t count = size[a].value();
    const int64_t end =
        count == 0 ? start[a] : exact_add(exact_add(start[a], exact_mul(count - 1, step[a])), 1);
    if (end > x.shape[a].value())
      throw UserError("start {}, size {}, step {} reach beyond axis {} of {}", start[a], count,
                      step[a], a, to_string(x));
  }
  return result_type(x.dtype, size);
}

TensorType infer_counted_slice(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  const auto& [axis, start, size] = std::get<CountedSliceAttrs>(attributes);
  const TensorType &data = operands[0], &count = operands[1];
  expect_axis(axis, data);
  if (count != TensorType{DType::i64, {}})
    throw UserError("expected one number, an i64[], found {}", to_string(count));
  const auto counted = static_cast<size_t>(axis);
  const TensorType result =
      infer_slice(operands.first(1), SliceAttrs{start, size, Ints(start.size(), 1)}, symbols);
  if (const Dim& taken = size[counted]; !taken.is_static()) {
    const bool fits =
        taken.symbols().size() == 1 && taken.coefficient() == 1 &&
        data.shape[counted].is_static() &&
        exact_add(start[counted], symbols.greatest(taken)) <= data.shape[counted].value();
    if (!fits)
      throw UserError("expected a symbol for axis {} that is never beyond it, found {} of {}", axis,
                      to_string(taken), to_string(data));
  }
  return result;
}

TensorType infer_concat(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  const int64_t axis = std::get<AxisAttrs>(attributes).axis;
  expect_same_dtype(operands);
  expect_axis(axis, operands[0]);
  const size_t along = static_cast<size_t>(axis);
  Shape shape = operands[0].shape;
  for (const TensorType& part : operands.subspan(1)) {
    Shape expected = shape;
    if (part.shape.size() == shape.size()) expected[along] = part.shape[along];
    if (part.shape != expected)
      throw UserError("expected parts that agree outside axis {}, found {} and {}", axis,
                      to_string(operands[0]), to_string(part));
    shape[along] = symbols.add(shape[along], part.shape[along]);
  }
  return result_type(operands[0].dtype, std::move(shape));
}

TensorType infer_pad(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  const auto& [low, high, mode, value] = std::get<PadAttrs>(attributes);
  const TensorType& x = operands[0];
  expect_entries(low, x.shape.size(), "low");
  expect_entries(high, x.shape.size(), "high");
  expect_at_least(low, 0, "low");
  expect_at_least(high, 0, "high");
  Shape shape = x.shape;
  for (size_t a = 0; a < shape.size(); ++a) {
    const int64_t added = exact_add(low[a], high[a]);
    if (added == 0) continue;
    if (mode != PadMode::constant) {
      // Padding reads real elements: reflect all but the border, circular at most each once.
      const int64_t size = symbols.least(shape[a]);
      const int64_t most = mode == PadMode::reflect ? size - 1 : size;
      const bool enough = mode == PadMode::replicate ? size > 0 : std::max(low[a], high[a]) <= most;
      if (!enough)
        throw UserError("padding {} and {} of axis {} exceeds what {} has to repeat", low[a],
                        high[a], a, to_string(x));
    }
    shape[a] = symbols.add(shape[a], added);
  }
  return result_type(x.dtype, std::move(shape));
}

TensorType infer_flip(Types operands, const Attributes& attributes, SymbolTable&) {
  expect_axes(std::get<AxesAttrs>(attributes).axes, operands[0]);
  return operands[0];
}

TensorType infer_roll(Types operands, const Attributes& attributes, SymbolTable&) {
  const auto& [axes, shifts] = std::get<RollAttrs>(attributes);
  expect_entries(shifts, axes.size(), "shifts");
  for (const int64_t axis : axes) expect_axis(axis, operands[0]);
  return operands[0];
}

TensorType infer_gather(Types operands, const Attributes& attributes, SymbolTable&) {
  const int64_t axis = std::get<AxisAttrs>(attributes).axis;
  const TensorType& data = operands[0];
  const TensorType& indices = operands[1];
  expect_axis(axis, data);
  if (!is_integer(indices.dtype))
    throw UserError("expected integer indices, found {}", to_string(indices));
  Shape shape(data.shape.begin(), data.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  return result_type(data.dtype, std::move(shape));
}

namespace {

/// Checks indices of single elements along an axis: other axes are as long as the data's, or
/// shorter.
void expect_element_indices(const TensorType& data, const TensorType& indices, int64_t axis) {
  expect_axis(axis, data);
  if (!is_integer(indices.dtype))
    throw UserError("expected integer indices, found {}", to_string(indices));
  expect_rank(indices, data.rank(), "indices");
  for (size_t a = 0; a < data.shape.size(); ++a)
    if (static_cast<int64_t>(a) != axis && indices.shape[a] != data.shape[a] &&
        static_size(indices.shape[a], "indices") > static_size(data.shape[a], "indexed data"))
      throw UserError("expected indices no larger than the data outside axis {}, found {} and {}",
                      axis, to_string(indices), to_string(data));
}

}  // namespace

TensorType infer_gather_elements(Types operands, const Attributes& attributes, SymbolTable&) {
  expect_element_indices(operands[0], operands[1], std::get<AxisAttrs>(attributes).axis);
  return result_type(operands[0].dtype, operands[1].shape);
}

/// data [..., length, ...], indices [1..., n, 1...] and updates [..., n, ...].
TensorType infer_scatter(Types operands, const Attributes& attributes, SymbolTable&) {
  const TensorType& data = operands[0];
  const TensorType& indices = operands[1];
  const int64_t axis = std::get<AxisAttrs>(attributes).axis;
  expect_axis(axis, data);
  if (!is_integer(indices.dtype))
    throw UserError("expected integer indices, found {}", to_string(indices));
  expect_rank(indices, data.rank(), "indices");
  TensorType updates = data;
  for (size_t a = 0; a < data.shape.size(); ++a) {
    if (static_cast<int64_t>(a) == axis)
      updates.shape[a] = indices.shape[a];
    else if (!indices.shape[a].is_one())
      throw UserError("expected indices along axis {}, found {}", axis, to_string(indices));
  }
  if (operands[2] != updates)
    throw UserError("expected updates {}, a slice for each index, found {}", to_string(updates),
                    to_string(operands[2]));
  return data;
}

TensorType infer_scatter_elements(Types operands, const Attributes& attributes, SymbolTable&) {
  const TensorType& data = operands[0];
  const TensorType& indices = operands[1];
  const TensorType& updates = operands[2];
  expect_element_indices(data, indices, std::get<AxisAttrs>(attributes).axis);
  if (updates != TensorType{data.dtype, indices.shape})
    throw UserError("expected updates {}, one for each index, found {}",
                    to_string(TensorType{data.dtype, indices.shape}), to_string(updates));
  return data;
}

TensorType infer_scatter_add(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  expect_numeric(operands[0]);
  return infer_scatter_elements(operands, attributes, symbols);
}

// ---- Elements ----

namespace {

constexpr int64_t kOutside = -1;

/// For each axis of a result, the axis index of the operand to read at each result index, or
/// kOutside. Most movements are such a table: they treat every axis by itself.
using Sources = std::vector<Ints>;

/// The table that reads every element where it stands.
Sources in_place(const Tensor& x) {
  Sources sources;
  for (const int64_t size : x.dims()) {
    Ints& source = sources.emplace_back(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) source[static_cast<size_t>(i)] = i;
  }
  return sources;
}

/// Reads x by the table; what is outside keeps its value in `out`.
Tensor read(const Tensor& x, Tensor out, const Sources& sources) {
  const size_t width = byte_size(x.dtype());
  const Ints from_strides = row_major_strides(x.dims());
  const Ints to_strides = row_major_strides(out.dims());
  const auto along = [&](const auto& self, size_t axis, int64_t from, int64_t to) -> void {
    if (axis == sources.size()) {
      std::memcpy(out.bytes().data() + static_cast<size_t>(to) * width,
                  x.bytes().data() + static_cast<size_t>(from) * width, width);
      return;
    }
    for (const int64_t source : sources[axis]) {
      if (source != kOutside) self(self, axis + 1, from + source * from_strides[axis], to);
      to += to_strides[axis];
    }
  };
  along(along, 0, 0, 0);
  return out;
}

}  // namespace

Tensor evaluate_constant(Tensors, const Attributes& attributes, const TensorType& result) {
  return Tensor(result, std::get<ConstantAttrs>(attributes).data.bytes());
}

Tensor evaluate_relayout(Tensors operands, const Attributes& attributes, const TensorType& result) {
  Tensor out(result);
  apply(std::get<RelayoutAttrs>(attributes).relayout, operands[0].bytes(), out.bytes(),
        byte_size(result.dtype));
  return out;
}

Tensor evaluate_expand(Tensors operands, const Attributes&, const TensorType& result) {
  const Tensor& x = operands[0];
  Tensor out(result);
  const size_t width = byte_size(x.dtype());
  walk(out.dims(), std::array{broadcast_strides(x.dims(), out.dims())},
       [&](int64_t to, const auto& from) {
         std::memcpy(out.bytes().data() + static_cast<size_t>(to) * width,
                     x.bytes().data() + static_cast<size_t>(from[0]) * width, width);
       });
  return out;
}

Tensor evaluate_slice(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const SliceAttrs& slice = std::get<SliceAttrs>(attributes);
  Tensor out(result);
  Sources sources = in_place(out);
  for (size_t a = 0; a < sources.size(); ++a)
    for (int64_t& source : sources[a]) source = slice.start[a] + source * slice.step[a];
  return read(operands[0], std::move(out), sources);
}

Tensor evaluate_counted_slice(Tensors operands, const Attributes& attributes,
                              const TensorType& result) {
  const auto& [axis, start, size] = std::get<CountedSliceAttrs>(attributes);
  if (const int64_t count = operands[1].get_int(0); size[static_cast<size_t>(axis)] != Dim(count))
    throw UserError("counts {}, but the size is {}", count,
                    to_string(size[static_cast<size_t>(axis)]));
  return evaluate_slice(operands.first(1), SliceAttrs{start, size, Ints(start.size(), 1)}, result);
}

Tensor evaluate_concat(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const int64_t axis = std::get<AxisAttrs>(attributes).axis;
  Tensor out(result);
  const Lanes lanes(out.dims(), axis);
  const size_t block = static_cast<size_t>(lanes.inner) * byte_size(result.dtype);
  std::byte* to = out.bytes().data();
  for (int64_t outer = 0; outer < lanes.outer; ++outer)
    for (const Tensor& part : operands) {
      const size_t bytes = static_cast<size_t>(part.dim(axis)) * block;
      if (bytes == 0) continue;
      std::memcpy(to, part.bytes().data() + static_cast<size_t>(outer) * bytes, bytes);
      to += bytes;
    }
  return out;
}

Tensor evaluate_pad(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const PadAttrs& pad = std::get<PadAttrs>(attributes);
  const Tensor& x = operands[0];
  Tensor out(result);
  if (pad.mode == PadMode::constant)
    for (int64_t i = 0; i < out.count(); ++i) out.set(i, pad.value);
  Sources sources = in_place(out);
  for (size_t a = 0; a < sources.size(); ++a)
    for (int64_t& source : sources[a]) {
      const int64_t size = x.dims()[a];
      source -= pad.low[a];
      if (source >= 0 && source < size) continue;
      switch (pad.mode) {
        case PadMode::constant:
          source = kOutside;
          break;
        case PadMode::reflect:
          source = source < 0 ? -source : 2 * (size - 1) - source;
          break;
        case PadMode::replicate:
          source = source < 0 ? 0 : size - 1;
          break;
        case PadMode::circular:
          source += source < 0 ? size : -size;
          break;
      }
    }
  return read(x, std::move(out), sources);
}

Tensor evaluate_flip(Tensors operands, const Attributes& attributes, const TensorType& result) {
  Sources sources = in_place(operands[0]);
  for (const int64_t axis : std::get<AxesAttrs>(attributes).axes)
    std::ranges::reverse(sources[static_cast<size_t>(axis)]);
  return read(operands[0], Tensor(result), sources);
}

Tensor evaluate_roll(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const auto& [axes, shifts] = std::get<RollAttrs>(attributes);
  Sources sources = in_place(operands[0]);
  for (size_t i = 0; i < axes.size(); ++i) {
    Ints& source = sources[static_cast<size_t>(axes[i])];
    if (source.empty()) continue;
    const int64_t size = static_cast<int64_t>(source.size());
    const int64_t shift = (shifts[i] % size + size) % size;
    std::ranges::rotate(source, source.end() - shift);
  }
  return read(operands[0], Tensor(result), sources);
}

/// As in numpy, an index from -n to -1 counts from the end of the axis.
Tensor evaluate_gather(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const Tensor& data = operands[0];
  const Tensor& indices = operands[1];
  const Lanes lanes(data.dims(), std::get<AxisAttrs>(attributes).axis);
  Tensor out(result);
  const size_t block = static_cast<size_t>(lanes.inner) * byte_size(result.dtype);
  for (int64_t i = 0; i < indices.count(); ++i) {
    const int64_t index = indices.get_int(i);
    if (index < -lanes.length || index >= lanes.length)
      throw UserError("index {} is outside the axis of length {}", index, lanes.length);
    const int64_t source = index < 0 ? index + lanes.length : index;
    if (block == 0) continue;
    for (int64_t outer = 0; outer < lanes.outer; ++outer)
      std::memcpy(out.bytes().data() + static_cast<size_t>(outer * indices.count() + i) * block,
                  data.bytes().data() + static_cast<size_t>(outer * lanes.length + source) * block,
                  block);
  }
  return out;
}

/// out[..., i, ...] = data[..., indices[..., i, ...], ...], the other indices unchanged.
namespace {

/// Calls visit(place in indices, place in data) for every index, in order.
template <typename Visit>
void walk_elements(const Tensor& data, const Tensor& indices, const Attributes& attributes,
                   Visit visit) {
  const size_t axis = static_cast<size_t>(std::get<AxisAttrs>(attributes).axis);
  const int64_t length = data.dims()[axis];
  Ints strides = row_major_strides(data.dims());
  const int64_t along = std::exchange(strides[axis], 0);
  walk(indices.dims(), std::array{strides}, [&](int64_t at, const auto& base) {
    const int64_t index = indices.get_int(at);
    if (index < 0 || index >= length)
      throw UserError("index {} is outside the axis of length {}", index, length);
    visit(static_cast<size_t>(at), static_cast<size_t>(base[0] + index * along));
  });
}

}  // namespace

Tensor evaluate_gather_elements(Tensors operands, const Attributes& attributes,
                                const TensorType& result) {
  Tensor out(result);
  const size_t width = byte_size(result.dtype);
  walk_elements(operands[0], operands[1], attributes, [&](size_t to, size_t from) {
    std::memcpy(out.bytes().data() + to * width, operands[0].bytes().data() + from * width, width);
  });
  return out;
}

/// If several updates are for one slice, the last one counts.
Tensor evaluate_scatter(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const Tensor& indices = operands[1];
  const Tensor& updates = operands[2];
  Tensor out = operands[0];
  const Lanes lanes(out.dims(), std::get<AxisAttrs>(attributes).axis);
  const size_t block = static_cast<size_t>(lanes.inner) * byte_size(result.dtype);
  for (int64_t i = 0; i < indices.count(); ++i) {
    const int64_t index = indices.get_int(i);
    if (index < 0 || index >= lanes.length)
      throw UserError("index {} is outside the axis of length {}", index, lanes.length);
    if (block == 0) continue;
    for (int64_t outer = 0; outer < lanes.outer; ++outer)
      std::memcpy(out.bytes().data() + static_cast<size_t>(outer * lanes.length + index) * block,
                  updates.bytes().data() + static_cast<size_t>(outer * indices.count() + i) * block,
                  block);
  }
  return out;
}

/// If several updates are for one element, the last one counts.
Tensor evaluate_scatter_elements(Tensors operands, const Attributes& attributes,
                                 const TensorType& result) {
  Tensor out = operands[0];
  const size_t width = byte_size(result.dtype);
  walk_elements(operands[0], operands[1], attributes, [&](size_t from, size_t to) {
    std::memcpy(out.bytes().data() + to * width, operands[2].bytes().data() + from * width, width);
  });
  return out;
}

Tensor evaluate_scatter_add(Tensors operands, const Attributes& attributes,
                            const TensorType& result) {
  Tensor out(result);
  with_number_type(result.dtype, [&]<typename T>(T) {
    std::vector<T> sums = values<T>(operands[0]);
    const std::vector<T> updates = values<T>(operands[2]);
    walk_elements(operands[0], operands[1], attributes,
                  [&](size_t from, size_t to) { sums[to] = plus(sums[to], updates[from]); });
    for (size_t i = 0; i < sums.size(); ++i) store(out, static_cast<int64_t>(i), sums[i]);
  });
  return out;
}

}  // namespace layline::rules
