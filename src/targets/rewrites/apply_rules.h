// How a target rewrites what it cannot run as it stands: a table of rules, still in core IR and
// still checked by evaluation.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ir/builder.h"

namespace layline::rewrites {

struct Rule {
  std::optional<Op> op;  // nothing for any op
  /// The value to use instead of the node's result; null if the rule does not apply.
  Value* (*rewrite)(const Builder& build, const Node& node);
  /// Whether it also applies to the op on quantised numbers.
  bool on_integers = false;
};

/// Rewrites every node that `refusal` has a reason against and that a rule applies to. The rules
/// are the table's and those for all ops: constants are computed, axes are merged if there are more
/// than `most_axes`, fused clamps are taken out. Returns whether anything changed.
bool apply_rules(Graph& graph, std::string (*refusal)(const Node& node),
                 std::span<const Rule> rules, size_t most_axes);

}  // namespace layline::rewrites
