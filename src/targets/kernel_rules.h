// Rewrites what the runtime's kernels cannot run as it stands into what they can.
#pragma once

#include <span>

#include "targets/rewrites/apply_rules.h"

namespace layline {

std::span<const rewrites::Rule> kernel_rules();

/// Rewrites a graph for a program without delegates. Returns whether anything changed.
bool legalise_for_kernels(Graph& graph);

}  // namespace layline
