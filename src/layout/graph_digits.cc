#include "layout/graph_digits.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "layout/loops.h"

namespace layline {
namespace {

/// Whether an op can work on the outer part of an ordered axis. `inner` is the size of what is
/// inside: all offsets and lengths must be multiples of it.
bool divides_axis(const Node& node, size_t axis, Dim inner) {
  auto whole = [&](int64_t offset) {
    return inner.is_static() ? offset % inner.value() == 0 : offset == 0;
  };
  auto lengths = [&] {
    return std::ranges::all_of(node.operands(),
                               [&](const Value* operand) {
                                 return divide(operand->shape()[axis], inner).has_value();
                               }) &&
           divide(node.result()->shape()[axis], inner);
  };
  switch (node.op()) {
    case Op::slice: {
      const auto& attrs = node.attrs<SliceAttrs>();
      return attrs.step[axis] == 1 && whole(attrs.start[axis]) && lengths();
    }
    case Op::pad: {
      const auto& attrs = node.attrs<PadAttrs>();
      return attrs.mode == PadMode::constant && whole(attrs.low[axis]) && whole(attrs.high[axis]);
    }
    case Op::roll: {
      const auto& attrs = node.attrs<RollAttrs>();
      for (size_t i = 0; i < attrs.axes.size(); ++i)
        if (attrs.axes[i] == static_cast<int64_t>(axis) && !whole(attrs.shifts[i])) return false;
      return true;
    }
    case Op::concat:
      return lengths();
    default:
      return node.is(Op::flip);
  }
}

/// The largest inner part of an axis that an op need not look into, or 1. A concat of equal parts
/// has a digit that counts the parts, and so has a slice that takes one of equal parts. Kernels
/// copy in the longest runs if that digit is outermost.
int64_t untouched_part(const Node& node, size_t axis) {
  int64_t part = 0;
  if (node.is(Op::concat)) {
    for (const Value* operand : node.operands()) {
      const Dim length = operand->shape()[axis];
      part = std::gcd(part, length.is_static() ? length.value() : 1);
    }
  } else if (node.is(Op::slice)) {
    const auto& attrs = node.attrs<SliceAttrs>();
    const Dim length = node.operand(0)->shape()[axis], size = attrs.size[axis];
    if (attrs.step[axis] == 1 && length.is_static() && size.is_static())
      part = std::gcd(std::gcd(length.value(), size.value()), attrs.start[axis]);
  }
  return std::max<int64_t>(part, 1);
}

bool contains(const Cuts& cuts, Dim cut) { return std::ranges::find(cuts, cut) != cuts.end(); }

/// The places where an op's variables are cut. For each variable these are the sizes of what lies
/// inside the cuts; 1 is the border to the next variable.
class VariableCuts {
 public:
  explicit VariableCuts(const Node& node)
      : node_(node), signature_(signature(node)), cuts_(signature_.variables.size()) {
    if (!node.is(Op::concat) && !node.is(Op::slice)) return;
    for (size_t v = 0; v < cuts_.size(); ++v)
      if (is_ordered(v)) add_cut(v, untouched_part(node, v));
  }

  /// Takes over the cuts of a port. An op cannot follow a cut that does not divide its dims.
  void add(int port, const Cuts& cuts) {
    const auto all = places(port);
    for (const Dim& cut : cuts) {
      Dim below = 1;  // what of the port lies inside the variable
      for (const Place& place : all) {
        const auto inside = divide(cut, below);
        if (!inside) break;
        if (!divide(*inside, place.size)) {
          if (divide(place.size, *inside)) add_cut(place.variable, *inside);
          break;
        }
        below = below * place.size;
      }
    }
  }

  /// The cuts of a port: where any port is cut, and where the op treats neighbours differently.
  Cuts of_port(int port) const {
    Cuts result;
    auto cut = [&](Dim inside) {
      if (!inside.is_one() && !contains(result, inside)) result.push_back(inside);
    };
    Dim below = 1;
    const Place* inner = nullptr;
    const auto all = places(port);
    for (const Place& place : all) {
      if (inner != nullptr && differs(place.variable, inner->variable)) cut(below);
      for (const Dim& inside : cuts_[place.variable])
        if (divide(place.size, inside)) cut(below * inside);
      below = below * place.size;
      inner = &place;
    }
    const auto whole = std::ranges::find(result, below);
    if (whole != result.end()) result.erase(whole);
    return result;
  }

