// Quantised nodes in TOSA's integer operators: exact integer arithmetic, and RESCALE where numbers
// change what they stand for.
#pragma once

#include <string>

#include "ir/graph.h"
#include "targets/tosa/block_builder.h"

namespace layline::tosa {

/// Why TOSA cannot express this quantised node on integers; empty if it can.
std::string refuse_quantised(const Node& node);
void emit_quantised(BlockBuilder& block, const Node& node);

/// How an input or output of real numbers crosses the boundary of the program as integers. The
/// caller does the quantize that follows an input at once, and the dequantize that an output ends
/// with.
QuantisationRef quantised_input(const Value* value);
QuantisationRef quantised_output(const Value* value);

}  // namespace layline::tosa
