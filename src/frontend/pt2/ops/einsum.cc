#include "frontend/ops/einsum.h"

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

void einsum(Call& call) {
  const std::vector<Value*> operands = call.tensors("tensors");
  call.result(ops::einsum(call, call.string("equation", ""), operands));
}

constexpr OpRule kRules[] = {
    {"aten.einsum.default", einsum},
};

}  // namespace

std::span<const OpRule> einsum_rules() { return kRules; }

}  // namespace layline::pt2
