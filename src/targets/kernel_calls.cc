#include "targets/kernel_calls.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "ir/tensor.h"
#include "targets/window_calls.h"

namespace layline {

pte::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return pte::ScalarType::kFloat32;
    case DType::f16:
      return pte::ScalarType::kFloat16;
    case DType::bf16:
      return pte::ScalarType::kBFloat16;
    case DType::f64:
      return pte::ScalarType::kFloat64;
    case DType::i8:
      return pte::ScalarType::kInt8;
    case DType::i16:
      return pte::ScalarType::kInt16;
    case DType::i32:
      return pte::ScalarType::kInt32;
    case DType::i64:
      return pte::ScalarType::kInt64;
    case DType::u8:
      return pte::ScalarType::kUInt8;
    case DType::u16:
      return pte::ScalarType::kUInt16;
    case DType::boolean:
      return pte::ScalarType::kBool;
  }
  throw InternalError("unknown dtype");
}

pte::TensorDesc MethodBuilder::describe(const TensorType& type) const {
  pte::TensorDesc desc;
  desc.type = scalar_type(type.dtype);
  for (const Dim& dim : type.shape) {
    desc.sizes.push_back(
        static_cast<int32_t>(dim.is_static() ? dim.value() : symbols().greatest(dim)));
    if (!dim.is_static()) desc.dynamism = pte::ShapeDynamism::kBound;
  }
  return desc;
}

void MethodBuilder::view(pte::ValueId from, const Shape& shape, pte::ValueId to) {
  if (is_static(shape)) return;
  const pte::ValueId list = sizes(shape);
  method_.instructions.push_back(
      pte::KernelCall{"executorch_prim::et_view", "default", {from, list, to}});
}

pte::ValueId MethodBuilder::alias(const TensorType& type, pte::ValueId of) {
  const auto& source = std::get<pte::TensorDesc>(method_.values[static_cast<size_t>(of)]);
  pte::PlannedData place = std::get<pte::PlannedData>(source.storage);
  const pte::ValueId id = temporary(type);
  if (place.memory_id == pte::kArena) {
    aliases_.push_back({id, of});
  } else {
    // Places outside the arena are known already.
    place.initial_state.reset();
    std::get<pte::TensorDesc>(method_.values[static_cast<size_t>(id)]).storage = place;
  }
  return id;
}

bool MethodBuilder::is_planned(pte::ValueId id) const {
  const auto& tensor = std::get<pte::TensorDesc>(method_.values[static_cast<size_t>(id)]);
  return std::holds_alternative<pte::PlannedData>(tensor.storage);
}

bool MethodBuilder::is_same_state(pte::ValueId a, pte::ValueId b) const {
  const auto place = [&](pte::ValueId id) {
    const auto& tensor = std::get<pte::TensorDesc>(method_.values[static_cast<size_t>(id)]);
    return std::get_if<pte::PlannedData>(&tensor.storage);
  };
  const pte::PlannedData *first = place(a), *second = place(b);
  return first && second && first->memory_id != pte::kArena &&
         first->memory_id == second->memory_id && first->offset == second->offset;
}

void MethodBuilder::define(const Value* value) {
  LAYLINE_ASSERT(values_.emplace(value, temporary(value->type())).second, "{} is defined twice",
                 value->name());
}

pte::ValueId MethodBuilder::define_boundary(const Value* value, const std::vector<int>& dim_order,
                                            pte::Storage storage) {
  pte::TensorDesc desc = describe(value->type());
  const std::vector<int32_t> stored = desc.sizes;
  for (size_t i = 0; i < stored.size(); ++i) {
    desc.sizes[static_cast<size_t>(dim_order[i])] = stored[i];
    desc.dim_order.push_back(static_cast<uint8_t>(dim_order[i]));
  }
  desc.storage = storage;
  const pte::ValueId id = method_.add(std::move(desc));
  (std::ranges::is_sorted(dim_order) ? values_ : boundary_).emplace(value, id);
  return id;
}

pte::ValueId MethodBuilder::define_input(const Value* value, const std::vector<int>& dim_order) {
  const pte::ValueId id = define_boundary(value, dim_order, pte::Unplanned{});
  for (size_t i = 0; i < dim_order.size(); ++i)
    if (!value->shape()[i].is_static()) sizes_.declare(id, dim_order[i], value->shape()[i]);
  return id;
}

pte::ValueId MethodBuilder::alias_of_boundary(const Value* value, pte::ValueId boundary) {
  // The alias needs the bytes in the arena: an input is then copied there by the runtime.
  tensor_of(boundary).storage = pte::PlannedData{};
  return alias(value->type(), boundary);
}

