// The proof of a placement as text, which tools/check_proof.cc checks (docs/proof.md).
#pragma once

#include <string>

#include "layout/placement.h"

namespace layline {

/// The lines of one method.
std::string proof_of(const std::string& method, const Placement& placement, const MoveCosts& moves);

}  // namespace layline
