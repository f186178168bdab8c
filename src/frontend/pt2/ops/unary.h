// Rules for functions of one tensor, `self`.
#pragma once

#include "frontend/pt2/promotion.h"

namespace layline::pt2 {

/// The rule of a core op, in the dtype of the result.
template <Op op>
void unary(Call& call) {
  call.result(call.add(op, {self_as_recorded(call)}));
}

/// A function of the op library, in the dtype of the result.
template <Value* (*function)(const Builder&, Value*)>
void of_one(Call& call) {
  call.result(function(call, self_as_recorded(call)));
}

/// A function of the op library, in the dtype of the operand.
template <Value* (*function)(const Builder&, Value*)>
void of_one_as_given(Call& call) {
  call.result(function(call, call.tensor("self")));
}

}  // namespace layline::pt2