Shape MethodBuilder::logical_shape(const Value* value, pte::ValueId boundary) const {
  const auto& tensor = std::get<pte::TensorDesc>(method_.values[static_cast<size_t>(boundary)]);
  Shape shape(value->shape().size());
  for (size_t i = 0; i < shape.size(); ++i) shape[tensor.dim_order[i]] = value->shape()[i];
  return shape;
}

pte::ValueId MethodBuilder::tensor(const Value* value) {
  if (auto known = values_.find(value); known != values_.end()) return known->second;
  if (auto known = boundary_.find(value); known != boundary_.end()) {
    const pte::ValueId id = values_[value] = alias_of_boundary(value, known->second);
    view(known->second, value->shape(), id);
    return id;
  }
  const Constant* data = stored_constant(value);
  LAYLINE_ASSERT(data != nullptr, "{} is read before it is written", value->name());
  return values_[value] = constant(*data);
}

pte::ValueId MethodBuilder::constant(const Constant& data) {
  pte::TensorDesc desc = describe({data.dtype(), data.shape()});
  desc.storage = pte::ConstantData{constants_.add_tensor(data)};
  return method_.add(std::move(desc));
}

pte::ValueId MethodBuilder::bytes(const Value* value) {
  auto known = boundary_.find(value);
  return known == boundary_.end() ? tensor(value) : known->second;
}

bool MethodBuilder::define_view(const Value* value, const Value* of) {
  if (stored_constant(of)) return false;
  const pte::ValueId source = bytes(of);
  if (!is_planned(source)) return false;
  const pte::ValueId id = values_[value] = alias(value->type(), source);
  view(source, value->shape(), id);
  return true;
}

namespace {

/// The first element of a counted slice, if it is a run of its operand's elements.
std::optional<int64_t> first_of_run(const Node& slice) {
  const auto& attrs = slice.attrs<CountedSliceAttrs>();
  const Shape& data = slice.operand(0)->shape();
  if (!is_static(data)) return std::nullopt;
  int64_t first = 0, stride = 1;
  for (size_t a = data.size(); a-- > 0; stride *= data[a].value()) {
    const auto axis = static_cast<int64_t>(a);
    if (axis > attrs.axis && attrs.size[a] != data[a]) return std::nullopt;
    if (axis < attrs.axis && !attrs.size[a].is_one()) return std::nullopt;
    first += attrs.start[a] * stride;
  }
  return first;
}

}  // namespace

bool MethodBuilder::define_run(const Node& slice) {
  const Value *value = slice.result(), *data = slice.operand(0);
  const std::optional<int64_t> first = first_of_run(slice);
  if (!first || stored_constant(data) || boundary_.contains(data)) return false;
  const uint64_t offset = static_cast<uint64_t>(*first) * byte_size(value->dtype());
  const pte::ValueId source = tensor(data);
  const auto* place = std::get_if<pte::PlannedData>(&tensor_of(source).storage);
  if (!place || place->memory_id == pte::kArena || offset % pte::kBufferAlignment != 0)
    return false;
  declare_size(slice);
  const pte::ValueId id = values_[value] = alias(value->type(), source);
  std::get<pte::PlannedData>(tensor_of(id).storage).offset += offset;
  // This kernel gives its result a size, and leaves the bytes as they are.
  call("aten::empty", "out", {sizes(value->shape()), none()}, id);
  return true;
}

void MethodBuilder::declare_size(const Node& slice) {
  const auto& attrs = slice.attrs<CountedSliceAttrs>();
  const Dim& size = attrs.size[static_cast<size_t>(attrs.axis)];
  const Value* count = slice.operand(1);
  const auto [known, is_new] = counts_.emplace(size, count);
  if (known->second != count)
    throw UserError("{}: the size {} is {} already, and cannot be {}, too",
                    layline::describe(slice), to_string(size), known->second->name(),
                    count->name());
  if (is_new) sizes_.declare(size, item(tensor(count)));
}

pte::ValueId MethodBuilder::temporary(const TensorType& type) {
  pte::TensorDesc desc = describe(type);
  desc.storage = pte::PlannedData{};
  return method_.add(std::move(desc));
}

pte::ValueId MethodBuilder::ints(const std::vector<int64_t>& values) {
  return literal(pte::IntList(values.begin(), values.end()));
}

pte::ValueId MethodBuilder::item(pte::ValueId tensor) {
  const pte::ValueId number = integer(0);
  method_.instructions.push_back(
      pte::KernelCall{"aten::_local_scalar_dense", "", {tensor, number}});
  return number;
}

void MethodBuilder::call(std::string_view kernel, std::string_view overload,
                         std::vector<pte::ValueId> arguments, pte::ValueId out) {
  arguments.push_back(out);
  arguments.push_back(out);
  method_.instructions.push_back(
      pte::KernelCall{std::string(kernel), std::string(overload), std::move(arguments)});
}

