#include "frontend/pt2/ops/rules.h"

#include <unordered_map>

namespace layline::pt2 {

std::vector<OpRule> all_rules() {
  std::vector<OpRule> rules;
  for (auto table :
       {activation_rules, arithmetic_rules, attention_rules, cache_rules,     conv_rules,
        creation_rules,   diagonal_rules,   einsum_rules,    function_rules,  grid_rules,
        index_rules,      join_rules,       norm_rules,      pad_rules,       pool_rules,
        product_rules,    quantise_rules,   recurrent_rules, reduction_rules, resize_rules,
        scatter_rules,    sort_rules,       unfold_rules,    view_rules})
    rules.insert(rules.end(), table().begin(), table().end());
  return rules;
}

const OpRule* find_rule(std::string_view target) {
  static const auto* index = [] {
    auto* map = new std::unordered_map<std::string_view, OpRule>;
    for (const OpRule& rule : all_rules()) map->emplace(rule.target, rule);
    return map;
  }();
  auto found = index->find(target);
  return found == index->end() ? nullptr : &found->second;
}

}  // namespace layline::pt2
