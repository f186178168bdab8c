// RESCALE, which changes what integers stand for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"
#include "targets/tosa/block_builder.h"

namespace layline::tosa {

/// A scale as RESCALE multiplies by it: x * multiplier / 2^shift, rounded once.
struct Multiplier {
  int32_t multiplier;
  int8_t shift;
};
/// The multiplier nearest to a scale; nothing for a scale that is not in (2^-32, 2^29).
std::optional<Multiplier> multiplier_of(double scale);
bool has_multipliers(const std::vector<double>& scales);

/// What a RESCALE is told: integers of a dtype, and which of them stands for 0.
struct Integers {
  DType dtype;
  int32_t zero_point;
};
Integers integers_of(const Value* value);
/// The integers of sums and products.
constexpr Integers kSums = {DType::i32, 0};

const Quantisation& quantisation(const Value* value);
double scale(const Value* value);
/// Whether the tensor has one scale, and 8 bits, or 16 bits around 0.
bool is_activation(const Value* value);
/// Whether all operands and the result are activations.
bool are_activations(const Node& node);
/// Whether integers of the operand stand for the same numbers in the result.
bool keeps_scale(const Node& node);

// Reasons against computing on integers.
constexpr std::string_view kScales = "the scales differ too much for RESCALE";
constexpr std::string_view kIntegers = "quantised numbers are of i8, or of i16 around 0";

template <typename T>
Constant list(DType dtype, const std::vector<T>& values) {
  layline::Tensor tensor({dtype, {Dim(static_cast<int64_t>(values.size()))}});
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set_int(static_cast<int64_t>(i), static_cast<int64_t>(values[i]));
  return Constant::of(tensor);
}

std::string rescaled(BlockBuilder& block, const Node& node, const std::string& x, Integers from,
                     Integers to, double scale, const Shape& shape);
/// Sums of 48 bits divided by 2^bits, in 32 bits, in which they must fit.
std::string narrowed_sums(BlockBuilder& block, const Node& node, const std::string& sums, int bits,
                          const Shape& shape);
/// Emits the node's result from integers of other scales, one for all or one for each index of the
/// last axis, and its clamp if that does anything.
void rescale_to_result(BlockBuilder& block, const Node& node, const std::string& x, Integers from,
                       const std::vector<double>& scales, const Shape& shape);
/// Emits the node's result from integers of its own scale, within its bounds.
void clamp_to_result(BlockBuilder& block, const Node& node, const std::string& x);

}  // namespace layline::tosa
