// Functions of one quantised value, element by element, as tables.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace layline::tosa {

/// A quantize of a function of one quantised value: TABLE has it for every integer of 8 bits, and
/// of 16 bits for every 128th, with straight lines between them.
struct Lookup {
  const Value* source;
  /// Nothing where the function is the number itself, in another scale: RESCALE is exact.
  std::optional<Constant> table;
  /// What the result of TABLE (of RESCALE) is to be multiplied with to be an integer of the result.
  double scale = 1;
};
std::optional<Lookup> find_lookup(const Node& quantize);

}  // namespace layline::tosa
