// The core ops: a closed set, one row each in op_table.cc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "algebra/symbols.h"
#include "ir/attributes.h"
#include "ir/type.h"

namespace layline {

class Tensor;

enum class Op : uint8_t {
  constant,
  // Movement of data.
  relayout,
  expand,
  slice,
  counted_slice,  // a slice whose length is a number that the graph computes
  concat,
  pad,
  flip,
  roll,
  gather,            // whole slices, as index_select
  gather_elements,   // single elements, as torch.gather
  scatter,           // the data with whole slices replaced, as index_copy
  scatter_elements,  // the data with single elements replaced, as torch.scatter
  scatter_add,       // like scatter_elements, with the updates added
  // Elementwise, two operands, broadcasting.
  add,
  sub,
  mul,
  div,
  minimum,
  maximum,
  pow,
  floor_div,
  remainder,  // has the sign of the divisor
  fmod,       // has the sign of the dividend
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  left_shift,
  right_shift,  // keeps the sign
  atan2,
  prelu,
  // Elementwise, three operands: condition ? a : b.
  where,
  // Elementwise, one operand.
  abs,
  neg,
  exp,
  expm1,
  log,
  log1p,
  sqrt,
  rsqrt,
  reciprocal,
  sin,
  cos,
  atan,
  asin,
  acos,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  tanh,
  sigmoid,
  erf,
  floor,
  ceil,
  round,
  trunc,
  square,
  sign,
  logical_not,
  hardswish,
  gelu,
  elu,
  leaky_relu,
  clamp,
  convert,
  quantize,
  dequantize,
  reinterpret,  // the same integers, quantised otherwise or not at all
  quantize_by,  // with a scale and zero point that are tensors
  dequantize_by,
  // Contractions.
  linear,
  matmul,
  causal_attention,  // each query on the keys up to its own place
  conv,
  conv_transpose,
  // Windows and resampling, channels-last.
  max_pool,
  avg_pool,
  resize,
  grid_sample,
  // Ops along axes.
  reduce_sum,
  reduce_mean,
  reduce_max,
  reduce_min,
  reduce_prod,
  reduce_any,
  reduce_all,
  argmax,
  argmin,
  argsort,  // places of the elements, the greatest first
  softmax,
  log_softmax,
  cumsum,
  normalize,
  choose_scale,  // for quantize_by
  choose_zero_point,
  scan,  // a graph, once for each element of a sequence
};

constexpr int kOpCount = static_cast<int>(Op::scan) + 1;

/// How an op treats its operands, as far as passes need to know without asking for the op by name.
enum class OpClass : uint8_t {
  constant,
  movement,     // copies elements
  elementwise,  // result element i depends on element i of each (broadcast) operand
  contraction,
  window,
  axis,  // reduces or scans along axes
};

struct OpInfo {
  Op op;
  std::string_view name;
  OpClass op_class;
  int min_operands;
  int max_operands;  // -1: any number
  std::string_view operand_names;
  /// Index of the Attributes alternative that instances carry.
  size_t attributes;
  /// The result's type for operands that are not quantised: see infer below for all of them.
  TensorType (*infer)(std::span<const TensorType> operands, const Attributes& attributes,
                      SymbolTable& symbols);
  /// The reference evaluator: slow, obvious, the oracle of every pass. Takes what infer takes.
  Tensor (*evaluate)(std::span<const Tensor> operands, const Attributes& attributes,
                     const TensorType& result);
};

const OpInfo& info(Op op);
std::span<const OpInfo> all_ops();
std::optional<Op> parse_op(std::string_view name);
inline std::string_view name(Op op) { return info(op).name; }

/// The type of an op's result. Throws UserError, naming what does not fit, for operands that the op
/// does not take; the graph adds the node's name and source line. Sizes that follow from symbolic
/// ones are added to `symbols`, to which the operands' symbols belong.
///
/// Quantised operands: ops that move data keep their operand's quantisation; ops whose attributes
/// have a `quantisation` compute on real numbers and are quantised as it says; others take none.
TensorType infer(Op op, std::span<const TensorType> operands, const Attributes& attributes,
                 SymbolTable& symbols);

/// The row of each op in a table, by its member `op`; null for an op without one. The table has at
/// most one row for each op.
template <typename Row>
std::array<const Row*, kOpCount> rows_by_op(std::span<const Row> table) {
  std::array<const Row*, kOpCount> rows{};
  for (const Row& row : table) rows[static_cast<size_t>(row.op)] = &row;
  return rows;
}

inline bool is_elementwise(Op op) { return info(op).op_class == OpClass::elementwise; }

}  // namespace layline
