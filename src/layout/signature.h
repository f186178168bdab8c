// Axis signatures: an op instance as a loop nest. Every dim of every operand and of the result is
// bound to index variables, whose roles say what may be done to them (docs/layout.md,
// "Signatures").
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace layline {

enum class Role : uint8_t {
  parallel,  // one result element for each value: may be split, moved and merged freely
  reduced,   // summed, or otherwise combined, over: pieces may be moved among themselves
  set,       // read and written as a whole, symmetrically: softmax, norms
  ordered,   // the order along it matters: windows, concat, slice, pad, scans
};

/// The number of a variable in its signature.
using VariableId = uint32_t;

struct Variable {
  Role role;
  /// How many values it has. Tensors may be longer or shorter along an ordered variable.
  Dim size;
};

/// What a dim counts: one variable, or several, the outermost first (a grouped convolution's
/// channels are groups and the channels of a group).
struct BoundDim {
  Few<VariableId, 4> variables;
  /// The dim has size 1 whatever size the variable has: it is repeated, or a reduction left it.
  bool broadcast = false;
  bool operator==(const BoundDim&) const = default;
};
using Binding = Few<BoundDim, 6>;

/// The ports of a node are its operands, by number, and its result.
constexpr int kResultPort = -1;
inline const Shape& port_shape(const Node& node, int port) {
  return port == kResultPort ? node.result()->shape() : node.operand(port)->shape();
}

struct Signature {
  std::vector<Variable> variables;
  std::vector<Binding> operands;
  Binding result;
  /// How many variables, the first ones, are axes that all tensors share. Each tensor has them as
  /// its first dims, in this sequence; only the outermost ones may be missing (broadcasting).
  size_t shared = 0;

  const Binding& port(int number) const {
    return number == kResultPort ? result : operands[static_cast<size_t>(number)];
  }
};

/// The law: an element of the result depends on those elements of the operands that have the same
/// value of each parallel variable, and on their order only along ordered variables. Never fails:
/// every core op has a signature.
///
///   linear of x [8,192] and weight [64,192]: r = 8 parallel, k = 192 reduced, n = 64 parallel;
///   x [r,k], weight [n,k], result [r,n]
Signature signature(const Node& node);

}  // namespace layline
