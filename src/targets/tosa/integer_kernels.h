// How ops on quantised numbers become TOSA's integer operators: for each, why it cannot (empty if
// it can), and what is emitted. quantised.cc has the table.
#pragma once

#include <string>

#include "ir/graph.h"
#include "targets/tosa/block_builder.h"

namespace layline::tosa {

// emit_integer_contractions.cc
std::string refuse_integer_conv(const Node& node);
std::string refuse_integer_conv_transpose(const Node& node);
std::string refuse_integer_linear(const Node& node);
std::string refuse_integer_matmul(const Node& node);
void emit_integer_conv(BlockBuilder& block, const Node& node);
void emit_integer_conv_transpose(BlockBuilder& block, const Node& node);
void emit_integer_linear(BlockBuilder& block, const Node& node);
void emit_integer_matmul(BlockBuilder& block, const Node& node);

// emit_integer_arithmetic.cc
std::string refuse_integer_sum(const Node& node);
std::string refuse_integer_product(const Node& node);
std::string refuse_integer_reduction(const Node& node);
std::string refuse_integer_extremum(const Node& node);
std::string refuse_integer_clamp(const Node& node);
void emit_integer_add(BlockBuilder& block, const Node& node);
void emit_integer_sub(BlockBuilder& block, const Node& node);
void emit_integer_mul(BlockBuilder& block, const Node& node);
void emit_integer_reduction(BlockBuilder& block, const Node& node);
void emit_integer_max(BlockBuilder& block, const Node& node);
void emit_integer_min(BlockBuilder& block, const Node& node);
void emit_integer_clamp(BlockBuilder& block, const Node& node);
void emit_integer_pad(BlockBuilder& block, const Node& node);

// emit_integer_pools.cc
std::string refuse_integer_avg_pool(const Node& node);
std::string refuse_integer_max_pool(const Node& node);
void emit_integer_avg_pool(BlockBuilder& block, const Node& node);
void emit_integer_max_pool(BlockBuilder& block, const Node& node);

// emit_integer_resize.cc
/// The quantised image that a quantize rounds a resized copy of; null if it does not, or if TOSA
/// cannot resize it on integers.
const Value* resized_image(const Node& quantize);
void emit_integer_resize(BlockBuilder& block, const Node& quantize);

// emit_rounding.cc: between real numbers and integers, and functions as tables.
std::string refuse_quantize(const Node& node);
std::string refuse_dequantize(const Node& node);
void emit_quantize(BlockBuilder& block, const Node& node);
void emit_dequantize(BlockBuilder& block, const Node& node);

}  // namespace layline::tosa
