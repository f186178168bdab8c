// What a part of a graph costs at least, derived in steps that a reader can repeat (docs/proof.md).
#pragma once

#include <string>
#include <vector>

#include "layout/proof/problem.h"

namespace layline::proof {

struct Derived {
  Price bound = 0;    // whatever the rest of the graph does
  std::string steps;  // a line for each
};

/// The part has the terms of `ops`, all of whose orders are known, and of `values`, each written by
/// one of them or given to the graph. Nothing below what the chosen orders cost there is looked
/// for: the bound is that, if it is reached.
Derived derive(const Problem& problem, const std::vector<size_t>& ops,
               const std::vector<size_t>& values);

}  // namespace layline::proof
