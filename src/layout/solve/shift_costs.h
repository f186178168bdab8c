// Moving costs between tables that share a variable, so that each says more by itself (sequential
// tree-reweighted message passing: V. Kolmogorov, IEEE PAMI 28(10), 2006).
#pragma once

#include "layout/solve/elimination.h"

namespace layline {

/// Every choice of all variables costs what it cost before. The least entries of all tables add up
/// to more, where something can be gained; no choice costs less than their sum. Goes through the
/// variables once, and once more in the opposite direction.
///
///   a: 0 4 over x, b: 3 0 over x: the least entries add up to 0, but every choice costs 3 or more.
///   After the shift they add up to 3.
void shift_costs(Energy& energy);

}  // namespace layline
