#include "compiler/targets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace layline {
namespace {

std::string refusal_of(const Target& target, const TargetOptions& options) {
  try {
    target.rules(options);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

TEST(Targets, NamesAndOptionsAreToldApart) {
  std::set<std::string_view> names, options;
  for (const Target* target : all_targets()) {
    EXPECT_TRUE(names.insert(target->name).second) << target->name;
    EXPECT_EQ(&find_target(target->name), target);
    for (const TargetOption& option : target->options)
      EXPECT_TRUE(options.insert(option.name).second) << option.name;
  }
}

TEST(Targets, AnotherNameIsRefusedWithTheListOfAll) {
  try {
    find_target("other");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(), std::string("there is no target `other`; there are xnnpack and tosa"));
  }
}

TEST(Targets, WhatOnlyAnotherTakesIsRefusedByName) {
  for (const Target* target : all_targets()) {
    EXPECT_EQ(refusal_of(*target, {}), "") << target->name;
    for (const Target* other : all_targets()) {
      if (other == target) continue;
      for (const TargetOption& option : other->options) {
        TargetOptions options;
        options.*option.member = "something";
        const std::string why = refusal_of(*target, options);
        EXPECT_TRUE(why.starts_with(std::string(option.name) + " something: ")) << why;
      }
    }
  }
}

TEST(Targets, DelegatesCanBeDisabledWhereThereAreAny) {
  for (const Target* target : all_targets()) {
    const std::string why = refusal_of(*target, {.delegate = false});
    EXPECT_EQ(why.empty(), !target->delegates.empty()) << target->name;
    EXPECT_TRUE(why.empty() || why.starts_with("--disable delegate: ")) << why;
  }
}

}  // namespace
}  // namespace layline
