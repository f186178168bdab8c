// The loop nest of an op after one of its tensors has been moved: the digits of its variables, in
// the order in which the moved tensor has them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "layout/digits.h"
#include "layout/signature.h"

namespace layline {

struct Loops {
  const Node& node;
  const Signature& signature;  // of the node
  Dims size;                   // for each digit, in the moved port
  Few<VariableId> variable;    // for each digit, the one that it belongs to
  DigitLists of_variable;      // the digits of each variable, outermost first
  DigitLists dims;             // the new order; an empty one is a dim of size 1

  Dim product(std::span<const Digit> digits) const;
  /// The digits of all dims in sequence. A variable that the moved port lacks has its digits in no
  /// dim, unless it is shared.
  DigitList sequence() const;

  /// The relayout of a port's tensor to dims made of the given digits. Digits that the tensor lacks
  /// are left out. Along an ordered variable tensors differ in length: the difference is in the
  /// outermost digit. Nullopt if a dim would be left in part, or a length does not divide.
  std::optional<Relayout> relayout(int port, const DigitLists& target) const;
};

/// The op works along the variable, or another tensor has it: it must be somewhere in the nest.
bool needs_digit(const Variable& variable);

/// Digits of the two variables may share a dim: whatever the op does, and whichever of its tensors
/// has them, is the same for both.
bool alike(const Node& node, const Signature& signature, VariableId a, VariableId b);

/// How far a loop nest follows the relayout that made it.
enum class Grouping {
  dims,      // the dims of the nest are those of the relayout's target
  movement,  // only the movement counts: dims are as few as the op's other tensors allow
};

/// The loop nest after `relayout` of a port. A shared variable along which the port has size 1
/// takes the place of its unit dim if the relayout's target has as many unit dims as the port.
/// Otherwise it follows the axis before it. Nullopt where sizes do not divide.
std::optional<Loops> make_loops(const Node& node, const Signature& signature, int port,
                                const Relayout& relayout, Grouping grouping);

}  // namespace layline
