#include "layout/all_orders.h"

#include <algorithm>
#include <numeric>

#include "algebra/refine.h"
#include "layout/joint_order.h"
#include "layout/loops.h"

namespace layline {
namespace {

/// Calls `visit` with every sequence of some numbers in which each group, which is sorted, keeps
/// its place. Returns false, and stops, if a group is too large or `visit` returns false.
bool for_each_sequence(std::vector<Permutation> groups, const PlacementLimits& limits,
                       const auto& visit) {
  const auto too_large = [&](const Permutation& group) { return group.size() > limits.digits; };
  if (std::ranges::any_of(groups, too_large)) return false;
  while (true) {
    Permutation sequence;
    for (const Permutation& group : groups)
      sequence.insert(sequence.end(), group.begin(), group.end());
    if (!visit(sequence)) return false;
    auto group = groups.begin();
    while (group != groups.end() && !std::ranges::next_permutation(*group).found) ++group;
    if (group == groups.end()) return true;
  }
}

Relayout in_sequence(const Shape& shape, const Dims& digits, const Permutation& sequence) {
  Shape target;
  for (int digit : sequence) target.push_back(digits[static_cast<size_t>(digit)]);
  return Relayout::from_factors(shape, digits, sequence, std::move(target));
}

class Enumeration {
 public:
  Enumeration(const Node& node, const PortDigits& digits, const std::vector<LoopOrder>& known,
              const PlacementLimits& limits, Crossings& crossings)
      : node_(node),
        signature_(signature(node)),
        digits_(digits),
        known_(known),
        limits_(limits),
        crossings_(crossings) {}

  std::optional<std::vector<LoopOrder>> run() {
    if (signature_.shared > 0 && !node_.is(Op::matmul)) {
      const auto port = whole_port();
      if (!port || !add_orders_of(*port, true)) return std::nullopt;
      return std::move(found_);
    }
    // The first operand that is not constant has some of the variables, the result has the rest.
    int first = 0;
    while (first < node_.operand_count() && stored_constant(node_.operand(first)) != nullptr)
      ++first;
    if (first == node_.operand_count()) return std::nullopt;
    if (!add_orders_of(first, false)) return std::nullopt;
    const size_t known = known_.size(), found = found_.size();
    for (size_t i = 0; i < known + found; ++i) {
      const LoopOrder order = i < known ? known_[i] : found_[i - known];
      if (!add_orders_from(order, first)) return std::nullopt;
    }
    return std::move(found_);
  }

 private:
  const std::vector<Dims>& digits(int port) const {
    return port == kResultPort ? digits_.back() : digits_[static_cast<size_t>(port)];
  }

  /// The variables of a port, outermost first, and its lengths along them.
  struct PortVariables {
    Few<VariableId> variable;
    Dims length;
  };
  PortVariables variables_of(int port) const {
    PortVariables result;
    const Binding& binding = signature_.port(port);
    for (size_t dim = 0; dim < binding.size(); ++dim) {
      if (binding[dim].broadcast) continue;
      const bool one = binding[dim].variables.size() == 1;
      for (VariableId variable : binding[dim].variables) {
        result.variable.push_back(variable);
        result.length.push_back(one ? port_shape(node_, port)[dim]
                                    : signature_.variables[variable].size);
      }
    }
    return result;
  }

  static Dim length(const PortVariables& port, VariableId variable) {
    for (size_t i = 0; i < port.variable.size(); ++i)
      if (port.variable[i] == variable) return port.length[i];
    return 1;
  }

  /// Whether a port has all loops of another, in full length.
  static bool covers(const PortVariables& port, const PortVariables& other) {
    for (size_t i = 0; i < other.variable.size(); ++i) {
      const Dim theirs = other.length[i], own = length(port, other.variable[i]);
      const bool longer = own.is_static() && theirs.is_static() && own.value() > theirs.value();
      if (own != theirs && !theirs.is_one() && !longer) return false;
    }
    return true;
  }

  /// A port that has every loop that any port has, in full length. Its movement gives the order of
  /// all loops.
  std::optional<int> whole_port() const {
    std::vector<PortVariables> ports;
    for (int port = kResultPort; port < node_.operand_count(); ++port)
      ports.push_back(variables_of(port));
    auto next = ports.begin();
    for (int port = kResultPort; port < node_.operand_count(); ++port) {
      const PortVariables& own = *next++;
      if (port != kResultPort && stored_constant(node_.operand(port)) != nullptr) continue;
      if (std::ranges::all_of(ports, [&](const auto& other) { return covers(own, other); }))
        return port;
    }
    return std::nullopt;
  }

  bool add(const LoopOrder& order) {
    auto same = [&](const LoopOrder& other) { return other.moves_like(order); };
    if (std::ranges::any_of(known_, same) || std::ranges::any_of(found_, same)) return true;
    if (known_.size() + found_.size() >= limits_.all_orders) return false;
    found_.push_back(order);
    return true;
  }