 private:
  struct Place {
    VariableId variable;
    Dim size;
  };

  /// The variables that a port has, innermost first.
  std::vector<Place> places(int port) const {
    std::vector<Place> result;
    const Binding& binding = signature_.port(port);
    for (size_t dim = binding.size(); dim-- > 0;) {
      if (binding[dim].broadcast) continue;
      const auto& variables = binding[dim].variables;
      for (size_t i = variables.size(); i-- > 0;) {
        const VariableId variable = variables[i];
        const Dim size = variables.size() == 1 ? port_shape(node_, port)[dim]
                                               : signature_.variables[variable].size;
        if (!size.is_one()) result.push_back({variable, size});
      }
    }
    return result;
  }

  /// Whether the border between two neighbours in a port must be cut.
  bool differs(VariableId outer, VariableId inner) const {
    // The axes of a window stay together.
    if (is_ordered(outer) && is_ordered(inner)) return signature_.shared > 0;
    // Another tensor may have a loop between them that this tensor lacks.
    for (VariableId v = outer + 1; v < inner; ++v)
      if (needs_digit(signature_.variables[v])) return true;
    return !alike(node_, signature_, outer, inner);
  }

  bool is_ordered(size_t variable) const {
    return signature_.variables[variable].role == Role::ordered;
  }

  /// Whether an op can follow a cut. If not, the op runs along the whole axis, and the cut ends
  /// here.
  bool follows(size_t variable, Dim inside) const {
    if (!is_ordered(variable)) return true;
    return signature_.shared > 0 && (inside.is_one() || divides_axis(node_, variable, inside));
  }

  void add_cut(size_t variable, Dim inside) {
    if (follows(variable, inside) && !contains(cuts_[variable], inside))
      cuts_[variable].push_back(inside);
  }

  const Node& node_;
  const Signature signature_;
  std::vector<Cuts> cuts_;
};

class CutFinder {
 public:
  explicit CutFinder(const PlacementProblem& problem)
      : problem_(problem), values_(problem.values.size()), waiting_(problem.nodes.size(), true) {}

  Indexed<ValueIndex, ValueCuts> run() {
    for (ValueIndex v : values_.indices()) {
      const PlacedValue& value = problem_.values[v];
      if (element_count(value.root->shape()).is_zero()) continue;
      for (const PlacedValue::Reader& reader : value.readers)
        if (!reader.from_root.is_view()) cut(v, own_cuts(reader.from_root));
    }
    for (NodeIndex n : problem_.nodes.indices()) queue_.push_back(n);
    while (!queue_.empty()) {
      const NodeIndex node = queue_.front();
      queue_.pop_front();
      waiting_[node] = false;
      spread(problem_.nodes[node]);
    }
    return std::move(values_);
  }

 private:
  /// The borders between the factors of a relayout, in its source.
  static Cuts own_cuts(const Relayout& relayout) { return moved_cuts({}, relayout.inverse()); }

  /// Cuts a value further; its ops must look again.
  void cut(ValueIndex value, const Cuts& cuts) {
    ValueCuts& known = values_[value];
    const size_t before = known.cuts.size();
    for (const Dim& inside : cuts) {
      if (contains(known.cuts, inside)) continue;
      known.complete = known.complete && known.cuts.size() < kMostCuts;
      if (known.complete) known.cuts.push_back(inside);
    }
    if (known.cuts.size() > before)
      problem_.values[value].for_each_node([&](NodeIndex node) { wake(node); });
  }

  void wake(NodeIndex node) {
    if (waiting_[node]) return;
    waiting_[node] = true;
    queue_.push_back(node);
  }

