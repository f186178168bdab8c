// What XNNPACK demands of a node, so far as it can be known before a graph is loaded.
#pragma once

#include <vector>

#include "targets/xnnpack/payload.h"

namespace layline::xnnpack {

/// The values that a node uses. Absent biases are left out.
struct Ports {
  std::vector<ValueId> inputs;
  std::vector<ValueId> weights;  ///< filter and bias: constants among them are packed at load
  std::vector<ValueId> outputs;
};

Ports ports_of(const PayloadNode& node);

/// Throw InternalError if the runtime would refuse the value or node.
void check_value(const PayloadValue& value);
void check_node(const Payload& graph, const PayloadNode& node);

}  // namespace layline::xnnpack
