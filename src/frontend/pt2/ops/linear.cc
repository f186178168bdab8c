// Products of matrices.
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

void linear(Call& call) {
  std::vector<Value*> operands = {call.tensor("input"), call.tensor("weight")};
  if (operands[1]->shape().size() == 1)
    operands[1] = call.view(operands[1], {1, operands[1]->shape()[0]});
  if (Value* bias = call.optional_tensor("bias"))
    operands.push_back(bias->shape().empty() ? call.view(bias, {1}) : bias);
  Value* x = operands[0];
  if (x->shape().size() == 1) operands[0] = call.view(x, {1, x->shape()[0]});
  call.result(
      call.view(call.add(Op::linear, std::move(operands), LinearAttrs{}), call.recorded().shape));
}

/// torch.matmul: vectors are matrices with one row (left) or one column (right).
void matmul(Call& call, std::string_view left, std::string_view right) {
  Value* a = call.tensor(left);
  Value* b = call.tensor(right);
  if (a->shape().empty() || b->shape().empty()) call.fail("takes no 0-d tensors");
  if (a->shape().size() == 1) a = call.view(a, {1, a->shape()[0]});
  if (b->shape().size() == 1) b = call.view(b, {b->shape()[0], 1});
  call.result(call.view(call.add(Op::matmul, {a, b}, MatmulAttrs{}), call.recorded().shape));
}

/// beta * self + alpha * (a @ b)
void add_product(Call& call, std::string_view left, std::string_view right) {
  Value* self = call.tensor("self");
  Value* a = call.tensor(left);
  Value* b = call.tensor(right);
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  auto times = [&](Value* x, double factor) {
    return factor == 1 ? x : call.add(Op::mul, {x, call.scalar(x->dtype(), factor)});
  };
  Value* y = times(call.add(Op::matmul, {a, b}, MatmulAttrs{}), alpha);
  call.result(beta == 0 ? y : call.add(Op::add, {y, times(self, beta)}));
}

constexpr OpRule kRules[] = {
    {"aten.linear.default", linear},
    {"aten.mm.default", [](Call& call) { matmul(call, "self", "mat2"); }},
    {"aten.bmm.default", [](Call& call) { matmul(call, "self", "mat2"); }},
    {"aten.mv.default", [](Call& call) { matmul(call, "self", "vec"); }},
    {"aten.dot.default", [](Call& call) { matmul(call, "self", "tensor"); }},
    {"aten.matmul.default", [](Call& call) { matmul(call, "self", "other"); }},
    {"aten.addmm.default", [](Call& call) { add_product(call, "mat1", "mat2"); }},
    {"aten.baddbmm.default", [](Call& call) { add_product(call, "batch1", "batch2"); }},
};

}  // namespace

std::span<const OpRule> linear_rules() { return kRules; }

}  // namespace layline::pt2
