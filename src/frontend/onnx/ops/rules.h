// What each op of ONNX becomes: tables of rules, one table for each family of ops.
//
// A rule reads the inputs and attributes of its op and calls the op library (frontend/ops), which
// knows what the op means. The comments name the op; https://onnx.ai/onnx/operators defines it.
#pragma once

#include <span>
#include <vector>

#include "frontend/onnx/call.h"

namespace layline::onnx {

/// One row for each op. Those of other domains than ai.onnx have the domain before their name:
/// "com.microsoft.FusedConv".
struct OpRule {
  std::string_view op;
  void (*import)(Call& call);
};

const OpRule* find_rule(std::string_view op);
/// All rows, for the op support table of the documentation.
std::vector<OpRule> all_rules();

std::span<const OpRule> activation_rules();
std::span<const OpRule> arithmetic_rules();
std::span<const OpRule> attention_rules();
std::span<const OpRule> control_rules();
std::span<const OpRule> conv_rules();
std::span<const OpRule> fused_rules();
std::span<const OpRule> geometry_rules();
std::span<const OpRule> index_rules();
std::span<const OpRule> join_rules();
std::span<const OpRule> language_rules();
std::span<const OpRule> loss_rules();
std::span<const OpRule> norm_rules();
std::span<const OpRule> pad_rules();
std::span<const OpRule> pool_rules();
std::span<const OpRule> product_rules();
std::span<const OpRule> quantise_rules();
std::span<const OpRule> recurrent_rules();
std::span<const OpRule> reduction_rules();
std::span<const OpRule> resize_rules();
std::span<const OpRule> shape_rules();
std::span<const OpRule> signal_rules();
std::span<const OpRule> sort_rules();
std::span<const OpRule> view_rules();

}  // namespace layline::onnx