  /// Cuts all tensors of an op where one of them is cut.
  void spread(const PlacedNode& placed) {
    if (placed.state) return spread_state(placed);
    const Node& node = *placed.node;
    if (node.is(Op::relayout) || element_count(node.result()->shape()).is_zero()) return;
    VariableCuts cuts(node);
    for (int port = kResultPort; port < node.operand_count(); ++port)
      if (const auto value = value_at(placed, port))
        cuts.add(port, moved_cuts(values_[*value].cuts, from_root(placed, port)));
    for (int port = kResultPort; port < node.operand_count(); ++port) {
      const auto value = value_at(placed, port);
      if (!value || element_count(port_shape(node, port)).is_zero()) continue;
      cut(*value, moved_cuts(cuts.of_port(port), from_root(placed, port).inverse()));
    }
  }

  /// What a state holds is cut as what is written to it, and as it was moved before.
  void spread_state(const PlacedNode& placed) {
    const PlacedOperand& operand = *placed.operands[0];
    const Relayout& from_root = problem_.from_root(operand);
    if (element_count(from_root.source()).is_zero()) return;
    if (placed.moved && !placed.moved->is_view()) cut(placed.result, moved_cuts({}, *placed.moved));
    cut(placed.result, moved_cuts(values_[operand.value].cuts, from_root));
    cut(operand.value, moved_cuts(values_[placed.result].cuts, from_root.inverse()));
  }

  /// The value at a port; none for a constant.
  static std::optional<ValueIndex> value_at(const PlacedNode& placed, int port) {
    if (port == kResultPort) return placed.result;
    const auto& operand = placed.operands[static_cast<size_t>(port)];
    return operand ? std::optional(operand->value) : std::nullopt;
  }
  /// The port is not constant.
  Relayout from_root(const PlacedNode& placed, int port) const {
    if (port == kResultPort) return Relayout::identity(placed.node->result()->shape());
    return problem_.from_root(*placed.operands[static_cast<size_t>(port)]);
  }

  static constexpr size_t kMostCuts = 16;

  const PlacementProblem& problem_;
  Indexed<ValueIndex, ValueCuts> values_;
  std::deque<NodeIndex> queue_;  // nodes to look at
  Indexed<NodeIndex, bool> waiting_;
};

/// Adds the factorisations that have the digits of `inner` at the inside, the innermost last.
void add_digits(const Cuts& cuts, Dim count, Dim below, Dims& inner, std::vector<Dims>& result) {
  const auto lies_between = [&](Dim cut, Dim outside) {
    return cut != below && cut != outside && divide(cut, below) && divide(outside, cut);
  };
  bool last = true;
  for (const Dim& cut : cuts) {
    if (!lies_between(cut, count)) continue;
    last = false;
    // The next cut of a factorisation that lacks none.
    if (std::ranges::any_of(cuts, [&](Dim nearer) { return lies_between(nearer, cut); })) continue;
    inner.push_back(*divide(cut, below));
    add_digits(cuts, count, cut, inner, result);
    inner.pop_back();
  }
  if (!last) return;
  result.push_back(inner);
  if (count != below) result.back().push_back(*divide(count, below));
  std::ranges::reverse(result.back());
}

}  // namespace

Cuts moved_cuts(const Cuts& cuts, const Relayout& relayout) {
  if (relayout.is_view()) return cuts;
  const Dims& factors = relayout.factors();
  Dims stride(factors.size(), 1), target(factors.size(), 1);  // of each factor
  for (size_t i = factors.size() - 1; i-- > 0;) stride[i] = stride[i + 1] * factors[i + 1];
  Cuts result;
  Dim below = 1;
  const Permutation& order = relayout.order();
  for (size_t i = order.size(); i-- > 0;) {
    const auto factor = static_cast<size_t>(order[i]);
    if (!below.is_one()) result.push_back(below);
    target[factor] = below;
    below = below * factors[factor];
  }
  for (const Dim& cut : cuts)
    for (size_t i = 0; i < factors.size(); ++i) {
      const auto inside = divide(cut, stride[i]);
      if (!inside || inside->is_one() || *inside == factors[i] || !divide(factors[i], *inside))
        continue;
      result.push_back(target[i] * *inside);
    }
  return result;
}

std::vector<Dims> digits_between(const Cuts& cuts, Dim count) {
  std::vector<Dims> result;
  Dims inner;
  add_digits(cuts, count, 1, inner, result);
  return result;
}

Indexed<ValueIndex, ValueCuts> find_cuts(const PlacementProblem& problem) {
  return CutFinder(problem).run();
}

}  // namespace layline