namespace {

std::string accept(const Node&) { return {}; }

std::string_view kernel_of(std::string_view full) { return full.substr(0, full.find('.')); }
std::string_view overload_of(std::string_view full) { return full.substr(full.find('.') + 1); }

/// The operator that the table lists for this op.
std::string_view listed(const Node& node) { return find_portable_kernel(node.op())->operators[0]; }

/// Calls a kernel that takes all operands, and nothing else but the result.
void plain(MethodBuilder& method, const Node& node) {
  std::vector<pte::ValueId> arguments;
  for (const Value* operand : node.operands()) arguments.push_back(method.tensor(operand));
  method.call(kernel_of(listed(node)), overload_of(listed(node)), std::move(arguments),
              node.result());
}

std::string refuse_bounds(const Node& node) {
  return node.attrs<BinaryAttrs>().bounds.unbounded() ? "" : "a fused clamp outside a delegate";
}

/// add and sub carry torch's alpha.
void with_alpha(MethodBuilder& method, const Node& node) {
  method.call(kernel_of(listed(node)), overload_of(listed(node)),
              {method.tensor(node.operand(0)), method.tensor(node.operand(1)), method.integer(1)},
              node.result());
}

/// Integers divide towards zero.
void div(MethodBuilder& method, const Node& node) {
  if (is_float(node.result()->dtype())) return plain(method, node);
  method.call(
      "aten::div", "out_mode",
      {method.tensor(node.operand(0)), method.tensor(node.operand(1)), method.string("trunc")},
      node.result());
}

void square(MethodBuilder& method, const Node& node) {
  const pte::ValueId x = method.tensor(node.operand(0));
  method.call("aten::mul", "out", {x, x}, node.result());
}

void gelu(MethodBuilder& method, const Node& node) {
  method.call("aten::gelu", "out",
              {method.tensor(node.operand(0)),
               method.string(node.attrs<GeluAttrs>().tanh ? "tanh" : "none")},
              node.result());
}

void elu(MethodBuilder& method, const Node& node) {
  method.call("aten::elu", "out",
              {method.tensor(node.operand(0)), method.real(node.attrs<AlphaAttrs>().alpha),
               method.integer(1), method.integer(1)},
              node.result());
}

void leaky_relu(MethodBuilder& method, const Node& node) {
  method.call("aten::leaky_relu", "out",
              {method.tensor(node.operand(0)), method.real(node.attrs<AlphaAttrs>().alpha)},
              node.result());
}

void clamp(MethodBuilder& method, const Node& node) {
  const Bounds& bounds = node.attrs<ClampAttrs>().bounds;
  const DType dtype = node.result()->dtype();
  // A bound that the type cannot hold is refused by the kernel; no element is beyond it.
  auto is_held = [&](double value) {
    if (std::abs(value) == std::numeric_limits<double>::infinity()) return false;
    Tensor held({dtype, {}});
    held.set(0, value);
    return is_float(dtype) || held.get_int(0) == static_cast<int64_t>(value);
  };
  // One of a float type would promote an integer tensor.
  auto bound = [&](double value) {
    if (!is_held(value)) return method.none();
    return is_float(dtype) ? method.real(value) : method.integer(static_cast<int64_t>(value));
  };
  const pte::ValueId x = method.tensor(node.operand(0));
  if (!is_held(bounds.min) && !is_held(bounds.max))
    return method.call("aten::clone", "out", {x, method.none()}, node.result());
  const pte::ValueId min = bound(bounds.min), max = bound(bounds.max);
  method.call("aten::clamp", "out", {x, min, max}, node.result());
}

void convert(MethodBuilder& method, const Node& node) {
  method.call("aten::_to_copy", "out",
              {method.tensor(node.operand(0)), method.boolean(false), method.none()},
              node.result());
}

/// Copies the same bytes.
void reinterpret(MethodBuilder& method, const Node& node) {
  method.call("aten::view_copy", "out",
              {method.tensor(node.operand(0)), method.ints(static_dims(node.result()->shape()))},
              node.result());
}

/// A view is a copy; a movement is a permute of the factors between views.
void relayout(MethodBuilder& method, const Node& node) {
  const Relayout& moved = node.attrs<RelayoutAttrs>().relayout;
  const DType dtype = node.result()->dtype();
  pte::ValueId from = method.tensor(node.operand(0));
  const pte::ValueId to = method.tensor(node.result());
  auto view = [&](pte::ValueId source, const Shape& shape, pte::ValueId out) {
    method.call("aten::view_copy", "out", {source, method.sizes(shape)}, out);
  };
  auto permute = [&](pte::ValueId source, const Permutation& order, pte::ValueId out) {
    method.call("aten::permute_copy", "out", {source, method.ints({order.begin(), order.end()})},
                out);
  };
  if (moved.is_view()) return view(from, moved.target(), to);
  if (auto permutation = moved.as_permutation()) return permute(from, *permutation, to);
  const auto [factors, order] = moved.as_transpose();
  Shape permuted;
  for (int factor : order) permuted.push_back(factors[static_cast<size_t>(factor)]);
  if (factors != moved.source()) {
    const pte::ValueId split = method.temporary({dtype, factors});
    view(from, factors, split);
    from = split;
  }
  if (permuted == moved.target()) return permute(from, order, to);
  const pte::ValueId before_merge = method.temporary({dtype, permuted});
  permute(from, order, before_merge);
  view(before_merge, moved.target(), to);
}

void expand(MethodBuilder& method, const Node& node) {
  method.call(
      "aten::expand_copy", "out",
      {method.tensor(node.operand(0)), method.sizes(node.result()->shape()), method.boolean(false)},
      node.result());
}

/// Slices one axis at a time: the kernel cuts one.
void cut(MethodBuilder& method, const Node& node, const SliceAttrs& attrs) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < attrs.start.size(); ++a)
    if (attrs.size[a] != node.operand(0)->shape()[a]) axes.push_back(a);
  pte::ValueId x = method.tensor(node.operand(0));
  TensorType type = node.operand(0)->type();
  if (axes.empty()) return method.call("aten::clone", "out", {x, method.none()}, node.result());
  for (size_t a : axes) {
    type.shape[a] = attrs.size[a];
    // Behind the last element; where that lies beyond the axis the kernel stops at its end.
    Sum end = Sum::number(attrs.start[a]);
    if (!attrs.size[a].is_zero())
      end = end + Sum(attrs.size[a]) * Sum::number(attrs.step[a]) + Sum::number(1 - attrs.step[a]);
    const pte::ValueId out =
        a == axes.back() ? method.tensor(node.result()) : method.temporary(type);
    method.call("aten::slice_copy", "Tensor_out",
                {x, method.integer(static_cast<int64_t>(a)), method.integer(attrs.start[a]),
                 method.size(end), method.integer(attrs.step[a])},
                out);
    x = out;
  }
}

