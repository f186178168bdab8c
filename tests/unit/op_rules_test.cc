// What holds for every row of the tables of ATen ops.
#include "frontend/pt2/ops/rules.h"

#include <gtest/gtest.h>

#include <set>

namespace layline::pt2 {
namespace {

TEST(OpRules, EveryOverloadHasOneRow) {
  std::set<std::string_view> seen;
  for (const OpRule& rule : all_rules()) {
    EXPECT_TRUE(seen.insert(rule.target).second) << rule.target;
    EXPECT_EQ(find_rule(rule.target)->import, rule.import) << rule.target;
  }
  EXPECT_EQ(find_rule("aten.nosuch.default"), nullptr);
}

TEST(OpRules, AnAliasHasTheRuleOfItsName) {
  for (const Alias& alias : all_aliases()) {
    int overloads = 0;
    for (const OpRule& rule : all_rules()) {
      const size_t dot = rule.target.rfind('.');
      EXPECT_NE(rule.target.substr(0, dot), alias.alias);
      if (rule.target.substr(0, dot) != alias.name) continue;
      ++overloads;
      const std::string other = std::string(alias.alias) + std::string(rule.target.substr(dot));
      ASSERT_NE(find_rule(other), nullptr) << other;
      EXPECT_EQ(find_rule(other)->target, rule.target);
    }
    EXPECT_GT(overloads, 0) << alias.name;
    EXPECT_EQ(find_rule(std::string(alias.alias) + ".nosuch"), nullptr);
  }
  EXPECT_EQ(find_rule("aten.special_erf.default")->target, "aten.erf.default");
  EXPECT_EQ(find_rule("aten.special_nosuch.default"), nullptr);
  EXPECT_EQ(find_rule("special_erf"), nullptr);
  EXPECT_EQ(find_rule("absolute"), nullptr);
}

/// "aten.view_copy.default" is "aten.view.default" with memory of its own.
TEST(OpRules, ACopyIsAViewWithMemoryOfItsOwn) {
  int copies = 0;
  for (const OpRule& rule : all_rules()) {
    const size_t at = rule.target.find("_copy.");
    if (at == std::string_view::npos) continue;
    EXPECT_EQ(rule.memory, Memory::own) << rule.target;
    std::string view(rule.target);
    view.erase(at, std::string_view("_copy").size());
    if (const OpRule* viewed = find_rule(view)) {
      EXPECT_NE(viewed->memory, Memory::own) << view;
      ++copies;
    }
  }
  EXPECT_GE(copies, 10);
}

}  // namespace
}  // namespace layline::pt2
