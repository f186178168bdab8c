// TOSA's operators: for each core op, when a node can become TOSA operators, and which.
#pragma once

#include <string>

#include "ir/graph.h"
#include "targets/tosa/block_builder.h"

namespace layline::tosa {

/// MAX_RANK of TOSA's level 8K.
constexpr size_t kMostAxes = 6;

// Kinds of element types; 64-bit integers are INT32 (block_builder.h).
constexpr unsigned kFloat = 1, kInt32 = 2, kNarrow = 4, kBool = 8;
unsigned kind(DType dtype);

struct Kernel {
  Op op;
  /// Element types that the operator takes: a set of kinds.
  unsigned types;
  /// Why TOSA cannot express this node; empty if it can.
  std::string (*refuse)(const Node& node);
  void (*emit)(BlockBuilder& block, const Node& node);
};

/// Null if TOSA has nothing for the op.
const Kernel* find_kernel(Op op);

/// Why TOSA cannot express the node, or hold the value; empty if it can.
std::string refusal(const Node& node);
std::string refusal(const Value* value);

// Why TOSA does not have such windows, matrices, or operands of different rank, whatever the dtype.
std::string refuse_conv_windows(const Node& node);
std::string refuse_transposed_windows(const Node& node);
std::string refuse_pool_windows(const Node& node);
std::string refuse_matrices(const Node& node);
std::string refuse_ranks(const Node& node);

// How nodes are emitted, by family (emit_*.cc).
void emit_relayout(BlockBuilder& block, const Node& node);
void emit_expand(BlockBuilder& block, const Node& node);
void emit_slice(BlockBuilder& block, const Node& node);
void emit_concat(BlockBuilder& block, const Node& node);
void emit_pad(BlockBuilder& block, const Node& node);
/// Emits a pad with another number for `value`: the integer that stands for it.
void emit_pad_with(BlockBuilder& block, const Node& node, double value);
void emit_flip(BlockBuilder& block, const Node& node);
void emit_gather(BlockBuilder& block, const Node& node);
void emit_gather_elements(BlockBuilder& block, const Node& node);
void emit_scatter_elements(BlockBuilder& block, const Node& node);
void emit_linear(BlockBuilder& block, const Node& node);
void emit_matmul(BlockBuilder& block, const Node& node);
void emit_conv(BlockBuilder& block, const Node& node);
void emit_conv_transpose(BlockBuilder& block, const Node& node);
void emit_max_pool(BlockBuilder& block, const Node& node);
void emit_avg_pool(BlockBuilder& block, const Node& node);
void emit_resize(BlockBuilder& block, const Node& node);
fb::ResizeAttributeT resize_attribute(const Node& node);
/// The operands of the node's RESIZE of an image, which may be of integers.
std::vector<std::string> resize_operands(BlockBuilder& block, const Node& node,
                                         const std::string& image);
void emit_argmax(BlockBuilder& block, const Node& node);
void emit_negation(BlockBuilder& block, const Node& node);
void emit_clamp(BlockBuilder& block, const Node& node);
void emit_convert(BlockBuilder& block, const Node& node);
void emit_not_equal(BlockBuilder& block, const Node& node);
void emit_integer_floor_div(BlockBuilder& block, const Node& node);

}  // namespace layline::tosa