void slice(MethodBuilder& method, const Node& node) { cut(method, node, node.attrs<SliceAttrs>()); }

std::string refuse_counted_slice(const Node& node) {
  const auto& attrs = node.attrs<CountedSliceAttrs>();
  return attrs.size[static_cast<size_t>(attrs.axis)].is_static() ? "a count for a fixed size" : "";
}

void counted_slice(MethodBuilder& method, const Node& node) {
  const auto& attrs = node.attrs<CountedSliceAttrs>();
  method.declare_size(node);
  cut(method, node, {attrs.start, attrs.size, Ints(attrs.start.size(), 1)});
}

void concat(MethodBuilder& method, const Node& node) {
  std::vector<pte::ValueId> parts;
  for (const Value* part : node.operands()) parts.push_back(method.tensor(part));
  const pte::ValueId out = method.tensor(node.result());
  method.call("aten::cat", "out",
              {method.tensors(std::move(parts)), method.integer(node.attrs<AxisAttrs>().axis)},
              out);
}

std::string refuse_pad(const Node& node) {
  return node.attrs<PadAttrs>().mode == PadMode::constant ? "" : "padding other than by a constant";
}

void pad(MethodBuilder& method, const Node& node) {
  const auto& attrs = node.attrs<PadAttrs>();
  std::vector<int64_t> pairs;  // from the last axis backwards
  for (size_t a = attrs.low.size(); a-- > 0;) {
    pairs.push_back(attrs.low[a]);
    pairs.push_back(attrs.high[a]);
  }
  const bool real = is_float(node.result()->dtype());
  method.call("aten::constant_pad_nd", "out",
              {method.tensor(node.operand(0)), method.ints(pairs),
               real ? method.real(attrs.value) : method.integer(static_cast<int64_t>(attrs.value))},
              node.result());
}

void flip(MethodBuilder& method, const Node& node) {
  method.call("aten::flip", "out",
              {method.tensor(node.operand(0)), method.ints(node.attrs<AxesAttrs>().axes)},
              node.result());
}

void roll(MethodBuilder& method, const Node& node) {
  const auto& attrs = node.attrs<RollAttrs>();
  method.call("aten::roll", "out",
              {method.tensor(node.operand(0)), method.ints(attrs.shifts), method.ints(attrs.axes)},
              node.result());
}

std::string refuse_gather(const Node& node) {
  const DType index = node.operand(1)->dtype();
  if (index != DType::i64 && index != DType::i32)
    return fmt::format("indices of type {}", name(index));
  const bool rows_of_matrix =
      node.attrs<AxisAttrs>().axis == 0 && node.operand(0)->type().rank() == 2;
  return rows_of_matrix || node.operand(1)->type().rank() == 1 ? "" : "indices with several axes";
}

