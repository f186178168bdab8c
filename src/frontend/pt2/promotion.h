// torch's rules for the dtype of an operation on operands of different dtypes.
#pragma once

#include <optional>
#include <vector>

#include "frontend/pt2/call.h"

namespace layline::pt2 {

/// An operand of an elementwise op: a tensor, or a number in the text of the model. A number that
/// is known only when the model runs is a tensor without axes.
struct Operand {
  Value* tensor = nullptr;
  Scalar scalar;
};

/// The tensor or number given as `argument`.
Operand operand(const Call& call, std::string_view argument);

/// The common dtype of the operands: a tensor with axes outranks one without, which outranks a
/// number, unless the latter is of a higher category (bool < integer < float).
DType promote(const std::vector<Operand>& operands);

/// The operand as a value of dtype `to`; a number becomes a rank-0 constant.
Value* as(const Call& call, const Operand& operand, DType to);

/// The tensor or number given as `argument`, in the dtype that the model records for the result.
Value* as_recorded(const Call& call, std::string_view argument);
/// The tensor given as `self`, in that dtype: sqrt of integers computes in floats.
Value* self_as_recorded(const Call& call);

}  // namespace layline::pt2
