#include "frontend/onnx/ops/rules.h"

#include <unordered_map>

namespace layline::onnx {

std::vector<OpRule> all_rules() {
  std::vector<OpRule> rules;
  for (auto table :
       {activation_rules, arithmetic_rules, attention_rules, control_rules, conv_rules,
        fused_rules,      geometry_rules,   index_rules,     join_rules,    language_rules,
        loss_rules,       norm_rules,       pad_rules,       pool_rules,    product_rules,
        quantise_rules,   recurrent_rules,  reduction_rules, resize_rules,  shape_rules,
        signal_rules,     sort_rules,       view_rules})
    rules.insert(rules.end(), table().begin(), table().end());
  return rules;
}

const OpRule* find_rule(std::string_view op) {
  static const auto* index = [] {
    auto* map = new std::unordered_map<std::string_view, OpRule>;
    for (const OpRule& rule : all_rules()) map->emplace(rule.op, rule);
    return map;
  }();
  auto found = index->find(op);
  return found == index->end() ? nullptr : &found->second;
}

}  // namespace layline::onnx