void gather(MethodBuilder& method, const Node& node) {
  const pte::ValueId data = method.tensor(node.operand(0)), index = method.tensor(node.operand(1));
  const pte::ValueId out = method.tensor(node.result());
  if (node.operand(1)->type().rank() == 1)
    return method.call("aten::index_select", "out",
                       {data, method.integer(node.attrs<AxisAttrs>().axis), index}, out);
  method.call("aten::embedding", "out",
              {data, index, method.integer(-1), method.boolean(false), method.boolean(false)}, out);
}

std::string refuse_element_indices(const Node& node) {
  const DType index = node.operand(1)->dtype();
  return index == DType::i64 ? "" : fmt::format("indices of type {}", name(index));
}

void gather_elements(MethodBuilder& method, const Node& node) {
  method.call("aten::gather", "out",
              {method.tensor(node.operand(0)), method.integer(node.attrs<AxisAttrs>().axis),
               method.tensor(node.operand(1)), method.boolean(false)},
              node.result());
}

std::string refuse_scatter(const Node& node) {
  const DType index = node.operand(1)->dtype();
  if (index != DType::i64 && index != DType::i32)
    return fmt::format("indices of type {}", name(index));
  return {};
}

/// Writes to a state in place, where the result is to lie there; otherwise the kernel copies the
/// data first.
void scatter(MethodBuilder& method, const Node& node) {
  const Value* along = node.operand(1);
  // Most indices are views of a list: one for all writes to the same places.
  if (const Node* view = along->def();
      view && view->is(Op::relayout) && view->operand(0)->type().rank() == 1)
    along = view->operand(0);
  pte::ValueId index = method.tensor(along);
  if (along->type().rank() != 1) {
    const Shape flat = {element_count(along->shape())};
    const pte::ValueId list = method.temporary({along->dtype(), flat});
    method.call("aten::view_copy", "out", {index, method.sizes(flat)}, list);
    index = list;
  }
  const pte::ValueId data = method.tensor(node.operand(0)),
                     updates = method.tensor(node.operand(2));
  const pte::ValueId result = method.tensor(node.result());
  const pte::ValueId indices =
      method.index_along(static_cast<size_t>(node.attrs<AxisAttrs>().axis), index);
  if (!method.is_same_state(data, result))
    return method.call("aten::index_put", "out", {data, indices, updates, method.boolean(false)},
                       result);
  method.method().instructions.push_back(pte::KernelCall{
      "aten::index_put_", "", {data, indices, updates, method.boolean(false), data}});
}

void scatter_elements(MethodBuilder& method, const Node& node) {
  method.call("aten::scatter", "src_out",
              {method.tensor(node.operand(0)), method.integer(node.attrs<AxisAttrs>().axis),
               method.tensor(node.operand(1)), method.tensor(node.operand(2))},
              node.result());
}

void scatter_add(MethodBuilder& method, const Node& node) {
  method.call("aten::scatter_add", "out",
              {method.tensor(node.operand(0)), method.integer(node.attrs<AxisAttrs>().axis),
               method.tensor(node.operand(1)), method.tensor(node.operand(2))},
              node.result());
}

std::string refuse_matmul(const Node& node) {
  const auto rank = node.result()->type().rank();
  if (node.attrs<MatmulAttrs>().transpose_b) return "a transposed matmul outside a delegate";
  if (rank == 2) return {};
  const bool same_batch = rank == 3 && node.operand(0)->type().rank() == 3 &&
                          node.operand(1)->type().rank() == 3 &&
                          node.operand(0)->shape()[0] == node.operand(1)->shape()[0];
  return same_batch ? "" : "a broadcast matmul outside a delegate";
}

void matmul(MethodBuilder& method, const Node& node) {
  method.call(node.result()->type().rank() == 2 ? "aten::mm" : "aten::bmm", "out",
              {method.tensor(node.operand(0)), method.tensor(node.operand(1))}, node.result());
}

std::string refuse_causal_attention(const Node& node) {
  const DType dtype = node.result()->dtype();
  return dtype == DType::f32 ? "" : fmt::format("the runtime's kernel takes no {}", name(dtype));
}

/// The arguments after the place of the first query: no mask, no dropout, causal, scale.
void causal_attention(MethodBuilder& method, const Node& node) {
  const pte::ValueId start = method.item(method.tensor(node.operand(3)));
  method.call("llama::custom_sdpa", "out",
              {method.tensor(node.operand(0)), method.tensor(node.operand(1)),
               method.tensor(node.operand(2)), start, method.none(), method.real(0),
               method.boolean(true), method.real(1)},
              node.result());
}

