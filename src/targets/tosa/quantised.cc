#include "targets/tosa/quantised.h"

#include "base/error.h"
#include "targets/tosa/integer_kernels.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/rescale.h"

namespace layline::tosa {
namespace {

std::string accept(const Node&) { return {}; }

void forward(BlockBuilder& block, const Node& node) { block.forward(node); }

/// One row for each op that computes on quantised numbers. Ops that move them are those of any
/// integers (kernels.cc).
struct IntegerKernel {
  Op op;
  std::string (*refuse)(const Node& node);
  void (*emit)(BlockBuilder& block, const Node& node);
};

constexpr IntegerKernel kKernels[] = {
    {Op::conv, refuse_integer_conv, emit_integer_conv},
    {Op::conv_transpose, refuse_integer_conv_transpose, emit_integer_conv_transpose},
    {Op::linear, refuse_integer_linear, emit_integer_linear},
    {Op::matmul, refuse_integer_matmul, emit_integer_matmul},
    {Op::add, refuse_integer_sum, emit_integer_add},
    {Op::sub, refuse_integer_sum, emit_integer_sub},
    {Op::mul, refuse_integer_product, emit_integer_mul},
    {Op::reduce_mean, refuse_integer_reduction, emit_integer_reduction},
    {Op::reduce_sum, refuse_integer_reduction, emit_integer_reduction},
    {Op::reduce_max, refuse_integer_extremum, emit_integer_max},
    {Op::reduce_min, refuse_integer_extremum, emit_integer_min},
    {Op::avg_pool, refuse_integer_avg_pool, emit_integer_avg_pool},
    {Op::max_pool, refuse_integer_max_pool, emit_integer_max_pool},
    {Op::clamp, refuse_integer_clamp, emit_integer_clamp},
    {Op::quantize, refuse_quantize, emit_quantize},
    {Op::dequantize, refuse_dequantize, emit_dequantize},
    {Op::reinterpret, accept, forward},
};

const IntegerKernel* find_integer_kernel(Op op) {
  static const auto rows = rows_by_op<IntegerKernel>(kKernels);
  return rows[static_cast<size_t>(op)];
}

}  // namespace

QuantisationRef quantised_input(const Value* value) {
  if (value->def() != nullptr || value->output_uses() > 0 || value->uses().empty()) return {};
  const QuantisationRef& first = value->uses()[0].user->result()->type().quantisation;
  for (const Use& use : value->uses())
    if (!use.user->is(Op::quantize) || use.user->result()->type().quantisation != first) return {};
  return is_activation(value->uses()[0].user->result()) ? first : QuantisationRef{};
}

QuantisationRef quantised_output(const Value* value) {
  const Node* def = value->def();
  if (def == nullptr || !def->is(Op::dequantize) || !is_activation(def->operand(0))) return {};
  return def->operand(0)->type().quantisation;
}

std::string refuse_quantised(const Node& node) {
  if (info(node.op()).op_class == OpClass::movement) {
    const Kernel* kernel = find_kernel(node.op());
    return kernel ? kernel->refuse(node) : "TOSA does not move integers so";
  }
  const IntegerKernel* kernel = find_integer_kernel(node.op());
  return kernel ? kernel->refuse(node) : fmt::format("TOSA has no quantised {}", name(node.op()));
}

void emit_quantised(BlockBuilder& block, const Node& node) {
  if (node.is(Op::pad)) return emit_integer_pad(block, node);
  if (info(node.op()).op_class == OpClass::movement)
    return find_kernel(node.op())->emit(block, node);
  find_integer_kernel(node.op())->emit(block, node);
}

}  // namespace layline::tosa
