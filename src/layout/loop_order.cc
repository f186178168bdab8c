#include "layout/loop_order.h"

#include <algorithm>

#include "algebra/refine.h"
#include "base/error.h"
#include "layout/loops.h"

namespace layline {
namespace {

bool same_digits(DigitList a, DigitList b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

// --- ops whose tensors all have the axes of the nest ---------------------------------------------

/// Attributes in the new coordinates. Each overload returns false where an axis that the op works
/// along is not an axis there.
class CrossAttributes {
 public:
  explicit CrossAttributes(const Loops& loops) : loops_(loops) {}

  bool operator()(AxisAttrs& attrs) const {
    const auto variable = static_cast<size_t>(attrs.axis);
    // Only a concat may go on along the outer part of its axis.
    const auto place = outer_axis(variable);
    if (!place || (place->inner != Dim(1) && !loops_.node.is(Op::concat))) return false;
    for (size_t v = 0; v < loops_.of_variable.size(); ++v)
      if (loops_.signature.variables[v].role == Role::ordered && !outer_axis(v)) return false;
    attrs.axis = static_cast<int64_t>(place->dim);
    return true;
  }

  /// Reductions: every new dim is combined over or it is not. Flips too: reversing an index
  /// reverses each of its digits.
  bool operator()(AxesAttrs& attrs) const { return cross_axes(attrs.axes); }
  bool operator()(NormalizeAttrs& attrs) const { return cross_axes(attrs.axes); }
  bool operator()(ChooseAttrs& attrs) const { return cross_axes(attrs.axes); }

  /// A roll by multiples of the inner part rolls the outer one.
  bool operator()(RollAttrs& attrs) const {
    for (size_t i = 0; i < attrs.axes.size(); ++i) {
      const auto place = outer_axis(static_cast<size_t>(attrs.axes[i]));
      if (!place || !place->inner.is_static() || attrs.shifts[i] % place->inner.value() != 0)
        return false;
      attrs.axes[i] = static_cast<int64_t>(place->dim);
      attrs.shifts[i] /= place->inner.value();
    }
    return true;
  }

  bool operator()(SliceAttrs& attrs) const {
    const size_t rank = loops_.dims.size();
    SliceAttrs moved{Ints(rank, 0), Shape(rank), Ints(rank, 1)};
    for (size_t dim = 0; dim < rank; ++dim) moved.size[dim] = loops_.product(loops_.dims[dim]);
    for (size_t axis = 0; axis < attrs.start.size(); ++axis) {
      if (loops_.signature.variables[axis].role != Role::ordered) continue;
      const auto place = outer_axis(axis);
      if (!place) return false;
      const auto size = divide(attrs.size[axis], place->inner);
      if (!size) return false;
      const bool whole = place->inner == Dim(1);
      if (!whole && (attrs.step[axis] != 1 || !place->inner.is_static() ||
                     attrs.start[axis] % place->inner.value() != 0))
        return false;
      moved.start[place->dim] =
          whole ? attrs.start[axis] : attrs.start[axis] / place->inner.value();
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
      if (loops_.signature.variables[axis].role != Role::ordered) continue;
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
    for (const DigitList& dim : loops_.dims) attrs.shape.push_back(loops_.product(dim));
    return true;
  }

  /// Elementwise ops have no axes.
  bool operator()(auto&) const { return is_elementwise(loops_.node.op()); }

 private:
  bool cross_axes(Ints& axes) const {
    std::vector<bool> worked(loops_.signature.variables.size(), false);
    for (int64_t axis : axes) worked[static_cast<size_t>(axis)] = true;
    axes.clear();
    for (size_t dim = 0; dim < loops_.dims.size(); ++dim) {
      const auto count = std::ranges::count_if(
          loops_.dims[dim], [&](Digit digit) { return worked[loops_.variable[digit]]; });
      if (count == 0) continue;
      if (count != static_cast<std::ptrdiff_t>(loops_.dims[dim].size())) return false;
      axes.push_back(static_cast<int64_t>(dim));
    }
    return true;
  }

  struct Place {
    size_t dim;
    Dim inner;  // the size of the rest of the axis, which lies further in, in another dim
  };

  /// The new dim that is the outer part of an axis, and nothing else: the first digits of its
  /// variable, in their order; in any order, for the whole of a set.
  std::optional<Place> outer_axis(size_t variable) const {
    const DigitList& own = loops_.of_variable[variable];
    for (size_t dim = 0; dim < loops_.dims.size(); ++dim) {
      const DigitList& here = loops_.dims[dim];
      if (own.empty() || here.empty() || std::ranges::find(here, own[0]) == here.end()) continue;
      if (loops_.signature.variables[variable].role == Role::set)
        return same_digits(here, own) ? std::optional(Place{dim, 1}) : std::nullopt;
      if (here.size() > own.size() || !std::equal(here.begin(), here.end(), own.begin()))
        return std::nullopt;
      return Place{dim, loops_.product(std::span(own).subspan(here.size()))};
    }
    return std::nullopt;
  }

  const Loops& loops_;
};

std::vector<LoopOrder> cross_shared(const Loops& loops) {
  const Node& node = loops.node;
  LoopOrder order{{}, {}, node.attributes(), false};
  if (!std::visit(CrossAttributes(loops), order.attributes)) return {};
  for (int i = 0; i < node.operand_count(); ++i) {
    const Shape& shape = node.operand(i)->shape();
    // A concat of many parts that are alike: they move alike.
    if (i > 0 && shape == node.operand(i - 1)->shape() &&
        loops.signature.port(i) == loops.signature.port(i - 1)) {
      order.operands.push_back(order.operands.back());
      continue;
    }
    // A single element broadcasts as it is, if another operand gives the result its rank.
    const bool stays = is_elementwise(node.op()) && element_count(shape).is_one() &&
                       !element_count(node.result()->shape()).is_one() &&
                       shape.size() <= loops.dims.size();
    auto moved = stays ? std::optional(Relayout::identity(shape)) : loops.relayout(i, loops.dims);
    if (!moved) return {};
    order.operands.push_back(*std::move(moved));
  }
  // The result of an elementwise op moves like an operand of the same shape.
  for (int i = 0; i < node.operand_count(); ++i) {
    if (node.result()->shape() != node.operand(i)->shape() ||
        loops.signature.result != loops.signature.port(i))
      continue;
    order.result = order.at(i);
    return {std::move(order)};
  }
  auto result = loops.relayout(kResultPort, loops.dims);
  if (!result) return {};
  order.result = *std::move(result);
  return {std::move(order)};
}

// --- contractions, windows and gathers -----------------------------------------------------------
// Certain variables must stand in certain dims, so the new dims are made from the sequence of
// digits and not from the dims that the relayout happens to have.

/// Splits off the digits of one variable, in any sequence, from the end of `digits`. Returns false
/// if other digits are there.
bool take_last(DigitList& digits, const DigitList& variable, DigitList& taken) {
  if (digits.size() < variable.size()) return false;
  taken.assign(digits.end() - static_cast<std::ptrdiff_t>(variable.size()), digits.end());
  digits.resize(digits.size() - variable.size());
  return same_digits(taken, variable);
}

/// The dims of the first digits; the one in which they end is cut there.
DigitLists leading_dims(const Loops& loops, size_t digit_count) {
  DigitLists dims;
  for (const DigitList& dim : loops.dims) {
    if (digit_count == 0 && (!dims.empty() || !dim.empty())) break;
    dims.push_back(dim);
    if (dim.size() > digit_count) dims.back().resize(digit_count);
    digit_count -= dims.back().size();
  }
  return dims;
}

DigitLists with(DigitLists dims, std::initializer_list<DigitList> more) {
  dims.insert(dims.end(), more.begin(), more.end());
  return dims;
}

/// Builds a loop order from the new dims of every port. There is none if a port cannot have its
/// dims.
class Assembly {
 public:
  explicit Assembly(const Loops& loops)
      : loops_(loops), order_{{}, {}, loops.node.attributes(), false} {}

  void operand(const DigitLists& dims) {
    auto moved = loops_.relayout(static_cast<int>(order_.operands.size()), dims);
    complete_ = complete_ && moved;
    order_.operands.push_back(moved ? *std::move(moved) : Relayout());
  }
  std::vector<LoopOrder> result(const DigitLists& dims) {
    auto moved = loops_.relayout(kResultPort, dims);
    if (!complete_ || !moved) return {};
    order_.result = *std::move(moved);
    return {order_};
  }

 private:
  const Loops& loops_;
  LoopOrder order_;
  bool complete_ = true;
};

/// x [rows..., k] and y [rows..., n]: rows move freely, k and n within themselves, by moving the
/// weights.
std::vector<LoopOrder> cross_linear(const Loops& loops, int port) {
  const size_t k = loops.node.operand(0)->shape().size() - 1, n = k + 1;
  DigitLists moved = loops.of_variable;
  DigitList rows = loops.sequence();
  if ((port == 0 || port == 1) && !take_last(rows, loops.of_variable[k], moved[k])) return {};
  if (port != 0 && !take_last(rows, loops.of_variable[n], moved[n])) return {};
  DigitLists row_dims(moved.begin(), moved.begin() + static_cast<std::ptrdiff_t>(k));
  if (port == 0 || port == kResultPort) row_dims = leading_dims(loops, rows.size());
  Assembly assembly(loops);
  assembly.operand(with(row_dims, {moved[k]}));
  assembly.operand({moved[n], moved[k]});
  if (loops.node.operand_count() > 2) assembly.operand({moved[n]});
  return assembly.result(with(row_dims, {moved[n]}));
}

/// [n, spatial..., channels]: images move among themselves, and so do channels, within and between
/// whole groups, where the weights can follow.
std::vector<LoopOrder> cross_spatial(const Loops& loops, int port) {
  // The moved port is taken apart from its end.
  DigitLists moved = loops.of_variable;
  DigitList rest = loops.sequence();
  const Binding& own = loops.signature.port(port);
  for (auto dim = own.rbegin(); dim != own.rend(); ++dim) {
    for (auto v = dim->variables.rbegin(); v != dim->variables.rend(); ++v) {
      const VariableId variable = *v;
      const DigitList& natural = loops.of_variable[variable];
      const bool in_port = loops.product(natural) != Dim(1);
      if (in_port && !take_last(rest, natural, moved[variable])) return {};
      if (loops.signature.variables[variable].role == Role::ordered && moved[variable] != natural)
        return {};
    }
  }
  auto dims = [&](int p) {
    DigitLists result;
    for (const BoundDim& dim : loops.signature.port(p)) {
      DigitList& digits = result.emplace_back();
      for (VariableId variable : dim.variables) {
        const DigitList& part = moved[variable];
        digits.insert(digits.end(), part.begin(), part.end());
      }
    }
    return result;
  };
  Assembly assembly(loops);
  for (int i = 0; i < loops.node.operand_count(); ++i) assembly.operand(dims(i));
  return assembly.result(dims(kResultPort));
}

/// The ways to store and multiply [batch..., m, k] and [batch..., k, n]: the right operand either
/// way round, and the product of the transposes.
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

/// The orders where all batches of the `left` operand are multiplied with one matrix. Then batches
/// and rows are alike, and move freely, as the rows of a linear do.
std::vector<LoopOrder> cross_matmul_rows(const Loops& loops, int port, int left) {
  const int right = 1 - left;
  if (port == right) return {};
  for (const BoundDim& dim : loops.signature.port(right))
    if (!dim.broadcast && dim.variables[0] < loops.signature.shared &&
        !loops.of_variable[dim.variables[0]].empty())
      return {};
  const size_t k = loops.signature.shared + 2;
  const size_t columns = loops.signature.shared + (left == 0 ? 1 : 0);
  const size_t last = port == kResultPort ? columns : k;
  DigitLists moved = loops.of_variable;
  DigitList rows = loops.sequence();
  if (!take_last(rows, loops.of_variable[last], moved[last])) return {};
  auto row_dims = leading_dims(loops, rows.size());
  if (row_dims.empty()) row_dims.emplace_back();
  std::vector<LoopOrder> orders;
  for (const bool transposed : {false, true}) {
    DigitLists matrix = {moved[k], moved[columns]};
    if (transposed) std::swap(matrix[0], matrix[1]);
    auto l = loops.relayout(left, with(row_dims, {moved[k]})), r = loops.relayout(right, matrix);
    auto y = loops.relayout(kResultPort, with(row_dims, {moved[columns]}));
    if (!l || !r || !y) continue;
    LoopOrder order{{*std::move(l), *std::move(r)}, *std::move(y), MatmulAttrs{transposed}, false};
    order.swapped = left == 1;
    if (order.swapped) std::swap(order.operands[0], order.operands[1]);
    orders.push_back(std::move(order));
  }
  return orders;
}

std::vector<LoopOrder> cross_matmul(const Loops& loops, int port) {
  const size_t m = loops.signature.shared, n = m + 1, k = m + 2;
  // The two matrix variables of the port; either may stand last.
  const size_t first = port == 1 ? n : m;
  const size_t second = port == kResultPort ? n : k;
  std::vector<LoopOrder> orders;
  for (const bool first_is_last : {false, true}) {
    DigitLists moved = loops.of_variable;
    const size_t last = first_is_last ? first : second, before = first_is_last ? second : first;
    DigitList batch = loops.sequence();
    if (!take_last(batch, loops.of_variable[last], moved[last]) ||
        !take_last(batch, loops.of_variable[before], moved[before]))
      continue;
    const auto batch_dims = leading_dims(loops, batch.size());
    for (const MatmulForm& form : kMatmulForms) {
      const bool port_first = port == 0   ? form.a_m_first
                              : port == 1 ? form.b_n_first
                                          : form.y_m_first;
      if (port_first == first_is_last) continue;
      auto matrix = [&](int p, size_t row, size_t column, bool row_first) {
        return loops.relayout(p, with(batch_dims, {moved[row_first ? row : column],
                                                   moved[row_first ? column : row]}));
      };
      auto a = matrix(0, m, k, form.a_m_first), b = matrix(1, n, k, form.b_n_first);
      auto y = matrix(kResultPort, m, n, form.y_m_first);
      if (!a || !b || !y) continue;
      orders.push_back({{*std::move(a), *std::move(b)},
                        *std::move(y),
                        MatmulAttrs{form.transpose_b},
                        form.swapped});
    }
  }
  for (int left = 0; left < 2 && orders.empty(); ++left)
    orders = cross_matmul_rows(loops, port, left);
  return orders;
}

/// data [before..., axis, after...] and y [before..., i..., after...]: what is not gathered moves
/// freely around the axis; the dims of the indices move among themselves.
std::vector<LoopOrder> cross_gather(const Loops& loops, int port) {
  const auto axis = static_cast<size_t>(loops.node.attrs<AxisAttrs>().axis);
  const size_t rank = loops.node.operand(0)->shape().size();
  DigitLists before, after, indices;
  for (size_t v = 0; v < loops.of_variable.size(); ++v)
    if (v != axis && !loops.of_variable[v].empty())
      (v < axis ? before : v < rank ? after : indices).push_back(loops.of_variable[v]);
  if (port == 1) {
    indices = loops.dims;
  } else {
    // The moved port is before, the gathered part (in one piece), after; what is in no dim there
    // keeps its place between the two.
    auto gathered = [&](Digit digit) {
      const VariableId v = loops.variable[digit];
      return v == axis || v >= rank;
    };
    const DigitList all = loops.sequence();
    const auto begin = std::ranges::find_if(all, gathered);
    const auto end = std::find_if_not(begin, all.end(), gathered);
    if (std::find_if(end, all.end(), gathered) != all.end()) return {};
    if (port == 0 && DigitList(begin, end) != loops.of_variable[axis] && begin != end) return {};
    size_t place = static_cast<size_t>(begin - all.begin());
    if (begin == end) {
      const DigitList inner = after.empty() ? DigitList{} : after.front();
      place = inner.empty() ? all.size()
                            : static_cast<size_t>(std::ranges::find(all, inner[0]) - all.begin());
    }
    const auto past = place + static_cast<size_t>(end - begin);
    before.clear(), after.clear();
    if (port == kResultPort) indices.clear();
    size_t seen = 0;
    for (const DigitList& dim : loops.dims) {
      // A dim may be cut by the gathered part; a unit dim stays with what precedes it.
      DigitList left, middle, right;
      for (Digit digit : dim) {
        (seen < place ? left : seen < past ? middle : right).push_back(digit);
        ++seen;
      }
      if (!left.empty()) before.push_back(std::move(left));
      if (!middle.empty() && port == kResultPort) indices.push_back(std::move(middle));
      if (!right.empty()) after.push_back(std::move(right));
    }
  }
  auto around = [&](const DigitLists& middle) {
    DigitLists dims = before;
    dims.insert(dims.end(), middle.begin(), middle.end());
    dims.insert(dims.end(), after.begin(), after.end());
    return dims;
  };
  Assembly assembly(loops);
  assembly.operand(around({loops.of_variable[axis]}));
  assembly.operand(indices);
  auto orders = assembly.result(around(indices));
  for (LoopOrder& order : orders) order.attributes = AxisAttrs{static_cast<int64_t>(before.size())};
  return orders;
}

bool is_spatial(Op op) {
  return op == Op::conv || op == Op::conv_transpose || op == Op::max_pool || op == Op::avg_pool ||
         op == Op::resize;
}

/// Whether a relayout moves nothing from one dim of its source past another. cross_spatial accepts
/// no other relayout, and is often asked about others.
bool keeps_order_of_dims(const Relayout& relayout) {
  const auto parts = refine(relayout.factors(), relayout.source());
  if (!parts) return true;
  const size_t count = relayout.factors().size();
  Few<int> first(count), last(count);  // the dims that a factor begins and ends in
  for (const SharedDigit& part : *parts) last[static_cast<size_t>(part.left)] = part.right;
  for (size_t i = parts->size(); i-- > 0;)
    first[static_cast<size_t>((*parts)[i].left)] = (*parts)[i].right;
  int dim = 0;
  for (int factor : relayout.order()) {
    if (first[static_cast<size_t>(factor)] < dim) return false;
    dim = last[static_cast<size_t>(factor)];
  }
  return true;
}

std::vector<LoopOrder> cross_loops(const Loops& loops, int port) {
  if (is_spatial(loops.node.op())) return cross_spatial(loops, port);
  switch (loops.node.op()) {
    case Op::gather:
      return cross_gather(loops, port);
    case Op::linear:
      return cross_linear(loops, port);
    case Op::matmul:
      return cross_matmul(loops, port);
    default:
      return cross_shared(loops);
  }
}

/// Scales move with the data. Returns false where those of an operand, or of the result, cannot.
bool carry_quantisation(const Node& node, LoopOrder& order) {
  for (int i = 0; i < node.operand_count(); ++i)
    if (!can_move(node.operand(i)->type().quantisation, order.at(i))) return false;
  const QuantisationRef* own = quantisation_of(node.attributes());
  if (own == nullptr) return true;
  auto after = moved(*own, order.result);
  if (after) *quantisation_of(order.attributes) = *std::move(after);
  return after.has_value();
}

}  // namespace

bool LoopOrder::moves_like(const LoopOrder& other) const {
  return result.moves_like(other.result) && swapped == other.swapped &&
         std::ranges::equal(operands, other.operands,
                            [](const Relayout& a, const Relayout& b) { return a.moves_like(b); });
}

LoopOrder source_order(const Node& node) {
  LoopOrder order{{}, Relayout::identity(node.result()->shape()), node.attributes(), false};
  for (const Value* operand : node.operands())
    order.operands.push_back(Relayout::identity(operand->shape()));
  return order;
}

std::vector<LoopOrder> cross(const Node& node, int port, const Relayout& relayout) {
  LAYLINE_ASSERT(relayout.source() == port_shape(node, port), "{} is no relayout of {}",
                 to_string(relayout), to_string(port_shape(node, port)));
  if (node.is(Op::constant) || node.is(Op::relayout)) return {};
  // No relayout passes an op that reads at places, or as far, as its data say; or one with a body.
  if (node.is(Op::grid_sample) || node.is(Op::causal_attention) || node.is(Op::counted_slice) ||
      node.is(Op::scan))
    return relayout.is_identity() ? std::vector{source_order(node)} : std::vector<LoopOrder>{};
  if (is_spatial(node.op()) && !keeps_order_of_dims(relayout)) return {};
  const Signature axes = signature(node);
  for (const Grouping grouping : {Grouping::dims, Grouping::movement}) {
    const auto loops = make_loops(node, axes, port, relayout, grouping);
    if (!loops) continue;
    auto orders = cross_loops(*loops, port);
    std::erase_if(orders, [&](LoopOrder& order) { return !carry_quantisation(node, order); });
    if (!orders.empty()) return orders;
  }
  return {};
}

}  // namespace layline
