#include "base/json_writer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <array>
#include <cmath>

namespace layline {
namespace {

using Layout = JsonWriter::Layout;

TEST(JsonWriter, NestsByIndentation) {
  const std::string text = json_text([](JsonWriter& json) {
    json.object([&] {
      json.key("a").numbers(std::array{1, 2});
      json.key("b").list([&] { json.object([&] { json.key("c").number(3); }); });
      json.key("d").list([] {});
      json.key("e").object([] {});
    });
  });
  EXPECT_EQ(text,
            "{\n"
            "  \"a\": [1, 2],\n"
            "  \"b\": [\n"
            "    {\n"
            "      \"c\": 3\n"
            "    }\n"
            "  ],\n"
            "  \"d\": [],\n"
            "  \"e\": {}\n"
            "}\n");
}

TEST(JsonWriter, WhatIsOnOneLineStaysThere) {
  const std::string text = json_text([](JsonWriter& json) {
    json.list([&] {
      for (int i = 0; i < 2; ++i)
        json.object(
            [&] {
              json.key("a").list([&] { json.number(i); });
              json.key("b").boolean(true);
              json.key("c").null();
            },
            Layout::one_line);
    });
  });
  EXPECT_EQ(text,
            "[\n"
            "  {\"a\": [0], \"b\": true, \"c\": null},\n"
            "  {\"a\": [1], \"b\": true, \"c\": null}\n"
            "]\n");
}

TEST(JsonWriter, StringsAreOnOneLineWhereThatIsShort) {
  const auto written = [](const std::vector<std::string>& values) {
    return json_text([&](JsonWriter& json) { json.strings(values); });
  };
  EXPECT_EQ(written({"a", "b"}), "[\"a\", \"b\"]\n");
  const std::string half(50, 'x');
  EXPECT_EQ(written({half, half}), "[\n  \"" + half + "\",\n  \"" + half + "\"\n]\n");
}

TEST(JsonWriter, AnyStringCanBeQuoted) {
  simdjson::dom::parser parser;
  const auto read = [&](const std::string& value) {
    return std::string(std::string_view(parser.parse(json_string(value))));
  };
  const std::string odd("a\"b\\c\nd\te\x01\x7f\0f", 13);
  EXPECT_EQ(read(odd), odd);
  EXPECT_EQ(read("größe"), "größe");
  EXPECT_EQ(read("x\xff.pt2"), "x\xef\xbf\xbd.pt2");
}

TEST(JsonWriter, NumbersWithoutJsonFormAreNull) {
  const auto written = [](double value) {
    return json_text([&](JsonWriter& json) { json.number(value, 3); });
  };
  EXPECT_EQ(written(NAN), "null\n");
  EXPECT_EQ(written(INFINITY), "null\n");
  EXPECT_EQ(written(-0.5), "-0.500\n");
}

}  // namespace
}  // namespace layline
