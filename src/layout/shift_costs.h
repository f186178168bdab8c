// Moving costs between tables that share a variable, so that each says more by itself (sequential
// tree-reweighted message passing: V. Kolmogorov, IEEE PAMI 28(10), 2006).
#pragma once

#include "layout/elimination.h"

namespace layline {

/// Every choice of all variables costs what it cost before, but the least entries of all factors
/// add up to more, where something can be gained: no choice costs less than their sum. Goes through
/// the variables once, and once more backwards.
void shift_costs(Energy& energy);

}  // namespace layline
