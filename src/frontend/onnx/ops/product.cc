// Products of matrices.
#include "frontend/ops/products.h"

#include <string>

#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/einsum.h"
#include "frontend/ops/view.h"

namespace layline::onnx {
namespace {

void matmul(Call& call) {
  Value* a = call.input(0);
  call.result(ops::matmul(call, a, call.input(1)));
}

/// alpha * A B + beta * C, where A and B may be transposed, and C broadcasts.
void gemm(Call& call) {
  Value* a = call.input(0);
  Value* b = call.input(1);
  if (a->shape().size() != 2 || b->shape().size() != 2)
    call.fail("takes matrices, but has {} and {}", to_string(a->type()), to_string(b->type()));
  if (call.flag("transA", false)) a = ops::swap_axes(call, a, 0, 1);
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  Value* c = call.optional(2);
  // A bias for each column is part of a linear layer.
  if (alpha == 1 &&
      (c == nullptr || (beta == 1 && c->shape().size() == 1 &&
                        c->shape()[0] == b->shape()[call.flag("transB", false) ? 0 : 1]))) {
    Value* weight = call.flag("transB", false) ? b : ops::swap_axes(call, b, 0, 1);
    return call.result(ops::linear(call, a, weight, c));
  }
  if (call.flag("transB", false)) b = ops::swap_axes(call, b, 0, 1);
  Value* y = ops::times(call, ops::matmul(call, a, b), alpha);
  if (c != nullptr) y = call.add(Op::add, {y, ops::times(call, c, beta)});
  call.result(y);
}

void einsum(Call& call) {
  std::string equation;
  for (const char letter : call.string("equation", ""))
    if (letter != ' ') equation += letter;
  call.result(ops::einsum(call, equation, call.inputs()));
}

constexpr OpRule kRules[] = {
    {"MatMul", matmul},
    {"Gemm", gemm},
    {"Einsum", einsum},
};

}  // namespace

std::span<const OpRule> product_rules() { return kRules; }

}  // namespace layline::onnx
