#include "pte/io_names.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "layline/version.h"

namespace layline::pte {
namespace {

TEST(IoNames, TheDocumentIsAsDescribed) {
  EXPECT_EQ(write_io_names({{"forward", {"x"}, {"y", "aux"}}}),
            R"({"version":1,"compiler":"layline )" LAYLINE_VERSION
            R"(","methods":{"forward":{"inputs":["x"],"outputs":["y","aux"]}}})");
}

TEST(IoNames, OnlyControlCharactersAreEscaped) {
  const std::string text = write_io_names({{"a b\x1f", {}, {}}});
  EXPECT_NE(text.find("\"a b\\u001f\""), std::string::npos) << text;
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

const MethodIoNames kDynamic = {
    "forward", {"x", "k"}, {"y"}, {{"n\"", 1, 9, ""}, {"", 2, 18, "2*s1"}}, {{"s1", "3"}, {}}};

TEST(IoNames, DynamicSizesAreThere) {
  const std::string text = write_io_names({kDynamic});
  EXPECT_NE(text.find(R"(,"symbols":[{"name":"n\"","min":1,"max":9,"formula":""},)"
                      R"({"name":"","min":2,"max":18,"formula":"2*s1"}],)"
                      R"("input_shapes":[["s1","3"],[]]})"),
            std::string::npos)
      << text;
  EXPECT_EQ(read_io_names(text), std::vector{kDynamic});
}

TEST(IoNames, RefusesDamagedSizes) {
  const std::string text = write_io_names({kDynamic});
  const auto message = [&](std::string_view from, std::string_view to) -> std::string {
    std::string damaged = text;
    const size_t at = damaged.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    damaged.replace(at, from.size(), to);
    try {
      read_io_names(damaged);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  const std::tuple<std::string_view, std::string_view, std::string_view> cases[] = {
      {R"({"name":"n\"","min":1,"max":9,"formula":""},{"name":"","min":2,"max":18,"formula":"2*s1"})",
       "", "`symbols` is empty"},
      {R"("name":"n\"",)", "", "a symbol has no `name`"},
      {R"("min":1)", R"("min":"1")", "a symbol has no `min`"},
      {R"("max":18,)", "", "a symbol has no `max`"},
      {R"("formula":"2*s1")", R"("formula":2)", "a symbol has no `formula`"},
      {R"("input_shapes")", R"("shapes")", "no `input_shapes`"},
      {R"(["s1","3"])", R"("s1")", "a shape is not a list"},
      {R"(["s1","3"])", R"(["s1",3])", "a size is not a string"},
      {R"(["s1","3"],)", "", "not one shape for each input"},
  };
  for (const auto& [from, to, what] : cases)
    EXPECT_NE(message(from, to).find(what), std::string::npos) << message(from, to);
}

TEST(IoNames, SafeNamesAreFileNames) {
  EXPECT_TRUE(is_safe_io_name("x"));
  EXPECT_TRUE(is_safe_io_name("layer1.0.out"));
  EXPECT_TRUE(is_safe_io_name(std::string(200, 'x')));
  for (const std::string name : {"", ".", "..", ".x", "a/b", "a\\b", "a\nb", "a:b", "\xc3"}) {
    EXPECT_FALSE(is_safe_io_name(name)) << name;
  }
  EXPECT_FALSE(is_safe_io_name(std::string(201, 'x')));
  EXPECT_TRUE(is_safe_io_name("a b~"));  // the first and the last that are printed
  for (const char byte : {'\x1f', '\x7f', '*', '?', '"', '<', '>', '|'})
    EXPECT_FALSE(is_safe_io_name(std::string("a") + byte)) << byte;
}

TEST(IoNames, MakesNamesSafeAndUnique) {
  EXPECT_EQ(make_io_names({"x", "x", "x_1", "x"}),
            (std::vector<std::string>{"x", "x_2", "x_1", "x_3"}));
  EXPECT_EQ(make_io_names({"a/b", "a:b", "", ".."}),
            (std::vector<std::string>{"a_b", "a_b_1", "_", "_."}));
  // What is no UTF-8 loses all that is no ASCII; what is, keeps it.
  EXPECT_EQ(make_io_names({"\xc3z\xfc", "z\xc3\xbc", "a\x80z"}),
            (std::vector<std::string>{"_z_", "z\xc3\xbc", "a_z"}));
}

TEST(IoNames, LongNamesAreCutTo200Bytes) {
  const std::string longest(200, 'x');
  EXPECT_EQ(
      make_io_names({longest, longest + "y", longest}),
      (std::vector<std::string>{longest, longest.substr(2) + "_1", longest.substr(2) + "_2"}));
  // A character of two bytes that begins at the last one is left out.
  EXPECT_EQ(make_io_names({longest.substr(1) + "\xc3\xbc"}),
            std::vector<std::string>{longest.substr(1)});
  // So is one of any length, wherever it is cut, whatever its bits; one that ends there is not.
  for (const std::string character : {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x81"}) {
    for (size_t begin = 201 - character.size(); begin <= 200; ++begin)
      EXPECT_EQ(make_io_names({std::string(begin, 'x') + character}),
                std::vector<std::string>{std::string(begin, 'x')});
    const std::string whole = std::string(200 - character.size(), 'x') + character;
    EXPECT_EQ(make_io_names({whole, whole + character}),
              (std::vector<std::string>{whole, whole.substr(0, 200 - character.size()) + "_1"}));
  }
}

/// Long names that differ in their last bytes only have the same numbered copies.
TEST(IoNames, CopiesOfTwoNamesAreNotMixedUp) {
  const std::string both(198, 'x');
  EXPECT_EQ(make_io_names({both + "ab", both + "ab", both + "cd", both + "cd"}),
            (std::vector<std::string>{both + "ab", both + "_1", both + "cd", both + "_2"}));
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
