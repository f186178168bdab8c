// Models are told apart by their first bytes, then by their names.
#include "compiler/front_ends.h"

#include <gtest/gtest.h>

#include <set>

#include "../zip_writer.h"
#include "base/error.h"

namespace layline {
namespace {

std::string refusal(std::string_view contents) {
  const TemporaryFile file(contents);
  try {
    (void)import_model(MappedFile::open(file.path()));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string_view> recognised_by(std::string_view bytes) {
  std::vector<std::string_view> names;
  for (const FrontEnd& front_end : front_ends())
    if (front_end.recognises(bytes)) names.push_back(front_end.name);
  return names;
}

using Names = std::vector<std::string_view>;

TEST(FrontEnds, AreToldApartByTheirFirstBytes) {
  EXPECT_EQ(recognised_by("PK\x03\x04"), Names{"pt2"});
  EXPECT_EQ(recognised_by("graph \"g\" {}"), Names{"text"});
  EXPECT_EQ(recognised_by("\n // graphs\n\t//\n graph \"g\" {}"), Names{"text"});
  EXPECT_EQ(recognised_by("// graph"), Names{});
  EXPECT_EQ(recognised_by(""), Names{});
  EXPECT_EQ(recognised_by("nothing"), Names{});
}

TEST(FrontEnds, HaveNamesAndExtensionsOfTheirOwn) {
  std::set<std::string_view> seen;
  for (const FrontEnd& front_end : front_ends()) {
    EXPECT_TRUE(seen.insert(front_end.name).second) << front_end.name;
    for (const std::string_view extension : front_end.extensions) {
      EXPECT_TRUE(extension.starts_with('.')) << extension;
      EXPECT_TRUE(seen.insert(extension).second) << extension;
    }
  }
}

TEST(FrontEnds, TextIsRead) {
  const TemporaryFile file("// A model.\ngraph \"g\" { input \"x\" %x : f32[2] output \"y\" %x }");
  const LoadedModel model = import_model(MappedFile::open(file.path()));
  ASSERT_EQ(model.methods.size(), 1u);
  EXPECT_EQ(model.methods[0].name(), "g");
  EXPECT_EQ(model.permutes, 0);
}

TEST(FrontEnds, WhatIsCompiledAlreadyIsSaidToBe) {
  using namespace std::string_view_literals;
  EXPECT_NE(refusal("\x1c\0\0\0ET12\0\0\0\0"sv).find("is a compiled program already"),
            std::string::npos);
  EXPECT_NE(refusal("\x1c\0\0\0TOSA\0\0\0\0"sv).find("is a compiled TOSA program"),
            std::string::npos);
}

TEST(FrontEnds, WhatNobodyRecognisesIsReadAsText) {
  EXPECT_NE(refusal("nothing").find("expected 'graph'"), std::string::npos) << refusal("nothing");
  EXPECT_NE(refusal("// graph").find("expected 'graph'"), std::string::npos);
}

}  // namespace
}  // namespace layline
