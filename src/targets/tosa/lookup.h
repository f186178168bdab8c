// Functions of one quantised value, element by element, as tables.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "targets/tosa/long_table.h"

namespace layline::tosa {

/// A quantize of a function of one quantised value. TABLE has the function for every integer of 8
/// bits, and of 16 bits as long_table.h says. If the function is the number itself in another
/// scale, nothing is looked up: RESCALE is exact.
struct Lookup {
  const Value* source;
  std::optional<Constant> table;   // for 8 bits
  std::vector<TableLevel> levels;  // for 16 bits
  double scale = 1;                // the factor that RESCALE multiplies by
  /// For 1/√x, the product of x and the result's square, which is the same for all x, in units of
  /// both; 0 for other functions.
  double root_product = 0;
};
std::optional<Lookup> find_lookup(const Node& quantize);

}  // namespace layline::tosa