/// Reduces along the axes, keeping them; `dtype` if the schema asks for one.
void reduce_with_dtype(MethodBuilder& method, const Node& node) {
  method.call(kernel_of(listed(node)), overload_of(listed(node)),
              {method.tensor(node.operand(0)), method.ints(node.attrs<AxesAttrs>().axes),
               method.boolean(true), method.none()},
              node.result());
}

void reduce(MethodBuilder& method, const Node& node) {
  method.call(kernel_of(listed(node)), overload_of(listed(node)),
              {method.tensor(node.operand(0)), method.ints(node.attrs<AxesAttrs>().axes),
               method.boolean(true)},
              node.result());
}

std::string refuse_several_axes(const Node& node) {
  return node.attrs<AxesAttrs>().axes.size() == 1 ? "" : "a product over several axes";
}

void prod(MethodBuilder& method, const Node& node) {
  method.call("aten::prod", "int_out",
              {method.tensor(node.operand(0)), method.integer(node.attrs<AxesAttrs>().axes[0]),
               method.boolean(true), method.none()},
              node.result());
}

/// There is no kernel for `all`: it is the opposite of any opposite.
void all(MethodBuilder& method, const Node& node) {
  const pte::ValueId negated = method.temporary(node.operand(0)->type());
  const pte::ValueId any = method.temporary(node.result()->type());
  method.call("aten::logical_not", "out", {method.tensor(node.operand(0))}, negated);
  method.call("aten::any", "dims_out",
              {negated, method.ints(node.attrs<AxesAttrs>().axes), method.boolean(true)}, any);
  method.call("aten::logical_not", "out", {any}, node.result());
}

void arg_extremum(MethodBuilder& method, const Node& node) {
  method.call(kernel_of(listed(node)), "out",
              {method.tensor(node.operand(0)), method.integer(node.attrs<AxisAttrs>().axis),
               method.boolean(true)},
              node.result());
}

std::string refuse_log_softmax(const Node& node) {
  return node.result()->dtype() == DType::f64 ? "the runtime's kernel takes no f64" : "";
}

/// The runtime's kernel gives a remainder with the sign of the dividend for some integers.
std::string refuse_remainder(const Node& node) {
  return is_float(node.result()->dtype()) ? "" : "the runtime's kernel is wrong for integers";
}

void softmax(MethodBuilder& method, const Node& node) {
  method.call(kernel_of(listed(node)), "out",
              {method.tensor(node.operand(0)), method.integer(node.attrs<AxisAttrs>().axis),
               method.boolean(false)},
              node.result());
}

/// Calls topk for all elements; the kernel also gives the elements themselves.
void argsort(MethodBuilder& method, const Node& node) {
  const Value* x = node.operand(0);
  const int64_t axis = node.attrs<AxisAttrs>().axis;
  const pte::ValueId values = method.temporary(x->type()), places = method.tensor(node.result());
  method.method().instructions.push_back(
      pte::KernelCall{"aten::topk",
                      "values",
                      {method.tensor(x), method.size(Sum(x->shape()[static_cast<size_t>(axis)])),
                       method.integer(axis), method.boolean(true), method.boolean(true), values,
                       places, method.tensors({values, places})}});
}

void cumsum(MethodBuilder& method, const Node& node) {
  method.call(
      "aten::cumsum", "out",
      {method.tensor(node.operand(0)), method.integer(node.attrs<AxisAttrs>().axis), method.none()},
      node.result());
}

}  // namespace

