#include "pte/io_names.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace layline::pte {
namespace {

TEST(IoNames, TheDocumentIsAsDescribed) {
  EXPECT_EQ(write_io_names({{"forward", {"x"}, {"y", "aux"}}}),
            R"({"version":1,"compiler":"layline )" LAYLINE_VERSION
            R"(","methods":{"forward":{"inputs":["x"],"outputs":["y","aux"]}}})");
}

TEST(IoNames, ReadsWhatItWrites) {
  const std::vector<MethodIoNames> methods = {
      {"forward", {"x", "größe", "a b'c"}, {"y"}}, {"encode", {}, {}}, {"quote\"\\\n", {"x"}, {}}};
  EXPECT_EQ(read_io_names(write_io_names(methods)), methods);
}

TEST(IoNames, RefusesDamagedDocuments) {
  const char* const documents[] = {
      "",
      "{",
      "[]",
      "{}",
      R"({"version":2,"methods":{}})",
      R"({"version":"1","methods":{}})",
      R"({"version":1})",
      R"({"version":1,"methods":[]})",
      R"({"version":1,"methods":{"f":1}})",
      R"({"version":1,"methods":{"f":{"inputs":[]}}})",
      R"({"version":1,"methods":{"f":{"inputs":[1],"outputs":[]}}})",
      R"({"version":1,"methods":{"f":{"inputs":["x","x"],"outputs":[]}}})",
      R"({"version":1,"methods":{"f":{"inputs":[],"outputs":["../../etc/passwd"]}}})",
      R"({"version":1,"methods":{"f":{"inputs":[],"outputs":[".."]}}})",
      R"({"version":1,"methods":{"f":{"inputs":[],"outputs":["a\u0000b"]}}})",
      "{\"version\":1,\"methods\":{\"f\":{\"inputs\":[],\"outputs\":[\"\xff\"]}}}",
  };
  for (const char* const document : documents) {
    EXPECT_THROW(read_io_names(document), UserError) << document;
  }
}

TEST(IoNames, SafeNamesAreFileNames) {
  EXPECT_TRUE(is_safe_io_name("x"));
  EXPECT_TRUE(is_safe_io_name("layer1.0.out"));
  EXPECT_TRUE(is_safe_io_name(std::string(200, 'x')));
  for (const std::string name : {"", ".", "..", ".x", "a/b", "a\\b", "a\nb", "a:b", "\xc3"}) {
    EXPECT_FALSE(is_safe_io_name(name)) << name;
  }
  EXPECT_FALSE(is_safe_io_name(std::string(201, 'x')));
}

TEST(IoNames, MakesNamesSafeAndUnique) {
  EXPECT_EQ(make_io_names({"x", "x", "x_1", "x"}),
            (std::vector<std::string>{"x", "x_2", "x_1", "x_3"}));
  EXPECT_EQ(make_io_names({"a/b", "a:b", "", ".."}),
            (std::vector<std::string>{"a_b", "a_b_1", "_", "_."}));
}

TEST(IoNames, OneNameForManyIsNoWork) {
  // Quadratic, this would take minutes.
  const std::vector<std::string> names = make_io_names(std::vector<std::string>(100'000, "x"));
  EXPECT_EQ(names.back(), "x_99999");
}

TEST(IoNames, CutsLongNamesBetweenCharacters) {
  std::string umlauts;
  for (int i = 0; i < 150; ++i) umlauts += "ü";
  const std::vector<std::string> names = make_io_names({"x" + umlauts, "x" + umlauts});
  EXPECT_TRUE(is_safe_io_name(names[0]));
  EXPECT_TRUE(is_safe_io_name(names[1]));
  EXPECT_NE(names[0], names[1]);
}

RC_GTEST_PROP(IoNames, AnyWishesBecomeValidNames, (std::vector<std::string> wanted)) {
  const std::vector<std::string> names = make_io_names(wanted);
  RC_ASSERT(names.size() == wanted.size());
  RC_ASSERT(std::all_of(names.begin(), names.end(), [](auto& n) { return is_safe_io_name(n); }));
  RC_ASSERT(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  RC_ASSERT(make_io_names(names) == names);
  const std::vector<MethodIoNames> methods = {{"forward", names, {}}};
  RC_ASSERT(read_io_names(write_io_names(methods)) == methods);
}

}  // namespace
}  // namespace layline::pte
