// The names of tensors and sizes that an argument refers to.
#pragma once

#include <type_traits>

#include "frontend/pt2/exported_program.h"

namespace layline::pt2 {

/// Calls visit(name) for each name in an argument, or in a list of arguments; not in nested graphs,
/// which have names of their own. The name may be changed if `held` is not const.
template <typename T, typename Visit>
void visit_names(T& held, const Visit& visit) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, TensorArg> || std::is_same_v<Plain, SymIntArg> ||
                std::is_same_v<Plain, SymBoolArg> || std::is_same_v<Plain, SymFloatArg>) {
    visit(held.name);
  } else if constexpr (std::is_same_v<Plain, OptionalTensorArg>) {
    if (held.name) visit(*held.name);
  } else if constexpr (std::is_same_v<Plain, Argument>) {
    std::visit([&](auto& arm) { visit_names(arm, visit); }, held.value);
  } else if constexpr (std::is_same_v<Plain, NamedArgument> || std::is_same_v<Plain, MemberArg>) {
    visit_names(held.arg, visit);
  } else if constexpr (!std::is_same_v<Plain, std::vector<bool>> &&
                       requires(Plain list) { list.push_back(list.front()); }) {
    for (auto& item : held) visit_names(item, visit);
  }
}

}  // namespace layline::pt2
