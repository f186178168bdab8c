// Quantised nodes in TOSA's integer operators: exact integer arithmetic, and RESCALE where numbers
// change what they stand for.
#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"
#include "targets/tosa/block_builder.h"

namespace layline::tosa {

/// A scale as RESCALE multiplies by it: x * multiplier / 2^shift, rounded once.
struct Multiplier {
  int32_t multiplier;
  int8_t shift;
};
/// The nearest one; nothing for a scale that is not in (2^-32, 2^29).
std::optional<Multiplier> multiplier_of(double scale);

/// Why TOSA cannot express this quantised node on integers; empty if it can.
std::string refuse_quantised(const Node& node);
void emit_quantised(BlockBuilder& block, const Node& node);

/// How an input or output of real numbers crosses the boundary of the program as integers: what
/// quantises an input at once, and what dequantises an output last, is left to the caller.
QuantisationRef quantised_input(const Value* value);
QuantisationRef quantised_output(const Value* value);

/// A quantize of a function of one quantised value, element by element: a table of the function.
struct Lookup {
  const Value* source;
  Constant table;  // of the function, for each integer from the least on
};
std::optional<Lookup> find_lookup(const Node& quantize);

}  // namespace layline::tosa