const std::vector<PortableKernel>& portable_kernels() {
  static const std::vector<PortableKernel> kernels = {
      {Op::relayout, {"aten::permute_copy.out", "aten::view_copy.out"}, accept, relayout},
      {Op::expand, {"aten::expand_copy.out"}, accept, expand},
      {Op::slice, {"aten::slice_copy.Tensor_out", "aten::clone.out"}, accept, slice},
      {Op::counted_slice,
       {"aten::slice_copy.Tensor_out", "aten::empty.out", "aten::_local_scalar_dense"},
       refuse_counted_slice,
       counted_slice},
      {Op::concat, {"aten::cat.out"}, accept, concat},
      {Op::pad, {"aten::constant_pad_nd.out"}, refuse_pad, pad},
      {Op::flip, {"aten::flip.out"}, accept, flip},
      {Op::roll, {"aten::roll.out"}, accept, roll},
      {Op::gather, {"aten::index_select.out", "aten::embedding.out"}, refuse_gather, gather},
      {Op::gather_elements, {"aten::gather.out"}, refuse_element_indices, gather_elements},
      {Op::scatter,
       {"aten::index_put_", "aten::index_put.out", "aten::view_copy.out"},
       refuse_scatter,
       scatter},
      {Op::scatter_elements, {"aten::scatter.src_out"}, refuse_element_indices, scatter_elements},
      {Op::scatter_add, {"aten::scatter_add.out"}, refuse_element_indices, scatter_add},
      {Op::add, {"aten::add.out"}, refuse_bounds, with_alpha},
      {Op::sub, {"aten::sub.out"}, refuse_bounds, with_alpha},
      {Op::mul, {"aten::mul.out"}, refuse_bounds, plain},
      {Op::div, {"aten::div.out", "aten::div.out_mode"}, refuse_bounds, div},
      {Op::minimum, {"aten::minimum.out"}, accept, plain},
      {Op::maximum, {"aten::maximum.out"}, accept, plain},
      {Op::pow, {"aten::pow.Tensor_Tensor_out"}, accept, plain},
      {Op::floor_div, {"aten::floor_divide.out"}, accept, plain},
      {Op::remainder, {"aten::remainder.Tensor_out"}, refuse_remainder, plain},
      {Op::fmod, {"aten::fmod.Tensor_out"}, accept, plain},
      {Op::equal, {"aten::eq.Tensor_out"}, accept, plain},
      {Op::not_equal, {"aten::ne.Tensor_out"}, accept, plain},
      {Op::less, {"aten::lt.Tensor_out"}, accept, plain},
      {Op::less_equal, {"aten::le.Tensor_out"}, accept, plain},
      {Op::greater, {"aten::gt.Tensor_out"}, accept, plain},
      {Op::greater_equal, {"aten::ge.Tensor_out"}, accept, plain},
      {Op::logical_and, {"aten::logical_and.out"}, accept, plain},
      {Op::logical_or, {"aten::logical_or.out"}, accept, plain},
      {Op::logical_xor, {"aten::logical_xor.out"}, accept, plain},
      {Op::logical_not, {"aten::logical_not.out"}, accept, plain},
      {Op::where, {"aten::where.self_out"}, accept, plain},
      {Op::abs, {"aten::abs.out"}, accept, plain},
      {Op::neg, {"aten::neg.out"}, accept, plain},
      {Op::exp, {"aten::exp.out"}, accept, plain},
      {Op::expm1, {"aten::expm1.out"}, accept, plain},
      {Op::log, {"aten::log.out"}, accept, plain},
      {Op::log1p, {"aten::log1p.out"}, accept, plain},
      {Op::sqrt, {"aten::sqrt.out"}, accept, plain},
      {Op::rsqrt, {"aten::rsqrt.out"}, accept, plain},
      {Op::reciprocal, {"aten::reciprocal.out"}, accept, plain},
      {Op::sin, {"aten::sin.out"}, accept, plain},
      {Op::cos, {"aten::cos.out"}, accept, plain},
      {Op::atan, {"aten::atan.out"}, accept, plain},
      {Op::asin, {"aten::asin.out"}, accept, plain},
      {Op::acos, {"aten::acos.out"}, accept, plain},
      {Op::sinh, {"aten::sinh.out"}, accept, plain},
      {Op::cosh, {"aten::cosh.out"}, accept, plain},
      {Op::asinh, {"aten::asinh.out"}, accept, plain},
      {Op::acosh, {"aten::acosh.out"}, accept, plain},
      {Op::atanh, {"aten::atanh.out"}, accept, plain},
      {Op::atan2, {"aten::atan2.out"}, accept, plain},
      {Op::bitwise_and, {"aten::bitwise_and.Tensor_out"}, accept, plain},
      {Op::bitwise_or, {"aten::bitwise_or.Tensor_out"}, accept, plain},
      {Op::bitwise_xor, {"aten::bitwise_xor.Tensor_out"}, accept, plain},
      {Op::left_shift, {"aten::bitwise_left_shift.Tensor_out"}, accept, plain},
      {Op::right_shift, {"aten::bitwise_right_shift.Tensor_out"}, accept, plain},
      {Op::tanh, {"aten::tanh.out"}, accept, plain},
      {Op::sigmoid, {"aten::sigmoid.out"}, accept, plain},
      {Op::erf, {"aten::erf.out"}, accept, plain},
      {Op::floor, {"aten::floor.out"}, accept, plain},
      {Op::ceil, {"aten::ceil.out"}, accept, plain},
      {Op::round, {"aten::round.out"}, accept, plain},
      {Op::trunc, {"aten::trunc.out"}, accept, plain},
      {Op::sign, {"aten::sign.out"}, accept, plain},
      {Op::square, {"aten::mul.out"}, accept, square},
      {Op::gelu, {"aten::gelu.out"}, accept, gelu},
      {Op::elu, {"aten::elu.out"}, accept, elu},
      {Op::leaky_relu, {"aten::leaky_relu.out"}, accept, leaky_relu},
      {Op::clamp, {"aten::clamp.out", "aten::clone.out"}, accept, clamp},
      {Op::convert, {"aten::_to_copy.out"}, accept, convert},
      {Op::reinterpret, {"aten::view_copy.out"}, accept, reinterpret},
      {Op::matmul, {"aten::mm.out", "aten::bmm.out"}, refuse_matmul, matmul},
      {Op::causal_attention,
       {"llama::custom_sdpa.out", "aten::_local_scalar_dense"},
       refuse_causal_attention,
       causal_attention,
       kLlmKernels},
      {Op::conv,
       {"aten::convolution.out", "aten::permute_copy.out", "aten::view_copy.out"},
       window_calls::refuse_conv,
       window_calls::conv},
      {Op::conv_transpose,
       {"aten::convolution.out", "aten::permute_copy.out", "aten::view_copy.out"},
       window_calls::refuse_conv_transpose,
       window_calls::conv_transpose},
      {Op::max_pool,
       {"aten::max_pool2d_with_indices.out", "aten::permute_copy.out"},
       window_calls::refuse_pool,
       window_calls::max_pool},
      {Op::avg_pool,
       {"aten::avg_pool2d.out", "aten::permute_copy.out"},
       window_calls::refuse_avg_pool,
       window_calls::avg_pool},
      {Op::resize,
       {"aten::upsample_bilinear2d.vec_out", "aten::upsample_nearest2d.vec_out",
        "aten::permute_copy.out"},
       window_calls::refuse_resize,
       window_calls::resize},
      {Op::grid_sample,
       {"aten::grid_sampler_2d.out", "aten::permute_copy.out"},
       accept,
       window_calls::grid_sample},
      {Op::reduce_sum, {"aten::sum.IntList_out"}, accept, reduce_with_dtype},
      {Op::reduce_mean, {"aten::mean.out"}, accept, reduce_with_dtype},
      {Op::reduce_max, {"aten::amax.out"}, accept, reduce},
      {Op::reduce_min, {"aten::amin.out"}, accept, reduce},
      {Op::reduce_prod, {"aten::prod.int_out"}, refuse_several_axes, prod},
      {Op::reduce_any, {"aten::any.dims_out"}, accept, reduce},
      {Op::reduce_all, {"aten::any.dims_out", "aten::logical_not.out"}, accept, all},
      {Op::argmax, {"aten::argmax.out"}, accept, arg_extremum},
      {Op::argmin, {"aten::argmin.out"}, accept, arg_extremum},
      {Op::argsort, {"aten::topk.values"}, accept, argsort},
      {Op::softmax, {"aten::_softmax.out"}, accept, softmax},
      {Op::log_softmax, {"aten::_log_softmax.out"}, refuse_log_softmax, softmax},
      {Op::cumsum, {"aten::cumsum.out"}, accept, cumsum},
  };
  return kernels;
}

