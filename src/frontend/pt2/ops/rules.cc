#include "frontend/pt2/ops/rules.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace layline::pt2 {
namespace {

/// `scripts/aliases` compares this list with torch's own. Names that torch has under `special_`
/// too are not listed.
constexpr Alias kAliases[] = {
    {"aten.absolute", "aten.abs"},
    {"aten.arccos", "aten.acos"},
    {"aten.arccosh", "aten.acosh"},
    {"aten.arcsin", "aten.asin"},
    {"aten.arcsinh", "aten.asinh"},
    {"aten.arctan", "aten.atan"},
    {"aten.arctan2", "aten.atan2"},
    {"aten.arctanh", "aten.atanh"},
    {"aten.clip", "aten.clamp"},
    {"aten.concat", "aten.cat"},
    {"aten.concatenate", "aten.cat"},
    {"aten.divide", "aten.div"},
    {"aten.fix", "aten.trunc"},
    {"aten.ger", "aten.outer"},
    {"aten.greater", "aten.gt"},
    {"aten.greater_equal", "aten.ge"},
    {"aten.less", "aten.lt"},
    {"aten.less_equal", "aten.le"},
    {"aten.linalg_matmul", "aten.matmul"},
    {"aten.moveaxis", "aten.movedim"},
    {"aten.multiply", "aten.mul"},
    {"aten.negative", "aten.neg"},
    {"aten.not_equal", "aten.ne"},
    {"aten.row_stack", "aten.vstack"},
    {"aten.special_expit", "aten.sigmoid"},
    {"aten.subtract", "aten.sub"},
    {"aten.true_divide", "aten.div"},
};

/// The target under the name that has a rule: "aten.absolute.default" is "aten.abs.default", and
/// "aten.special_erf.default" is "aten.erf.default".
std::optional<std::string> without_alias(std::string_view target) {
  constexpr std::string_view kSpecial = "aten.special_";
  const size_t dot = std::min(target.rfind('.'), target.size());
  const std::string_view overload = target.substr(dot);
  const auto found = std::ranges::find(kAliases, target.substr(0, dot), &Alias::alias);
  if (found != std::end(kAliases)) return std::string(found->name) + std::string(overload);
  if (target.starts_with(kSpecial)) return "aten." + std::string(target.substr(kSpecial.size()));
  return std::nullopt;
}

}  // namespace

std::span<const Alias> all_aliases() { return kAliases; }

std::vector<OpRule> all_rules() {
  std::vector<OpRule> rules;
  for (auto table :
       {activation_rules, arithmetic_rules, attention_rules, cache_rules,     conv_rules,
        creation_rules,   diagonal_rules,   einsum_rules,    function_rules,  grid_rules,
        index_rules,      join_rules,       loss_rules,      norm_rules,      pad_rules,
        pool_rules,       product_rules,    quantise_rules,  recurrent_rules, reduction_rules,
        resize_rules,     scatter_rules,    sort_rules,      unfold_rules,    view_rules})
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
  if (found == index->end())
    if (const auto name = without_alias(target)) found = index->find(*name);
  return found == index->end() ? nullptr : &found->second;
}

}  // namespace layline::pt2
