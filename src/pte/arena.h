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

/// The first and the last instruction that something is used by, or of a loop.
struct Steps {
  int64_t first, last;
};

/// The loops of a method, inner ones before those around them.
std::vector<Steps> loops_of(const Method& method);

/// What a loop and something outside of it use is in use in the whole loop.
Steps in_use(Steps uses, std::span<const Steps> loops);

/// Sets the offsets of all tensors that are planned in the arena, and the method's arena size. A
/// tensor lives from the first instruction that names it to the last, inputs from the start and
/// outputs to the end, and what a loop finds as long as the loop; aliases live together.
MemoryPlan plan_arena(Method& method, std::span<const Alias> aliases);

}  // namespace layline::pte
