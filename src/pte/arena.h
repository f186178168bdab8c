// Gives every planned tensor of a method its place in the arena, from how long each is in use.
#pragma once

#include <span>

#include "pte/memory_plan.h"
#include "pte/program.h"

namespace layline::pte {

/// Two planned tensors of one size that are the same bytes, read in different shapes.
struct Alias {
  ValueId tensor;
  ValueId of;  // may itself be an alias, listed before
};

/// Sets the offsets of all tensors that are planned in the arena, and the method's arena size. A
/// tensor lives from the first instruction that names it to the last, inputs from the start and
/// outputs to the end; aliases live together.
MemoryPlan plan_arena(Method& method, std::span<const Alias> aliases);

}  // namespace layline::pte
