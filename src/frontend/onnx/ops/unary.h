// Rules for functions of one tensor.
#pragma once

#include "frontend/onnx/call.h"

namespace layline::onnx {

/// The rule of a core op.
template <Op op>
void unary(Call& call) {
  call.result(call.add(op, {call.input(0)}));
}

/// A function of the op library.
template <Value* (*function)(const Builder&, Value*)>
void of_one(Call& call) {
  call.result(function(call, call.input(0)));
}

}  // namespace layline::onnx
