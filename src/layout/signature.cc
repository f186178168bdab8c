#include "layout/signature.h"

#include <algorithm>
#include <span>

#include "base/error.h"

namespace layline {
namespace {

const Shape& shape(const Node& node, int operand) { return node.operand(operand)->shape(); }

/// One parallel variable for each of `sizes`, all of them shared.
Signature nest(const Shape& sizes) {
  Signature s;
  for (const Dim& size : sizes) s.variables.push_back({Role::parallel, size});
  s.shared = sizes.size();
  return s;
}

VariableId add_variable(Signature& s, Role role, Dim size) {
  s.variables.push_back({role, size});
  return static_cast<VariableId>(s.variables.size() - 1);
}

/// Binds dims to the variables that end before `end`, aligned to the right as in broadcasting.
Binding aligned(const Signature& s, std::span<const Dim> dims, size_t end) {
  Binding binding;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto variable = static_cast<VariableId>(end - dims.size() + i);
    binding.push_back({{variable}, dims[i] != s.variables[variable].size});
  }
  return binding;
}

/// Every result axis is a parallel variable; operands are aligned to the right, and a dim of 1
/// against a larger one is broadcast. Also expand.
Signature elementwise(const Node& node) {
  Signature s = nest(node.result()->shape());
  for (const Value* operand : node.operands())
    s.operands.push_back(aligned(s, operand->shape(), s.shared));
  s.result = aligned(s, node.result()->shape(), s.shared);
  return s;
}

/// The axes of the first operand; operands and result have them all.
Signature own_axes(const Node& node) {
  Signature s = nest(shape(node, 0));
  s.result = aligned(s, shape(node, 0), s.shared);
  s.operands.assign(static_cast<size_t>(node.operand_count()), s.result);
  return s;
}

/// The axes of the first operand, some with another role. The result has one element along those
/// unless they are kept.
Signature with_role(const Node& node, const Ints& axes, Role role, bool kept) {
  Signature s = own_axes(node);
  for (int64_t axis : axes) {
    s.variables[static_cast<size_t>(axis)].role = role;
    s.result[static_cast<size_t>(axis)].broadcast = !kept;
  }
  return s;
}

Ints one_axis(const Node& node) { return {node.attrs<AxisAttrs>().axis}; }

Signature reduction(const Node& node) {
  return with_role(node, node.attrs<AxesAttrs>().axes, Role::reduced, false);
}

/// The first of equal extrema counts, so the order matters.
Signature arg_extremum(const Node& node) {
  return with_role(node, one_axis(node), Role::ordered, false);
}

Signature choice(const Node& node) {
  return with_role(node, node.attrs<ChooseAttrs>().axes, Role::reduced, false);
}

Signature softmax(const Node& node) { return with_role(node, one_axis(node), Role::set, true); }

Signature along_axis(const Node& node) {
  return with_role(node, one_axis(node), Role::ordered, true);
}

Signature normalize(const Node& node) {
  return with_role(node, node.attrs<NormalizeAttrs>().axes, Role::set, true);
}

/// An index beside the axis stands where its result does, so the indices may be shorter there. Also
/// scatter_elements.
Signature gather_elements(const Node& node) {
  Signature s = along_axis(node);
  for (size_t a = 0; a < s.variables.size(); ++a)
    if (shape(node, 0)[a] != shape(node, 1)[a]) s.variables[a].role = Role::ordered;
  return s;
}

/// The indices lie along the axis and are the same for all other ones.
Signature scatter(const Node& node) {
  Signature s = along_axis(node);
  s.operands[1] = aligned(s, shape(node, 1), s.shared);
  s.operands[1][static_cast<size_t>(node.attrs<AxisAttrs>().axis)].broadcast = false;
  return s;
}

Signature flip(const Node& node) {
  return with_role(node, node.attrs<AxesAttrs>().axes, Role::ordered, true);
}

Signature roll(const Node& node) {
  return with_role(node, node.attrs<RollAttrs>().axes, Role::ordered, true);
}

Signature slice(const Node& node) {
  const auto& attrs = node.attrs<SliceAttrs>();
  Ints cut;
  for (size_t a = 0; a < attrs.start.size(); ++a)
    if (attrs.step[a] != 1 || attrs.size[a] != shape(node, 0)[a])
      cut.push_back(static_cast<int64_t>(a));
  return with_role(node, cut, Role::ordered, true);
}

Signature counted_slice(const Node& node) {
  Ints cut;
  for (size_t a = 0; a < shape(node, 0).size(); ++a)
    if (node.result()->shape()[a] != shape(node, 0)[a]) cut.push_back(static_cast<int64_t>(a));
  Signature s = with_role(node, cut, Role::ordered, true);
  s.operands[1].clear();
  return s;
}

Signature pad(const Node& node) {
  const auto& attrs = node.attrs<PadAttrs>();
  Ints padded;
  for (size_t a = 0; a < attrs.low.size(); ++a)
    if (attrs.low[a] != 0 || attrs.high[a] != 0) padded.push_back(static_cast<int64_t>(a));
  return with_role(node, padded, Role::ordered, true);
}

/// A relayout is composed with its neighbours and never crossed: its result's dims are not bound.
Signature relayout(const Node& node) {
  Signature s = own_axes(node);
  s.result.assign(node.result()->shape().size(), {});
  s.shared = 0;
  return s;
}

Signature constant(const Node& node) {
  Signature s = nest(node.result()->shape());
  s.result = aligned(s, node.result()->shape(), s.shared);
  return s;
}

/// data [before..., axis, after...], indices [i...] -> [before..., i..., after...].
Signature gather(const Node& node) {
  Signature s = along_axis(node);
  s.shared = 0;
  const auto axis = static_cast<std::ptrdiff_t>(node.attrs<AxisAttrs>().axis);
  Binding& indices = s.operands[1];
  indices.clear();
  for (const Dim& size : shape(node, 1))
    indices.push_back({{add_variable(s, Role::parallel, size)}});
  s.result.erase(s.result.begin() + axis);
  s.result.insert(s.result.begin() + axis, indices.begin(), indices.end());
  return s;
}

/// x [rows..., k], weight [n, k], bias [n] -> [rows..., n].
Signature linear(const Node& node) {
  Signature s = nest(shape(node, 0));
  const auto k = static_cast<VariableId>(s.variables.size() - 1);
  s.variables.back().role = Role::reduced;
  const VariableId n = add_variable(s, Role::parallel, shape(node, 1)[0]);
  s.operands = {aligned(s, shape(node, 0), s.shared), {{{n}}, {{k}}}};
  if (node.operand_count() > 2) s.operands.push_back({{{n}}});
  s.result = s.operands[0];
  s.result.back() = {{n}};
  s.shared = 0;
  return s;
}

/// a [batch..., m, k], b [batch..., k, n] (or [..., n, k]) -> [batch..., m, n].
Signature matmul(const Node& node) {
  const Shape& result = node.result()->shape();
  const size_t batch = result.size() - 2;
  Signature s = nest(Shape(result.begin(), result.end() - 2));
  const VariableId m = add_variable(s, Role::parallel, result[batch]);
  const VariableId n = add_variable(s, Role::parallel, result[batch + 1]);
  const VariableId k = add_variable(s, Role::reduced, shape(node, 0).back());
  auto matrices = [&](const Shape& dims, VariableId rows, VariableId columns) {
    Binding binding = aligned(s, std::span(dims).first(dims.size() - 2), batch);
    binding.insert(binding.end(), {{{rows}}, {{columns}}});
    return binding;
  };
  const bool transposed = node.attrs<MatmulAttrs>().transpose_b;
  s.operands = {matrices(shape(node, 0), m, k),
                matrices(shape(node, 1), transposed ? n : k, transposed ? k : n)};
  s.result = matrices(result, m, n);
  return s;
}

/// x [n, spatial..., (g c)], weight [(g o), window..., c], bias [(g o)] -> [n, spatial..., (g o)]:
/// each of g groups has c input and o output channels.
Signature convolution(const Node& node, int64_t groups) {
  const Shape& x = shape(node, 0);
  const Shape& weight = shape(node, 1);
  Signature s;
  const VariableId n = add_variable(s, Role::parallel, x[0]);
  const VariableId g = add_variable(s, Role::parallel, groups);
  const VariableId c = add_variable(s, Role::reduced, weight.back());
  const VariableId o = add_variable(s, Role::parallel, weight[0].value() / groups);
  Binding image = {{{n}}}, kernel = {{{g, o}}};
  for (size_t i = 1; i + 1 < x.size(); ++i) {
    image.push_back({{add_variable(s, Role::ordered, x[i])}});
    kernel.push_back({{add_variable(s, Role::ordered, weight[i])}});
  }
  s.result = image;
  s.result.push_back({{g, o}});
  image.push_back({{g, c}});
  kernel.push_back({{c}});
  s.operands = {std::move(image), std::move(kernel)};
  if (node.operand_count() > 2) s.operands.push_back({{{g, o}}});
  return s;
}

Signature conv(const Node& node) { return convolution(node, node.attrs<ConvAttrs>().groups); }

Signature conv_transpose(const Node& node) {
  return convolution(node, node.attrs<ConvTransposeAttrs>().groups);
}

/// [n, spatial..., c]: windows and resampling work channel by channel, image by image.
Signature spatial(const Node& node) {
  Signature s = own_axes(node);
  for (size_t i = 1; i + 1 < s.variables.size(); ++i) s.variables[i].role = Role::ordered;
  s.shared = 0;
  return s;
}

/// x [n, h, w, c], grid [n, rows, columns, 2] -> [n, rows, columns, c].
Signature grid_sample(const Node& node) {
  const Shape& x = shape(node, 0);
  const Shape& result = node.result()->shape();
  Signature s;
  const VariableId n = add_variable(s, Role::parallel, x[0]);
  const VariableId h = add_variable(s, Role::ordered, x[1]),
                   w = add_variable(s, Role::ordered, x[2]);
  const VariableId c = add_variable(s, Role::parallel, x[3]);
  const VariableId rows = add_variable(s, Role::parallel, result[1]);
  const VariableId columns = add_variable(s, Role::parallel, result[2]);
  const VariableId coordinates = add_variable(s, Role::ordered, 2);
  s.operands = {{{{n}}, {{h}}, {{w}}, {{c}}}, {{{n}}, {{rows}}, {{columns}}, {{coordinates}}}};
  s.result = {{{n}}, {{rows}}, {{columns}}, {{c}}};
  return s;
}

/// q [batch, queries, heads, features], k and v [batch, keys, groups of heads, features], start [].
Signature causal_attention(const Node& node) {
  Signature s;
  const Shape &q = shape(node, 0), &k = shape(node, 1);
  const VariableId batch = add_variable(s, Role::parallel, q[0]);
  const VariableId queries = add_variable(s, Role::ordered, q[1]);
  const VariableId keys = add_variable(s, Role::ordered, k[1]);
  const VariableId groups = add_variable(s, Role::parallel, k[2]);
  const VariableId heads = add_variable(s, Role::parallel, *divide(q[2], k[2]));
  const VariableId features = add_variable(s, Role::reduced, q[3]);
  const VariableId results = add_variable(s, Role::parallel, q[3]);
  s.operands = {{{{batch}}, {{queries}}, {{groups, heads}}, {{features}}},
                {{{batch}}, {{keys}}, {{groups}}, {{features}}},
                {{{batch}}, {{keys}}, {{groups}}, {{results}}},
                {}};
  s.result = {{{batch}}, {{queries}}, {{groups, heads}}, {{results}}};
  return s;
}

/// A body may do anything with its inputs: every axis of every tensor stands for itself.
Signature scan(const Node& node) {
  Signature s;
  const auto axes = [&](const Shape& shape) {
    decltype(s.result) all;
    for (const Dim& size : shape) all.push_back({{add_variable(s, Role::ordered, size)}});
    return all;
  };
  for (const Value* operand : node.operands()) s.operands.push_back(axes(operand->shape()));
  s.result = axes(node.result()->shape());
  return s;
}

struct Row {
  Op op;
  Signature (*signature)(const Node& node);
};

// Elementwise ops have no row: they all have the same signature.
constexpr Row kRows[] = {
    {Op::constant, constant},
    {Op::relayout, relayout},
    {Op::expand, elementwise},
    {Op::slice, slice},
    {Op::counted_slice, counted_slice},
    {Op::concat, along_axis},
    {Op::pad, pad},
    {Op::flip, flip},
    {Op::roll, roll},
    {Op::gather, gather},
    {Op::gather_elements, gather_elements},
    {Op::scatter, scatter},
    {Op::scatter_elements, gather_elements},
    {Op::scatter_add, gather_elements},
    {Op::linear, linear},
    {Op::matmul, matmul},
    {Op::causal_attention, causal_attention},
    {Op::conv, conv},
    {Op::conv_transpose, conv_transpose},
    {Op::max_pool, spatial},
    {Op::avg_pool, spatial},
    {Op::resize, spatial},
    {Op::grid_sample, grid_sample},
    {Op::reduce_sum, reduction},
    {Op::reduce_mean, reduction},
    {Op::reduce_max, reduction},
    {Op::reduce_min, reduction},
    {Op::reduce_prod, reduction},
    {Op::reduce_any, reduction},
    {Op::reduce_all, reduction},
    {Op::argmax, arg_extremum},
    {Op::argmin, arg_extremum},
    {Op::argsort, along_axis},
    {Op::softmax, softmax},
    {Op::log_softmax, softmax},
    {Op::cumsum, along_axis},
    {Op::normalize, normalize},
    {Op::choose_scale, choice},
    {Op::choose_zero_point, choice},
    {Op::scan, scan},
};

}  // namespace

Signature signature(const Node& node) {
  if (is_elementwise(node.op())) return elementwise(node);
  const auto* row = std::ranges::find(kRows, node.op(), &Row::op);
  LAYLINE_ASSERT(row != std::end(kRows), "{} has no axis signature", name(node.op()));
  return row->signature(node);
}

}  // namespace layline
