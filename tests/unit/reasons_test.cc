#include "report/reasons.h"

#include <gtest/gtest.h>

namespace layline {
namespace {

PictureNode node(std::string name, std::string op, std::string origin) {
  PictureNode made;
  made.name = std::move(name);
  made.op = std::move(op);
  made.origin = std::move(origin);
  return made;
}

TEST(Reasons, EachIsToldOnceAtItsValueOrAtTheFirstNodeOfItsOrigin) {
  const Picture picture = {"forward",
                           {node("a", "input", ""), node("a", "abs", "lstm"),
                            node("b", "abs", "lstm"), node("c", "abs", "")}};
  const std::vector<Reason> reasons = {{"p", "a", "lstm", "stays"},
                                       {"p", "b", "lstm", "is folded"},
                                       {"p", "gone", "lstm", "is dropped"},
                                       {"q", "b", "lstm", "stays"},
                                       {"q", "unknown", "", "is dropped"}};
  const auto told = reasons_at(picture, reasons);
  ASSERT_EQ(told.size(), 4u);
  EXPECT_TRUE(told[0].empty());
  EXPECT_EQ(told[1], (std::vector<const Reason*>{&reasons[0], &reasons[2]}));
  EXPECT_EQ(told[2], (std::vector<const Reason*>{&reasons[1], &reasons[3]}));
  EXPECT_TRUE(told[3].empty());
}

}  // namespace
}  // namespace layline