const PortableKernel* find_portable_kernel(Op op) {
  static const auto rows = rows_by_op<PortableKernel>(portable_kernels());
  return rows[static_cast<size_t>(op)];
}

std::string rank_refusal(const Value* value) {
  const size_t axes = value->shape().size();
  if (axes <= pte::kMostAxes) return {};
  return fmt::format("{} axes, the runtime takes at most {}", axes, pte::kMostAxes);
}

namespace {

/// Kernels that copy bytes take elements of any type; the others have no unsigned 16-bit ones.
bool copies_bytes(const Node& node) {
  if (node.is(Op::relayout)) return node.attrs<RelayoutAttrs>().relayout.is_view();
  return node.is(Op::expand) || node.is(Op::slice) || node.is(Op::counted_slice) ||
         node.is(Op::gather);
}

std::string refuse_value(const Value* value, const Node& node) {
  if (std::string why = rank_refusal(value); !why.empty()) return why;
  if (value->dtype() == DType::u16 && !copies_bytes(node))
    return fmt::format("the runtime's kernel takes no {}", name(value->dtype()));
  return {};
}

}  // namespace

/// Kernels of the runtime move quantised numbers, and know nothing of what they stand for.
static bool computes_on_integers(const Node& node) {
  const bool moves = info(node.op()).op_class == OpClass::movement && !node.is(Op::pad);
  return is_quantised(node) && !moves && !node.is(Op::reinterpret);
}

std::string kernel_refusal(const Node& node) {
  const PortableKernel* kernel = find_portable_kernel(node.op());
  if (kernel == nullptr) return "the runtime has no kernel for it";
  if (computes_on_integers(node)) return "the runtime's kernels compute on real numbers";
  for (const Value* operand : node.operands())
    if (std::string why = refuse_value(operand, node); !why.empty()) return why;
  if (std::string why = refuse_value(node.result(), node); !why.empty()) return why;
  return kernel->refuse(node);
}

}  // namespace layline
