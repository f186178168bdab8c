#include "layout/loops.h"

#include <algorithm>

#include "base/error.h"
#include "layout/digits.h"

namespace layline {
namespace {

DigitLists::iterator dim_of(DigitLists& dims, Digit digit) {
  return std::ranges::find_if(
      dims, [&](const DigitList& dim) { return std::ranges::find(dim, digit) != dim.end(); });
}

/// Gives a variable one digit.
Digit add_digit(Loops& loops, VariableId variable, Dim size) {
  const auto digit = static_cast<Digit>(loops.size.size());
  loops.size.push_back(size);
  loops.variable.push_back(variable);
  loops.of_variable[variable] = {digit};
  return digit;
}

/// Gives a digit, and a place among the dims, to every shared variable that has no digit in the
/// moved port.
void place_shared(Loops& loops, const Binding& binding) {
  auto variable_of = [&](size_t dim) -> std::optional<VariableId> {
    const auto& variables = binding[dim].variables;
    if (variables.size() != 1 || variables[0] >= loops.signature.shared) return std::nullopt;
    return variables[0];
  };
  auto lacks_digit = [&](size_t dim) {
    return std::ranges::all_of(binding[dim].variables, [&](VariableId variable) {
      return loops.of_variable[variable].empty();
    });
  };
  std::vector<size_t> unit_dims, unit_places;
  for (size_t dim = 0; dim < binding.size(); ++dim)
    if (lacks_digit(dim)) unit_dims.push_back(dim);
  for (size_t dim = 0; dim < loops.dims.size(); ++dim)
    if (loops.dims[dim].empty()) unit_places.push_back(dim);
  const bool paired = unit_dims.size() == unit_places.size();

  for (size_t i = 0; i < unit_dims.size(); ++i) {
    const auto variable = variable_of(unit_dims[i]);
    if (!variable) continue;
    const Variable& shared = loops.signature.variables[*variable];
    if (!needs_digit(shared)) continue;
    const Digit digit =
        add_digit(loops, *variable, binding[unit_dims[i]].broadcast ? shared.size : 1);
    if (paired) {
      loops.dims[unit_places[i]].push_back(digit);
      continue;
    }
    auto place = loops.dims.begin();
    for (size_t before = unit_dims[i]; before-- > 0 && place == loops.dims.begin();) {
      const auto neighbour = variable_of(before);
      if (!neighbour || loops.of_variable[*neighbour].empty()) continue;
      place = dim_of(loops.dims, loops.of_variable[*neighbour].back()) + 1;
    }
    loops.dims.insert(place, {digit});
  }
  // Outer axes that the port does not have at all stay outermost.
  size_t outer = 0;
  for (VariableId v = 0; v < loops.signature.shared; ++v) {
    const bool bound = std::ranges::any_of(binding, [&](const BoundDim& dim) {
      return std::ranges::find(dim.variables, v) != dim.variables.end();
    });
    if (bound || !needs_digit(loops.signature.variables[v])) continue;
    const Digit digit = add_digit(loops, v, loops.signature.variables[v].size);
    loops.dims.insert(loops.dims.begin() + static_cast<std::ptrdiff_t>(outer++), {digit});
  }
}

bool has_variable(const Binding& binding, VariableId variable) {
  return std::ranges::any_of(binding, [&](const BoundDim& dim) {
    return !dim.broadcast && std::ranges::find(dim.variables, variable) != dim.variables.end();
  });
}

bool mergeable(const Loops& loops, Digit left, Digit right) {
  return alike(loops.node, loops.signature, loops.variable[left], loops.variable[right]);
}

/// One dim for each digit.
void take_apart(Loops& loops) {
  DigitLists dims;
  for (Digit digit : loops.sequence()) dims.push_back({digit});
  loops.dims = std::move(dims);
}

/// The fewest dims that the op can work on.
void put_together(Loops& loops) {
  DigitLists dims;
  for (Digit digit : loops.sequence()) {
    if (!dims.empty() && mergeable(loops, dims.back().back(), digit))
      dims.back().push_back(digit);
    else
      dims.push_back({digit});
  }
  loops.dims = std::move(dims);
}

}  // namespace

bool needs_digit(const Variable& variable) {
  return variable.role == Role::ordered || variable.role == Role::set || !variable.size.is_one();
}

bool alike(const Node& node, const Signature& signature, VariableId a, VariableId b) {
  const Role role = signature.variables[a].role;
  if (role != signature.variables[b].role) return false;
  if (role == Role::ordered) return false;  // neighbours in order are one digit already
  if (role == Role::set) return a == b || node.is(Op::normalize);
  for (int port = kResultPort; port < node.operand_count(); ++port) {
    const Binding& binding = signature.port(port);
    if (has_variable(binding, a) != has_variable(binding, b)) return false;
  }
  return true;
}

Dim Loops::product(std::span<const Digit> digits) const {
  Dim result = 1;
  for (Digit digit : digits) result = result * size[digit];
  return result;
}

DigitList Loops::sequence() const {
  DigitList all;
  for (const DigitList& dim : dims) all.insert(all.end(), dim.begin(), dim.end());
  return all;
}

std::optional<Relayout> Loops::relayout(int port, const DigitLists& target) const {
  const Binding& binding = signature.port(port);
  const Shape& shape = port_shape(node, port);
  Dims own_size = size;
  Few<char> present(size.size(), false);
  DigitLists source(binding.size());
  size_t count = 0;
  for (size_t dim = 0; dim < binding.size(); ++dim) {
    if (binding[dim].broadcast) continue;
    for (VariableId v : binding[dim].variables) {
      const DigitList& own = of_variable[v];
      source[dim].insert(source[dim].end(), own.begin(), own.end());
    }
    if (source[dim].empty()) continue;
    for (Digit digit : source[dim]) present[digit] = true;
    count += source[dim].size();
    const auto outer = divide(shape[dim], product(std::span(source[dim]).subspan(1)));
    if (!outer) return std::nullopt;
    own_size[source[dim][0]] = *outer;
  }
  DigitLists kept;
  for (const DigitList& dim : target) {
    const auto own = std::ranges::count_if(dim, [&](Digit digit) { return bool(present[digit]); });
    if (own != 0 && own != static_cast<std::ptrdiff_t>(dim.size())) return std::nullopt;
    kept.push_back(own == 0 ? DigitList{} : dim);
    count -= static_cast<size_t>(own);
  }
  LAYLINE_ASSERT(count == 0, "{}: a loop order lacks digits of port {}", describe(node), port);
  return relayout_of_digits(own_size, source, kept);
}

std::optional<Loops> make_loops(const Node& node, const Signature& signature, int port,
                                const Relayout& relayout, Grouping grouping) {
  Loops loops{node, signature, {}, {}, {}, {}};
  const Binding& binding = loops.signature.port(port);
  Shape source;  // a dim for each variable of the port
  Few<VariableId> variables;
  for (size_t dim = 0; dim < binding.size(); ++dim) {
    for (VariableId variable : binding[dim].variables) {
      variables.push_back(variable);
      source.push_back(binding[dim].variables.size() == 1
                           ? relayout.source()[dim]
                           : loops.signature.variables[variable].size);
    }
  }
  Shape target = relayout.target();
  if (grouping == Grouping::movement) {
    // The canonical factors give the fewest digits.
    target.clear();
    for (int factor : relayout.order())
      target.push_back(relayout.factors()[static_cast<size_t>(factor)]);
  }
  auto moved = digits(relayout.with_source(std::move(source)).with_target(std::move(target)));
  if (!moved) return std::nullopt;
  loops.size = std::move(moved->size);
  loops.dims = std::move(moved->target);
  loops.variable.resize(loops.size.size());
  loops.of_variable.resize(loops.signature.variables.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    for (Digit digit : moved->source[i]) loops.variable[digit] = variables[i];
    loops.of_variable[variables[i]] = std::move(moved->source[i]);
  }
  if (grouping == Grouping::movement) take_apart(loops);
  place_shared(loops, binding);
  if (grouping == Grouping::movement) put_together(loops);
  for (auto v = static_cast<VariableId>(loops.signature.shared);
       v < loops.signature.variables.size(); ++v) {
    const Variable& own = loops.signature.variables[v];
    if (!loops.of_variable[v].empty() || !needs_digit(own)) continue;
    add_digit(loops, v, has_variable(binding, v) ? 1 : own.size);
  }
  return loops;
}

}  // namespace layline