  /// Adds the orders for every sequence of the digits of a port. If the port is `whole`, its
  /// movement says all about an order.
  bool add_orders_of(int port, bool whole) {
    return std::ranges::all_of(digits(port), [&](const Dims& size) {
      return for_each_sequence(groups(port, size), limits_, [&](const Permutation& sequence) {
        const auto relayout = in_sequence(port_shape(node_, port), size, sequence);
        const auto agrees = [&](const LoopOrder& order) {
          return order.at(port).moves_like(relayout);
        };
        if (whole && std::ranges::any_of(known_, agrees)) return true;
        return std::ranges::all_of(crossings_.cross(node_, port, relayout),
                                   [&](const LoopOrder& order) { return add(order); });
      });
    });
  }

  /// The digits of a port in groups, outermost first: an op can run no order in which a digit
  /// leaves its group. The axes of a window, and rows and channels of a linear, stay where they
  /// are.
  std::vector<Permutation> groups(int port, const Dims& size) const {
    const PortVariables own = variables_of(port);
    const auto parts = refine(size, own.length);
    std::vector<Permutation> result(1);
    if (signature_.shared > 0 || node_.is(Op::gather) || !parts) {
      result[0].resize(size.size());
      std::iota(result[0].begin(), result[0].end(), 0);
      return result;
    }
    std::optional<SharedDigit> last;
    for (const SharedDigit& part : *parts) {
      const auto variable = [&](const SharedDigit& at) {
        return own.variable[static_cast<size_t>(at.right)];
      };
      const bool same_digit = last && last->left == part.left;
      if (last && !same_digit && !may_mix(variable(*last), variable(part))) result.emplace_back();
      if (!same_digit) result.back().push_back(part.left);
      last = part;
    }
    return result;
  }

  /// Whether the digits of two neighbouring variables may change places.
  bool may_mix(VariableId outer, VariableId inner) const {
    const auto is_row = [&](VariableId variable) {
      return node_.is(Op::linear) && variable + 1 < node_.operand(0)->shape().size();
    };
    return outer == inner || (is_row(outer) && is_row(inner));
  }

  /// Adds the orders that are like `order`, but have some digits of the result in every sequence
  /// among their places: the digits of variables that port `first` lacks.
  bool add_orders_from(const LoopOrder& order, int first) {
    return std::ranges::all_of(
        digits(kResultPort), [&](const Dims& size) { return add_orders_from(order, first, size); });
  }
  bool add_orders_from(const LoopOrder& order, int first, const Dims& size) {
    const PortVariables result = variables_of(kResultPort), others = variables_of(first);
    const auto parts = refine(size, result.length);
    const auto moved = refine(size, order.result.factors());
    if (!parts || !moved || moved->size() != size.size()) return true;
    std::vector<bool> own(size.size(), false);
    for (const SharedDigit& part : *parts)
      if (length(others, result.variable[static_cast<size_t>(part.right)]).is_one())
        own[static_cast<size_t>(part.left)] = true;
    Permutation sequence;
    for (int factor : order.result.order())
      for (size_t digit = 0; digit < moved->size(); ++digit)
        if ((*moved)[digit].right == factor) sequence.push_back(static_cast<int>(digit));
    Permutation mine;
    for (int digit : sequence)
      if (own[static_cast<size_t>(digit)]) mine.push_back(digit);
    if (mine.size() < 2) return true;
    std::ranges::sort(mine);
    return for_each_sequence({mine}, limits_, [&](const Permutation& mixed) {
      Permutation next = sequence;
      auto digit = mixed.begin();
      for (int& place : next)
        if (own[static_cast<size_t>(place)]) place = *digit++;
      const auto relayout =
          Relayout::from_factors(port_shape(node_, kResultPort), size, next, order.result.target());
      return std::ranges::all_of(crossings_.cross_from(node_, order, kResultPort, relayout),
                                 [&](const LoopOrder& joint) { return add(joint); });
    });
  }

  const Node& node_;
  const Signature signature_;
  const PortDigits& digits_;
  const std::vector<LoopOrder>& known_;
  const PlacementLimits& limits_;
  Crossings& crossings_;
  std::vector<LoopOrder> found_;
};

}  // namespace

std::optional<std::vector<Relayout>> all_movements(const Shape& shape,
                                                   const std::vector<Dims>& digits,
                                                   const PlacementLimits& limits) {
  std::vector<Relayout> result;
  for (const Dims& size : digits) {
    Permutation source(size.size());
    std::iota(source.begin(), source.end(), 0);
    const bool few = for_each_sequence({source}, limits, [&](const Permutation& sequence) {
      const Relayout next = in_sequence(shape, size, sequence);
      const auto same = [&](const Relayout& other) { return other.moves_like(next); };
      if (std::ranges::any_of(result, same)) return true;
      result.push_back(next);
      return result.size() <= limits.all_orders;
    });
    if (!few) return std::nullopt;
  }
  return result;
}

std::optional<std::vector<LoopOrder>> all_orders(const Node& node, const PortDigits& digits,
                                                 const std::vector<LoopOrder>& known,
                                                 const PlacementLimits& limits,
                                                 Crossings& crossings) {
  return Enumeration(node, digits, known, limits, crossings).run();
}

}  // namespace layline
