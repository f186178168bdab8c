// What the rules of several families demand of their operands. Each check throws UserError saying
// what was expected and what was found.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/ops/op_rules.h"

namespace layline::rules {

/// The type of a result, whose size in bytes must fit 63 bits for the smallest symbols.
TensorType result_type(DType dtype, Shape shape);

void expect_float(const TensorType& x);
/// Expects floats or integers, not bool.
void expect_numeric(const TensorType& x);
void expect_same_dtype(Types operands);
void expect_rank(const TensorType& x, int64_t rank, std::string_view operand);
void expect_entries(const Ints& list, size_t count, std::string_view list_name);
void expect_at_least(const Ints& list, int64_t minimum, std::string_view list_name);
void expect_axis(int64_t axis, const TensorType& x);
/// Expects axes that are ascending, distinct and in range.
void expect_axes(const Ints& axes, const TensorType& x);
void expect_bounds(const Bounds& bounds);
/// The size as a number; symbolic sizes are not supported for `what`.
int64_t static_size(const Dim& dim, std::string_view what);

}  // namespace layline::rules
