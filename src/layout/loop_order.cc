#include "layout/loop_order.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "layout/digits.h"
#include "layout/signature.h"

namespace layline {
namespace {

using DigitList = std::vector<int>;

/// The op's loops after a relayout of one port: digits of the variables, grouped into the dims that
/// the moved port has.
struct Loops {
  Signature signature;
  std::vector<Dim> size;              // of each digit, in the moved port
  std::vector<int> variable;          // that each digit belongs to
  std::vector<DigitList> of_variable; // outermost first
  std::vector<DigitList> dims;        // the new order; an empty one is a dim of size 1
};

bool same_digits(DigitList a, DigitList b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

Dim product_of(const Loops& loops, std::span<const int> list) {
  Dim result = 1;
  for (int digit : list) result = result * loops.size[static_cast<size_t>(digit)];
  return result;
}

/// An axis of size 1 along which the op still works needs a place among the new dims.
bool place_unit_axis(Loops& loops, const Relayout& relayout, size_t dim, int variable) {
  const auto permutation = relayout.as_permutation();
  std::optional<int> place;
  if (permutation)
    place = static_cast<int>(std::ranges::find(*permutation, static_cast<int>(dim)) -
                             permutation->begin());
  else
    place = relayout.target_axis(static_cast<int>(dim));
  if (!place || !loops.dims[static_cast<size_t>(*place)].empty()) return false;
  const int digit = static_cast<int>(loops.size.size());
  loops.size.push_back(1);
  loops.variable.push_back(variable);
  loops.of_variable[static_cast<size_t>(variable)].push_back(digit);
  loops.dims[static_cast<size_t>(*place)].push_back(digit);
  return true;
}

std::optional<Loops> make_loops(const Node& node, int port, const Relayout& relayout) {
  Loops loops{signature(node), {}, {}, {}, {}};
  const Binding& binding = port == kResultPort
                               ? loops.signature.result
                               : loops.signature.operands[static_cast<size_t>(port)];
  auto moved = digits(relayout);
  if (!moved) return std::nullopt;
  loops.size = std::move(moved->size);
  loops.dims = std::move(moved->target);
  loops.variable.resize(loops.size.size());
  loops.of_variable.resize(loops.signature.variables.size());
  for (size_t dim = 0; dim < binding.size(); ++dim) {
    const int variable = binding[dim];
    if (variable == kUnbound) continue;
    loops.of_variable[static_cast<size_t>(variable)] = moved->source[dim];
    for (int digit : moved->source[dim]) loops.variable[static_cast<size_t>(digit)] = variable;
  }
  for (size_t dim = 0; dim < binding.size(); ++dim) {
    const int variable = binding[dim];
    if (variable == kUnbound || !moved->source[dim].empty()) continue;
    const Role role = loops.signature.variables[static_cast<size_t>(variable)];
    const bool needs_place = role == Role::ordered || role == Role::set;
    if (loops.signature.aligned && needs_place &&
        !place_unit_axis(loops, relayout, dim, variable))
      return std::nullopt;
  }
  return loops;
}

// --- aligned ops ---------------------------------------------------------------------------------

/// The relayout of one tensor of an aligned op. A dim of the loops must be the tensor's as a whole or
/// not at all. Along an ordered axis tensors differ in length: the difference is in the outer digit.
std::optional<Relayout> restricted(const Loops& loops, const Binding& binding, const Shape& shape) {
  std::vector<Dim> size = loops.size;
  std::vector<bool> bound(loops.of_variable.size(), false);
  std::vector<DigitList> source(binding.size());
  for (size_t dim = 0; dim < binding.size(); ++dim) {
    if (binding[dim] == kUnbound) continue;
    const DigitList& own = loops.of_variable[static_cast<size_t>(binding[dim])];
    if (own.empty() && !shape[dim].is_one()) return std::nullopt;
    bound[static_cast<size_t>(binding[dim])] = true;
    source[dim] = own;
    if (own.empty()) continue;
    const auto outer = divide(shape[dim], product_of(loops, std::span(own).subspan(1)));
    if (!outer) return std::nullopt;
    size[static_cast<size_t>(own[0])] = *outer;
  }
  std::vector<DigitList> target;
  for (const DigitList& dim : loops.dims) {
    const auto count = std::ranges::count_if(dim, [&](int digit) {
      return bound[static_cast<size_t>(loops.variable[static_cast<size_t>(digit)])];
    });
    if (count != 0 && count != static_cast<std::ptrdiff_t>(dim.size())) return std::nullopt;
    target.push_back(count == 0 ? DigitList{} : dim);
  }
  return relayout_of_digits(size, source, target);
}

/// Attributes in the new coordinates. Each overload returns false where an axis that the op works
/// along is not an axis there.
class CrossAttributes {
 public:
  CrossAttributes(const Loops& loops, const Node& node) : loops_(loops), node_(node) {}

  bool operator()(AxisAttrs& attrs) const {
    const auto variable = static_cast<size_t>(attrs.axis);
    // Only a concat may go on along the outer part of its axis.
    const auto place = outer_axis(variable);
    if (!place || (place->inner != Dim(1) && !node_.is(Op::concat))) return false;
    attrs.axis = static_cast<int64_t>(place->dim);
    return true;
  }

  /// Reductions: every new dim is combined over or it is not. Flips too: reversing an index
  /// reverses each of its digits.
  bool operator()(AxesAttrs& attrs) const {
    std::vector<bool> worked(loops_.signature.variables.size(), false);
    for (int64_t axis : attrs.axes) worked[static_cast<size_t>(axis)] = true;
    attrs.axes.clear();
    for (size_t dim = 0; dim < loops_.dims.size(); ++dim) {
      const auto count = std::ranges::count_if(loops_.dims[dim], [&](int digit) {
        return worked[static_cast<size_t>(loops_.variable[static_cast<size_t>(digit)])];
      });
      if (count == 0) continue;
      if (count != static_cast<std::ptrdiff_t>(loops_.dims[dim].size())) return false;
      attrs.axes.push_back(static_cast<int64_t>(dim));
    }
    return true;
  }

  bool operator()(RollAttrs& attrs) const {
    for (int64_t& axis : attrs.axes) {
      const auto place = outer_axis(static_cast<size_t>(axis));
      if (!place || place->inner != Dim(1)) return false;
      axis = static_cast<int64_t>(place->dim);
    }
    return true;
  }

  bool operator()(SliceAttrs& attrs) const {
    const size_t rank = loops_.dims.size();
    SliceAttrs moved{Ints(rank, 0), Shape(rank), Ints(rank, 1)};
    for (size_t dim = 0; dim < rank; ++dim) moved.size[dim] = product_of(loops_, loops_.dims[dim]);
    for (size_t axis = 0; axis < attrs.start.size(); ++axis) {
      if (loops_.signature.variables[axis] != Role::ordered) continue;
      const auto place = outer_axis(axis);
      if (!place) return false;
      const auto size = divide(attrs.size[axis], place->inner);
      if (!size) return false;
      const bool whole = place->inner == Dim(1);
      if (!whole && (attrs.step[axis] != 1 || !place->inner.is_static() ||
                     attrs.start[axis] % place->inner.value() != 0))
        return false;
      moved.start[place->dim] = whole ? attrs.start[axis] : attrs.start[axis] / place->inner.value();
      moved.size[place->dim] = *size;
      moved.step[place->dim] = attrs.step[axis];
    }
    attrs = std::move(moved);
    return true;
  }

  bool operator()(PadAttrs& attrs) const {
    const size_t rank = loops_.dims.size();
    PadAttrs moved{Ints(rank, 0), Ints(rank, 0), attrs.mode, attrs.value};
    for (size_t axis = 0; axis < attrs.low.size(); ++axis) {
      if (loops_.signature.variables[axis] != Role::ordered) continue;
      const auto place = outer_axis(axis);
      if (!place || !place->inner.is_static()) return false;
      const int64_t inner = place->inner.value();
      if (inner != 1 && (attrs.mode != PadMode::constant || attrs.low[axis] % inner != 0 ||
                         attrs.high[axis] % inner != 0))
        return false;
      moved.low[place->dim] = attrs.low[axis] / inner;
      moved.high[place->dim] = attrs.high[axis] / inner;
    }
    attrs = std::move(moved);
    return true;
  }

  /// expand: the shape comes from the result.
  bool operator()(ShapeAttrs& attrs) const {
    attrs.shape.clear();
    for (const DigitList& dim : loops_.dims) attrs.shape.push_back(product_of(loops_, dim));
    return true;
  }

  /// Elementwise ops have no axes.
  bool operator()(auto&) const { return is_elementwise(node_.op()); }

 private:
  struct Place {
    size_t dim;
    Dim inner;  // what of the axis lies further in, elsewhere
  };

  /// The new dim that is the outer part of an axis, and nothing else: the first digits of its
  /// variable, in their order; in any order, for the whole of a set.
  std::optional<Place> outer_axis(size_t variable) const {
    const DigitList& own = loops_.of_variable[variable];
    for (size_t dim = 0; dim < loops_.dims.size(); ++dim) {
      const DigitList& here = loops_.dims[dim];
      if (own.empty() || here.empty() || std::ranges::find(here, own[0]) == here.end()) continue;
      if (loops_.signature.variables[variable] == Role::set)
        return same_digits(here, own) ? std::optional(Place{dim, 1}) : std::nullopt;
      if (here.size() > own.size() || !std::equal(here.begin(), here.end(), own.begin()))
        return std::nullopt;
      return Place{dim, product_of(loops_, std::span(own).subspan(here.size()))};
    }
    return std::nullopt;
  }

  const Loops& loops_;
  const Node& node_;
};

std::vector<LoopOrder> cross_aligned(const Node& node, int port, const Relayout& relayout) {
  const auto loops = make_loops(node, port, relayout);
  if (!loops) return {};
  LoopOrder order{{}, {}, node.attributes(), false};
  if (!std::visit(CrossAttributes(*loops, node), order.attributes)) return {};
  const Signature& s = loops->signature;
  for (int i = 0; i < node.operand_count(); ++i) {
    const Shape& shape = node.operand(i)->shape();
    const bool broadcasts_anywhere = is_elementwise(node.op()) && element_count(shape).is_one() &&
                                     shape.size() <= loops->dims.size();
    auto moved = broadcasts_anywhere
                     ? std::optional(Relayout::identity(shape))
                     : restricted(*loops, s.operands[static_cast<size_t>(i)], shape);
    if (!moved) return {};
    order.operands.push_back(*std::move(moved));
  }
  auto result = restricted(*loops, s.result, node.result()->shape());
  if (!result) return {};
  order.result = *std::move(result);
  return {std::move(order)};
}

// --- contractions and windows --------------------------------------------------------------------
// Their kernels want certain variables in certain dims, so the new dims are made from the sequence
// of digits and not from the dims that the relayout happens to have.

/// The digits of all dims in sequence.
DigitList sequence(const Loops& loops) {
  DigitList all;
  for (const DigitList& dim : loops.dims) all.insert(all.end(), dim.begin(), dim.end());
  return all;
}

/// Splits off the digits of one variable from the end of a sequence; false if they are not there.
bool take_last(DigitList& digits, const DigitList& variable, DigitList& taken) {
  if (digits.size() < variable.size()) return false;
  taken.assign(digits.end() - static_cast<std::ptrdiff_t>(variable.size()), digits.end());
  digits.resize(digits.size() - variable.size());
  return same_digits(taken, variable);
}

/// The leading dims that hold exactly the given digits, as the relayout has them; a dim that also
/// holds other digits ends the search.
std::optional<std::vector<DigitList>> leading_dims(const Loops& loops, size_t digit_count) {
  std::vector<DigitList> dims;
  size_t seen = 0;
  for (const DigitList& dim : loops.dims) {
    if (seen == digit_count && (dim.size() > 0 || !dims.empty())) break;
    seen += dim.size();
    dims.push_back(dim);
  }
  if (seen != digit_count) return std::nullopt;
  return dims;
}

/// A tensor whose dims are bound to variables, some of which have been given other digits.
class Assembly {
 public:
  Assembly(Loops loops, const Node& node) : loops_(std::move(loops)), node_(node) {
    // A variable that the moved port lacks is one digit, of the size that another port gives it.
    for (int port = kResultPort; port < node.operand_count(); ++port) {
      const Binding& own = binding(port);
      for (size_t dim = 0; dim < own.size(); ++dim) {
        if (own[dim] == kUnbound) continue;
        DigitList& digits = loops_.of_variable[static_cast<size_t>(own[dim])];
        if (!digits.empty() || shape(port)[dim].is_one()) continue;
        digits.push_back(static_cast<int>(loops_.size.size()));
        loops_.size.push_back(shape(port)[dim]);
        loops_.variable.push_back(own[dim]);
      }
    }
  }

  const DigitList& whole(int variable) const {
    return loops_.of_variable[static_cast<size_t>(variable)];
  }
  /// The relayout of a port to `target` dims, from which digits that the port lacks are left out.
  /// Nullopt if a dim would hold only some of its digits.
  std::optional<Relayout> port(int port, const std::vector<DigitList>& target) const {
    std::vector<DigitList> source;
    std::vector<bool> bound(loops_.of_variable.size(), false);
    std::vector<Dim> size = loops_.size;
    const Binding& own = binding(port);
    for (size_t dim = 0; dim < own.size(); ++dim) {
      source.push_back(own[dim] == kUnbound ? DigitList{} : whole(own[dim]));
      if (own[dim] == kUnbound) continue;
      bound[static_cast<size_t>(own[dim])] = true;
      // Along spatial axes operand and result differ in length; those are one digit.
      if (source.back().size() == 1) size[static_cast<size_t>(source.back()[0])] = shape(port)[dim];
    }
    std::vector<DigitList> kept;
    for (const DigitList& dim : target) {
      DigitList own_digits;
      for (int digit : dim)
        if (bound[static_cast<size_t>(loops_.variable[static_cast<size_t>(digit)])])
          own_digits.push_back(digit);
      if (!own_digits.empty() && own_digits.size() != dim.size()) return std::nullopt;
      kept.push_back(std::move(own_digits));
    }
    return relayout_of_digits(size, source, kept);
  }

 private:
  const Binding& binding(int port) const {
    return port == kResultPort ? loops_.signature.result
                               : loops_.signature.operands[static_cast<size_t>(port)];
  }
  const Shape& shape(int port) const {
    return port == kResultPort ? node_.result()->shape() : node_.operand(port)->shape();
  }

  Loops loops_;
  const Node& node_;
};

std::vector<DigitList> with(std::vector<DigitList> dims, std::initializer_list<DigitList> more) {
  dims.insert(dims.end(), more.begin(), more.end());
  return dims;
}

/// x [rows..., k] and y [rows..., n]: rows move freely, k and n within themselves, by moving the
/// weights.
std::vector<LoopOrder> cross_linear(const Node& node, int port, const Relayout& relayout) {
  if (port != 0 && port != kResultPort) return {};
  const auto loops = make_loops(node, port, relayout);
  if (!loops) return {};
  const int k = static_cast<int>(node.operand(0)->shape().size()) - 1, n = k + 1;
  DigitList rows = sequence(*loops), last;
  if (!take_last(rows, loops->of_variable[static_cast<size_t>(port == 0 ? k : n)], last)) return {};
  const auto row_dims = leading_dims(*loops, rows.size());
  if (!row_dims) return {};
  const Assembly assembly(*loops, node);
  const DigitList inputs = port == 0 ? last : assembly.whole(k);
  const DigitList outputs = port == 0 ? assembly.whole(n) : last;
  LoopOrder order{{}, {}, node.attributes(), false};
  order.operands.push_back(*assembly.port(0, with(*row_dims, {inputs})));
  order.operands.push_back(*assembly.port(1, {outputs, inputs}));
  if (node.operand_count() > 2) order.operands.push_back(*assembly.port(2, {outputs}));
  order.result = *assembly.port(kResultPort, with(*row_dims, {outputs}));
  return {std::move(order)};
}

/// [n, spatial..., c]: images among themselves, and channels where the weights can follow.
std::vector<LoopOrder> cross_spatial(const Node& node, int port, const Relayout& relayout) {
  if (port != 0 && port != kResultPort) return {};
  const auto loops = make_loops(node, port, relayout);
  if (!loops) return {};
  const size_t spatial = node.operand(0)->shape().size() - 2;
  const int channel = port == 0 ? loops->signature.operands[0].back() : loops->signature.result.back();
  const bool fixed_channels =
      loops->signature.variables[static_cast<size_t>(channel)] == Role::ordered;
  DigitList rest = sequence(*loops), last;
  const DigitList& natural = loops->of_variable[static_cast<size_t>(channel)];
  if (!take_last(rest, natural, last) || (fixed_channels && last != natural)) return {};
  std::vector<DigitList> places;
  for (size_t i = spatial; i > 0; --i) {
    const DigitList& axis = loops->of_variable[i];
    DigitList taken;
    if (!take_last(rest, axis, taken) || taken != axis) return {};
    places.insert(places.begin(), taken);
  }
  if (!same_digits(rest, loops->of_variable[0])) return {};

  // A window's axis is one piece, however it was split: only whole axes differ in length.
  const Assembly assembly(*loops, node);
  auto image = [&](int p, const DigitList& channels) {
    std::vector<DigitList> dims = {rest};
    dims.insert(dims.end(), places.begin(), places.end());
    dims.push_back(channels);
    return assembly.port(p, dims);
  };
  for (const DigitList& axis : places)
    if (axis.size() > 1) return {};
  const int c = loops->signature.operands[0].back(), o = loops->signature.result.back();
  const DigitList inputs = c == channel ? last : assembly.whole(c);
  const DigitList outputs = o == channel ? last : assembly.whole(o);
  LoopOrder order{{}, {}, node.attributes(), false};
  auto x = image(0, inputs), y = image(kResultPort, outputs);
  if (!x || !y) return {};
  order.operands.push_back(*std::move(x));
  order.result = *std::move(y);
  for (int i = 1; i < node.operand_count(); ++i) {
    std::vector<DigitList> dims;
    for (int variable : loops->signature.operands[static_cast<size_t>(i)])
      dims.push_back(variable == kUnbound ? DigitList{}
                     : variable == o      ? outputs
                     : variable == c      ? inputs
                                          : assembly.whole(variable));
    order.operands.push_back(*assembly.port(i, dims));
  }
  return {std::move(order)};
}

/// The ways to store and multiply [batch..., m, k] and [batch..., k, n]: the right operand either way
/// round, and the product of the transposes.
struct MatmulForm {
  bool swapped, transpose_b;
  bool a_m_first, b_n_first, y_m_first;
};
constexpr MatmulForm kMatmulForms[] = {
    {false, false, true, false, true},
    {false, true, true, true, true},
    {true, true, true, true, false},
    {true, false, false, true, false},
};

std::vector<LoopOrder> cross_matmul(const Node& node, int port, const Relayout& relayout) {
  const auto loops = make_loops(node, port, relayout);
  if (!loops) return {};
  const int batch = static_cast<int>(node.result()->shape().size()) - 2;
  const int m = batch, n = batch + 1, k = batch + 2;
  // The two matrix variables of the port; either may stand last.
  const int first = port == 1 ? n : m;
  const int second = port == kResultPort ? n : k;
  const Assembly assembly(*loops, node);
  std::vector<LoopOrder> orders;
  for (const bool first_is_last : {false, true}) {
    const int last = first_is_last ? first : second, before = first_is_last ? second : first;
    DigitList batch_digits = sequence(*loops), last_digits, before_digits;
    if (!take_last(batch_digits, loops->of_variable[static_cast<size_t>(last)], last_digits) ||
        !take_last(batch_digits, loops->of_variable[static_cast<size_t>(before)], before_digits))
      continue;
    const auto batch_dims = leading_dims(*loops, batch_digits.size());
    if (!batch_dims) continue;
    auto digits_of = [&](int variable) {
      return variable == last ? last_digits : variable == before ? before_digits : assembly.whole(variable);
    };
    for (const MatmulForm& form : kMatmulForms) {
      const bool port_first = port == 0 ? form.a_m_first : port == 1 ? form.b_n_first : form.y_m_first;
      if (port_first == first_is_last) continue;
      auto matrix = [&](int p, int row, int column, bool row_first) {
        return assembly.port(p, with(*batch_dims, {digits_of(row_first ? row : column),
                                                   digits_of(row_first ? column : row)}));
      };
      auto a = matrix(0, m, k, form.a_m_first), b = matrix(1, n, k, form.b_n_first);
      auto y = matrix(kResultPort, m, n, form.y_m_first);
      if (!a || !b || !y) continue;
      orders.push_back({{*std::move(a), *std::move(b)}, *std::move(y),
                        MatmulAttrs{form.transpose_b}, form.swapped});
    }
  }
  return orders;
}

}  // namespace

bool LoopOrder::moves_like(const LoopOrder& other) const {
  return result.moves_like(other.result) && swapped == other.swapped &&
         std::ranges::equal(operands, other.operands, [](const Relayout& a, const Relayout& b) {
           return a.moves_like(b);
         });
}

LoopOrder source_order(const Node& node) {
  LoopOrder order{{}, Relayout::identity(node.result()->shape()), node.attributes(), false};
  for (const Value* operand : node.operands())
    order.operands.push_back(Relayout::identity(operand->shape()));
  return order;
}

std::vector<LoopOrder> cross(const Node& node, int port, const Relayout& relayout) {
  const Shape& shape =
      port == kResultPort ? node.result()->shape() : node.operand(port)->shape();
  LAYLINE_ASSERT(relayout.source() == shape, "{} is no relayout of {}", to_string(relayout),
                 to_string(shape));
  switch (node.op()) {
    case Op::constant:
    case Op::relayout:
    case Op::gather: return {};
    case Op::linear: return cross_linear(node, port, relayout);
    case Op::matmul: return cross_matmul(node, port, relayout);
    case Op::conv:
    case Op::conv_transpose:
    case Op::max_pool:
    case Op::avg_pool:
    case Op::resize: return cross_spatial(node, port, relayout);
    default: return cross_aligned(node, port, relayout);
  }
}

}  // namespace layline
