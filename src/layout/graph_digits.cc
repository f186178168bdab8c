#include "layout/graph_digits.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "algebra/refine.h"
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

/// The places where an op's variables are cut. For each variable these are the sizes of what lies
/// inside the cuts, ascending; 1 is the border to the next variable.
class VariableCuts {
 public:
  explicit VariableCuts(const Node& node)
      : node_(node), signature_(signature(node)), cuts_(signature_.variables.size()) {
    if (!node.is(Op::concat) && !node.is(Op::slice)) return;
    for (size_t v = 0; v < cuts_.size(); ++v)
      if (is_ordered(v)) add_cut(v, untouched_part(node, v));
  }

  /// Takes over the cuts of a port with these digits. Returns false if they cut its variables in
  /// ways that have no common refinement.
  bool add(int port, const Dims& digits) {
    if (digits.empty()) return true;
    auto digit = digits.rbegin();
    Dim stride = *digit++;
    Dim below = 1;  // what of the port lies inside the variable
    for (const Place& place : places(port)) {
      for (; digit != digits.rend(); stride = stride * *digit++) {
        const auto inside = divide(stride, below);
        if (!inside) return false;
        if (divide(*inside, place.size)) break;  // further out
        if (!divide(place.size, *inside) || !add_cut(place.variable, *inside)) return false;
      }
      below = below * place.size;
    }
    return true;
  }

  /// The digits of a port: cut where any port is cut, and where the op treats neighbours
  /// differently.
  Dims of_port(int port) const {
    Dims digits;
    Dim below = 1, last = 1;  // `last` is the stride of the last cut
    auto cut = [&](Dim stride) {
      const auto digit = divide(stride, last);
      if (!digit || digit->is_one()) return;
      digits.push_back(*digit);
      last = stride;
    };
    const Place* inner = nullptr;
    const auto all = places(port);
    for (const Place& place : all) {
      if (inner != nullptr && differs(place.variable, inner->variable)) cut(below);
      for (const Dim& inside : cuts_[place.variable])
        if (divide(place.size, inside)) cut(below * inside);
      below = below * place.size;
      inner = &place;
    }
    cut(below);
    std::ranges::reverse(digits);
    return digits;
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

  bool add_cut(size_t variable, Dim inside) {
    if (!follows(variable, inside)) return true;
    auto& cuts = cuts_[variable];
    auto place = cuts.begin();
    while (place != cuts.end() && *place != inside && divide(inside, *place)) ++place;
    if (place != cuts.end() && *place == inside) return true;
    if (place != cuts.end() && !divide(*place, inside)) return false;
    cuts.insert(place, inside);
    return true;
  }

  const Node& node_;
  const Signature signature_;
  std::vector<Dims> cuts_;
};

class DigitFinder {
 public:
  explicit DigitFinder(const PlacementProblem& problem)
      : problem_(problem), values_(problem.values.size()), waiting_(problem.nodes.size(), true) {}

  Indexed<ValueIndex, ValueDigits> run() {
    for (ValueIndex v : values_.indices()) {
      const PlacedValue& value = problem_.values[v];
      const Dim count = element_count(value.root->shape());
      if (count.is_zero()) continue;
      if (!count.is_one()) values_[v].size = {count};
      for (const PlacedValue::Reader& reader : value.readers)
        if (!reader.from_root.is_view()) cut(v, reader.from_root.factors());
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
  /// Cuts the digits of a value further; its ops must look again.
  void cut(ValueIndex value, const Dims& digits) {
    ValueDigits& known = values_[value];
    const auto both = refine(known.size, digits);
    if (!both) {
      known.complete = false;
      return;
    }
    if (both->size() == known.size.size()) return;
    known.size.clear();
    for (const SharedDigit& digit : *both) known.size.push_back(digit.size);
    problem_.values[value].for_each_node([&](NodeIndex node) { wake(node); });
  }

  void wake(NodeIndex node) {
    if (waiting_[node]) return;
    waiting_[node] = true;
    queue_.push_back(node);
  }

  /// Cuts all tensors of an op where one of them is cut.
  void spread(const PlacedNode& placed) {
    if (placed.state) {
      // A state may be held in any order at all: nothing is proved about what it is made of.
      placed.for_each_value([&](ValueIndex value) { values_[value].complete = false; });
      return;
    }
    const Node& node = *placed.node;
    if (node.is(Op::relayout) || element_count(node.result()->shape()).is_zero()) return;
    VariableCuts cuts(node);
    for (int port = kResultPort; port < node.operand_count(); ++port) {
      const auto value = value_at(placed, port);
      if (!value) continue;
      const auto digits = moved_digits(values_[*value].size, from_root(placed, port));
      if (!digits || !cuts.add(port, *digits)) values_[*value].complete = false;
    }
    for (int port = kResultPort; port < node.operand_count(); ++port) {
      const auto value = value_at(placed, port);
      if (!value || element_count(port_shape(node, port)).is_zero()) continue;
      const auto digits = moved_digits(cuts.of_port(port), from_root(placed, port).inverse());
      if (digits)
        cut(*value, *digits);
      else
        values_[*value].complete = false;
    }
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

  const PlacementProblem& problem_;
  Indexed<ValueIndex, ValueDigits> values_;
  std::deque<NodeIndex> queue_;  // nodes to look at
  Indexed<NodeIndex, bool> waiting_;
};

}  // namespace

std::optional<Dims> moved_digits(const Dims& digits, const Relayout& relayout) {
  if (relayout.is_view()) return digits;
  const auto both = refine(digits, relayout.factors());
  if (!both) return std::nullopt;
  Dims result;
  for (int factor : relayout.order())
    for (const SharedDigit& digit : *both)
      if (digit.right == factor) result.push_back(digit.size);
  return result;
}

Indexed<ValueIndex, ValueDigits> find_digits(const PlacementProblem& problem) {
  return DigitFinder(problem).run();
}

}  // namespace layline
