// What the passes that remake convolutions reckon with: sizes, costs, and when it pays.
#include "transforms/conv_choice.h"

#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

constexpr int64_t kMicrosecond_fs = 1'000'000'000;
constexpr int64_t kMicrosecond_ps = 1'000'000;

/// Every run costs a microsecond, however long it is: runs are counted.
RunCosts each_run() { return {{{1'000'000, kMicrosecond_ps}}}; }

/// One kind of cost at a time, a microsecond for each.
struct Counted {
  const char* name;
  void (*charge)(TargetRules& rules);
};
constexpr Counted kWindow = {
    "windows", [](TargetRules& rules) { rules.products.window_fs = kMicrosecond_fs; }};
constexpr Counted kPointwise = {
    "pointwise", [](TargetRules& rules) { rules.products.pointwise_fs = kMicrosecond_fs; }};
constexpr Counted kDepthwise = {
    "depthwise", [](TargetRules& rules) { rules.products.depthwise_fs = kMicrosecond_fs; }};
constexpr Counted kGrouped = {
    "grouped", [](TargetRules& rules) { rules.products.grouped_fs = kMicrosecond_fs; }};
constexpr Counted kCalls = {
    "calls", [](TargetRules& rules) { rules.orders.moves.call_ps = kMicrosecond_ps; }};
constexpr Counted kSlices = {"slices",
                             [](TargetRules& rules) { rules.orders.moves.slice = each_run(); }};
constexpr Counted kConcats = {"concats",
                              [](TargetRules& rules) { rules.orders.moves.concat = each_run(); }};

/// Every byte costs a microsecond.
constexpr Counted kSlicedBytes = {"bytes", [](TargetRules& rules) {
                                    rules.orders.moves.slice = {{{1, kMicrosecond_ps}}};
                                  }};

struct Conv {
  Shape x, weight;
  Ints stride = {1, 1};
  Ints low = {1, 1}, high = {1, 1};
  int64_t groups = 1;
};

/// What the pass says of a convolution if one kind of cost is counted, with the others next to
/// nothing.
std::string told(std::string_view pass, const Conv& conv, const Counted& counted) {
  TargetRules rules;
  rules.products = {.window_fs = 2, .pointwise_fs = 1, .depthwise_fs = 1, .grouped_fs = 1};
  rules.depthwise_places = {3, 4, 9, 25};
  counted.charge(rules);
  TestModel model;
  model.output(
      model.add(Op::conv, {model.input(conv.x), model.weights(conv.weight)},
                ConvAttrs{conv.stride, {1, 1}, conv.low, conv.high, conv.groups, Bounds{}}));
  model.on(rules).run({pass});
  EXPECT_EQ(model.explanations().size(), 1u) << pass << ", " << counted.name;
  return model.explanations().empty() ? "" : model.explanations()[0].text;
}

struct Expected {
  Counted counted;
  std::string text;
};

void expect_told(std::string_view pass, const Conv& conv, const std::vector<Expected>& all) {
  for (const Expected& expected : all)
    EXPECT_EQ(told(pass, conv, expected.counted), expected.text) << expected.counted.name;
}

std::string stays(int us, std::string_view instead) {
  return fmt::format("stays as it is: 0 us; {}: {} us", instead, us);
}
std::string becomes(int us, std::string_view instead) {
  return fmt::format("becomes {}: 0 us instead of {} us", instead, us);
}

TEST(ConvChoice, UnfoldingCountsProductsCopiesAndSums) {
  // Padded 6 x 9, so 5 x 7 results: 2 * 5 * 7 * 4 results of 2 * 3 * 3 products.
  const Conv conv{{2, 5, 7, 3}, {4, 2, 3, 3}, {1, 1}, {1, 0}, {0, 2}};
  const char* two = "2 pointwise convolutions";
  // Calls: padding, concat, 3 slices of columns, 2 of rows and 2 convolutions, and the addition.
  // Runs of slices: 2 * 6 padded rows, 3 * 2 * 6 rows of columns, 2 * 2 images of rows, and for the
  // addition 2 * 2 * 5 rows. Runs of the concat: 2 * 6 * 7 pixels of 3 columns.
  expect_told("unfold_convs", conv,
              {{kWindow, becomes(5040, two)},
               {kCalls, stays(10, two)},
               {kSlices, stays(12 + 36 + 4 + 20, two)},
               {kConcats, stays(252, two)}});
}

TEST(ConvChoice, UnfoldingWithStridesCopiesPixelsAndRows) {
  // 3 x 4 results: every pixel and every row of results is a run of its own.
  const Conv conv{{2, 5, 7, 3}, {4, 2, 3, 3}, {2, 2}, {1, 0}, {0, 2}};
  const char* two = "2 pointwise convolutions";
  expect_told("unfold_convs", conv,
              {{kWindow, becomes(2 * 3 * 4 * 4 * 18, two)},
               {kSlices, stays(12 + 3 * 2 * 6 * 4 + 2 * 2 * 3 + 2 * 2 * 3, two)},
               {kConcats, stays(3 * 2 * 6 * 4, two)}});
}

TEST(ConvChoice, UnfoldingWithAStrideAlongOneAxis) {
  const char* two = "2 pointwise convolutions";
  // 3 x 7 results: rows of columns stay whole, and images of rows do not.
  const Conv down{{2, 5, 7, 3}, {4, 2, 3, 3}, {2, 1}, {1, 0}, {0, 2}};
  expect_told("unfold_convs", down,
              {{kSlices, stays(12 + 3 * 2 * 6 + 2 * 2 * 3 + 2 * 2 * 3, two)}});
  // 5 x 4 results: the other way round.
  const Conv across{{2, 5, 7, 3}, {4, 2, 3, 3}, {1, 2}, {1, 0}, {0, 2}};
  expect_told("unfold_convs", across,
              {{kSlices, stays(12 + 3 * 2 * 6 * 4 + 2 * 2 + 2 * 2 * 5, two)}});
}

TEST(ConvChoice, UnfoldingCopiesThePadding) {
  // Padded 8 x 9, so 7 x 7 results; floats of 3 channels, of 9 and of 4.
  const Conv conv{{2, 5, 7, 3}, {4, 2, 3, 3}, {1, 1}, {1, 1}, {2, 1}};
  const int padded = 2 * 8 * 9 * 3 * 4, columns = 2 * 8 * 7 * 9 * 4, rows = 2 * 2 * 7 * 7 * 9 * 4;
  const int added = 2 * 2 * 7 * 7 * 4 * 4;
  expect_told("unfold_convs", conv,
              {{kSlicedBytes, stays(padded + columns + rows + added, "2 pointwise convolutions")}});
}

TEST(ConvChoice, NothingIsSaidWhereNothingWasMeasured) {
  const auto said = [](std::string_view pass, const ProductCosts& products) {
    TargetRules rules;
    rules.products = products;
    rules.depthwise_places = {3, 4, 9, 25};
    rules.orders.moves.slice = rules.orders.moves.concat = {{{1, 0}}};
    TestModel model;
    Value* x = model.input({1, 9, 9, 4});
    const int64_t groups = pass == "split_depthwise" ? 4 : 1;
    model.output(model.conv(x, 4, pass == "split_depthwise" ? 7 : 3, 3, groups));
    model.on(rules).run({pass});
    EXPECT_EQ(model.count(Op::conv) > 1, !model.explanations().empty());
    return !model.explanations().empty();
  };
  EXPECT_FALSE(said("split_depthwise", {}));
  EXPECT_TRUE(said("split_depthwise", {.grouped_fs = 1}));
  EXPECT_FALSE(said("winograd_convs", {}));
  EXPECT_TRUE(said("winograd_convs", {.window_fs = 1}));
  EXPECT_FALSE(said("unfold_convs", {}));
  EXPECT_FALSE(said("unfold_convs", {.window_fs = 2, .pointwise_fs = 2}));
  EXPECT_FALSE(said("unfold_convs", {.window_fs = 1, .pointwise_fs = 2}));
  EXPECT_TRUE(said("unfold_convs", {.window_fs = 2, .pointwise_fs = 1}));
}

TEST(ConvChoice, UnfoldingOneRowOrColumnCopiesLess) {
  const Conv row{{2, 5, 7, 3}, {4, 1, 3, 3}, {1, 1}, {0, 0}, {0, 0}};
  const char* one = "1 pointwise convolutions";
  // No rows are cut, and nothing is added.
  expect_told("unfold_convs", row,
              {{kCalls, stays(2 + 3 + 2, one)},
               {kSlices, stays(2 * 5 + 3 * 2 * 5, one)},
               {kConcats, stays(3 * 2 * 5 * 5, one)}});
  const Conv short_row{{2, 5, 7, 3}, {4, 1, 2, 3}, {1, 1}, {0, 0}, {0, 0}};
  expect_told("unfold_convs", short_row,
              {{kCalls, stays(2 + 2 + 2, one)},
               {kSlices, stays(2 * 5 + 2 * 2 * 5, one)},
               {kConcats, stays(2 * 2 * 5 * 6, one)}});
  const Conv column{{2, 5, 7, 3}, {4, 3, 1, 3}, {1, 1}, {0, 0}, {0, 0}};
  const char* three = "3 pointwise convolutions";
  // No columns are copied: 2 * 5 rows as if padded, 3 * 2 images, and 2 additions of 2 * 3 rows.
  expect_told("unfold_convs", column,
              {{kCalls, stays(2 + 1 + 6 + 2, three)},
               {kSlices, stays(10 + 6 + 2 * 2 * 6, three)},
               {kConcats, stays(0, three)}});
}

TEST(ConvChoice, WinogradCountsTiles) {
  // 5 x 7 results are 3 x 4 tiles in each of 2 images.
  const Conv conv{{2, 5, 7, 3}, {5, 3, 3, 3}};
  const char* tiles = "16 products of a tile";
  // 24 additions of 2 * 3 rows of tiles each, read and written. Results are copied once by pixels
  // of the four images, and once by rows of two; odd sizes are cut off by such rows as well.
  expect_told("winograd_convs", conv,
              {{kWindow, becomes(2 * 5 * 7 * 5 * 27, tiles)},
               {kDepthwise, stays(16 * 24 * 3 * 4, tiles)},
               {kPointwise, stays(16 * 24 * 3 * 5, tiles)},
               {kCalls, stays(35 + 24, tiles)},
               {kSlices, stays(24 * 2 * 6 + 12 + 12, tiles)},
               {kConcats, stays(4 * 24 + 12, tiles)}});
  const Conv even{{2, 6, 8, 3}, {5, 3, 3, 3}};
  expect_told("winograd_convs", even,
              {{kDepthwise, stays(16 * 24 * 3 * 4, tiles)}, {kSlices, stays(24 * 2 * 6, tiles)}});
  const Conv small{{1, 4, 4, 3}, {5, 3, 3, 3}};
  expect_told("winograd_convs", small, {{kSlices, stays(24 * 2 * 2, tiles)}});
  const Conv odd_rows{{2, 5, 8, 3}, {5, 3, 3, 3}};
  expect_told("winograd_convs", odd_rows, {{kSlices, stays(24 * 2 * 6 + 12, tiles)}});
  const Conv odd_columns{{2, 6, 7, 3}, {5, 3, 3, 3}};
  expect_told("winograd_convs", odd_columns, {{kSlices, stays(24 * 2 * 6 + 12, tiles)}});
}

TEST(ConvChoice, SplittingCountsThePlacesOfKernels) {
  // Three windows of 3, 2 and 2 rows by 7 columns: each costs what one of 25 places does.
  const Conv conv{{2, 9, 8, 3}, {3, 7, 7, 1}, {1, 1}, {3, 3}, {3, 3}, 3};
  const char* three = "3 with windows of at most 25 places";
  const int results = 2 * 9 * 8 * 3;
  expect_told("split_depthwise", conv,
              {{kGrouped, becomes(results * 49, three)},
               {kDepthwise, stays(results * 75, three)},
               {kCalls, stays(2 + 2, three)},
               {kSlices, stays(2 * 2 * 2 * 9, three)}});
  // Rows 0, 2, ... 26 and 1, 3, ... 25: 14 and 13 places, in kernels of 25.
  const Conv long_one{{1, 9, 8, 3}, {3, 27, 1, 1}, {1, 1}, {13, 0}, {13, 0}, 3};
  expect_told("split_depthwise", long_one,
              {{kDepthwise, stays(9 * 8 * 3 * 50, "2 with windows of at most 25 places")}});
}

TEST(ConvChoice, RealDepthwiseCountsProductsAndConversions) {
  const auto text = [](const char* weight, const char* stride) {
    return fmt::format(R"(graph "g" {{
      input "x" %x : f32[2,6,5,3]
      %q = quantize(%x) {{ quantisation = i8 in [-128,127] scale f32[] (0.1) }}
      %w = constant() {{ data = i8{} splat 3, quantisation = i8 in [-128,127] scale f32[] (0.1) }}
      %c = conv(%q, %w) {{ stride = {}, dilation = [1,1], low = [1,1], high = [1,1], groups = 3,
                          quantisation = i8 in [-128,127] scale f32[] (0.2) }}
      %y = dequantize(%c)
      output "y" %y
    }})",
                       weight, stride);
  };
  struct Case {
    const char *weight, *stride;
    ProductCosts products;
    const char* told;
  };
  constexpr int64_t us = kMicrosecond_fs;
  const char* say = "one of real numbers";
  const Case cases[] = {
      // 6 x 5 results of 9 places, in 2 images of 3 channels.
      {"[3,3,3,1]", "[1,1]", {.integer_depthwise9_fs = us}, "becomes {}: 0 us instead of 1620 us"},
      {"[3,3,3,1]", "[1,1]", {.integer_depthwise25_fs = us}, ""},
      {"[3,3,3,1]",
       "[1,1]",
       {.depthwise_fs = us, .integer_depthwise9_fs = 1},
       "stays as it is: 0 us; {}: 1620 us"},
      // 180 numbers before it, and as many behind.
      {"[3,3,3,1]",
       "[1,1]",
       {.integer_depthwise9_fs = 1, .convert_fs = us},
       "stays as it is: 0 us; {}: 360 us"},
      // 3 x 3 results.
      {"[3,3,3,1]",
       "[2,2]",
       {.integer_depthwise9_fs = 1, .convert_fs = us},
       "stays as it is: 0 us; {}: 234 us"},
      // 7 x 3 results of 10 places.
      {"[3,2,5,1]",
       "[1,1]",
       {.integer_depthwise9_fs = 1, .integer_depthwise25_fs = us},
       "becomes {}: 0 us instead of 1260 us"},
      // 4 x 3 results of 25 places; and 28 are too many.
      {"[3,5,5,1]", "[1,1]", {.integer_depthwise25_fs = us}, "becomes {}: 0 us instead of 1800 us"},
      {"[3,4,7,1]", "[1,1]", {.integer_depthwise25_fs = us}, ""},
      {"[3,3,3,1]", "[1,1]", {.depthwise_fs = us, .convert_fs = us}, ""},
  };
  for (const Case& one : cases) {
    Graph graph = parse_graph(text(one.weight, one.stride), "test");
    TargetRules rules;
    rules.products = one.products;
    rules.depthwise_places = {3, 4, 9, 25};
    std::vector<Explanation> explanations;
    PassContext context("real_depthwise", rules, &explanations);
    const auto pass = std::ranges::find(all_passes(), "real_depthwise", &Pass::name);
    pass->run(graph, context);
    const std::string expected = fmt::format(fmt::runtime(one.told), say);
    EXPECT_EQ(explanations.empty() ? "" : explanations[0].text, expected)
        << one.weight << one.stride;
  }
}

TEST(ConvChoice, PaysFromAFifthOn) {
  TestModel model;
  const Node& conv = *model.conv(model.input({1, 4, 4, 2}), 2)->def();
  const TargetRules rules;
  std::vector<Explanation> explanations;
  PassContext context("pass", rules, &explanations);
  EXPECT_TRUE(pays(context, conv, 1000, 800, "another"));
  EXPECT_EQ(explanations.back().text, "becomes another: 800 us instead of 1000 us");
  EXPECT_EQ(context.rewrites(), 1u);
  EXPECT_FALSE(pays(context, conv, 1000, 801, "another"));
  EXPECT_EQ(explanations.back().text, "stays as it is: 1000 us; another: 801 us");
  EXPECT_EQ(context.rewrites(), 1u);
}

TEST(ConvChoice, CostsOfProductsAndAdditions) {
  EXPECT_EQ(products_us(3'000'000, 2'000), 6);
  MoveCosts moves;
  moves.call_ps = 7;
  moves.slice = {{{1'000'000, 100}}};
  moves.concat = {{{1'000'000, 1}}};
  // 60 floats in runs of 12 are 5 runs of each of two tensors.
  EXPECT_EQ(addition_ps(moves, 60, 12), 7 + 2 * 5 * 100);
}

/// The sizes of the one convolution, of which every number is another; or nothing.
std::optional<ConvSizes> sizes_of(const std::string& body, bool floats) {
  const bool is_whole = body.ends_with("}");
  const Graph graph = parse_graph(
      "graph \"g\" { " + body +
          (is_whole ? "" : " stride = [1,2], dilation = [1,1], low = [0,0], high = [0,3] }") +
          "\noutput \"y\" %y }",
      "test");
  for (const Node* node : graph)
    if (node->is(Op::conv)) return floats ? float_conv_sizes(*node) : conv_sizes(*node);
  ADD_FAILURE() << "no convolution";
  return {};
}

TEST(ConvChoice, SizesOfAConvolution) {
  const auto sizes = sizes_of(
      "input \"x\" %x : f32[2,9,13,5]\n"
      "%w = constant() { data = f32[11,3,4,5] splat 1 }\n%y = conv(%x, %w) {",
      true);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->batch, 2);
  EXPECT_EQ(sizes->height, 9);
  EXPECT_EQ(sizes->width, 13);
  EXPECT_EQ(sizes->channels, 5);
  EXPECT_EQ(sizes->rows, 3);
  EXPECT_EQ(sizes->columns, 4);
  EXPECT_EQ(sizes->out_height, 7);
  EXPECT_EQ(sizes->out_width, (13 + 3 - 4) / 2 + 1);
  EXPECT_EQ(sizes->out_channels, 11);
  EXPECT_EQ(sizes->out_pixels(), 2 * 7 * 7);
  EXPECT_EQ(sizes->products(1), 2 * 7 * 7 * 11 * 3 * 4 * 5);
  EXPECT_EQ(sizes->products(5), 2 * 7 * 7 * 11 * 3 * 4);
}

TEST(ConvChoice, WhatIsNotRemade) {
  const std::string weight = "%w = constant() { data = f32[2,3,4,5] splat 1 }\n";
  const std::string conv = "%y = conv(%x, %w) {";
  const std::string integer_weight =
      "%w = constant() { data = i8[2,3,4,5] splat 1, "
      "quantisation = i8 in [-128,127] scale f32[] (0.1) }\n";
  const std::string integer_x =
      "input \"x\" %r : f32[2,9,13,5]\n"
      "%x = quantize(%r) { quantisation = i8 in [-128,127] scale f32[] (0.1) }\n";
  struct Case {
    const char* why;
    std::string body;
    bool has_sizes, has_float_sizes;
  };
  const Case cases[] = {
      {"plain", "input \"x\" %x : f32[2,9,13,5]\n" + weight + conv, true, true},
      {"a batch that is not known",
       "symbol s1 \"n\" in [1,8] input \"x\" %x : f32[s1,9,13,5]\n" + weight + conv, false, false},
      {"a height that is not known",
       "symbol s1 \"n\" in [4,8] symbol s2 = \"s1-2\" input \"x\" %x : f32[2,s1,13,5]\n" + weight +
           conv,
       false, false},
      {"a line",
       "input \"x\" %x : f32[2,9,5]\n%w = constant() { data = f32[2,3,5] splat 1 }\n" + conv +
           " stride = [1], dilation = [1], low = [0], high = [0] }",
       false, false},
      {"a volume",
       "input \"x\" %x : f32[2,9,9,9,5]\n%w = constant() { data = f32[2,3,3,3,5] splat 1 }\n" +
           conv + " stride = [1,1,1], dilation = [1,1,1], low = [0,0,0], high = [0,0,0] }",
       false, false},
      {"a weight of integers", "input \"x\" %x : f32[2,9,13,5]\n" + integer_weight + conv, true,
       false},
      {"a result of integers",
       "input \"x\" %x : f32[2,9,13,5]\n" + weight + conv +
           " quantisation = i8 in [-128,127] scale f32[] (0.2),",
       true, false},
      {"no batch", "input \"x\" %x : f32[0,9,13,5]\n" + weight + conv, false, false},
      {"no channels",
       "input \"x\" %x : f32[2,9,13,0]\n%w = constant() { data = f32[2,3,4,0] splat 0 }\n" + conv,
       false, false},
      {"no results",
       "input \"x\" %x : f32[2,9,13,5]\n%w = constant() { data = f32[0,3,4,5] splat 0 }\n" + conv,
       false, false},
      {"a weight that is computed",
       "input \"x\" %x : f32[2,9,13,5]\ninput \"w\" %w : f32[2,3,4,5]\n" + conv, false, false},
      {"half precision",
       "input \"x\" %x : f16[2,9,13,5]\n%w = constant() { data = f16[2,3,4,5] splat 1 }\n" + conv,
       true, false},
      {"integers",
       integer_x + integer_weight +
           "%y = conv(%x, %w) { quantisation = i8 in [-128,127] scale f32[] (0.2),",
       true, false},
      {"rounded as they are read",
       "input \"x\" %x : f32[2,9,13,5]\n" + integer_weight + conv + " dynamic = true,", false,
       false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.why);
    EXPECT_EQ(sizes_of(one.body, false).has_value(), one.has_sizes);
    EXPECT_EQ(sizes_of(one.body, true).has_value(), one.has_float_sizes);
  }
}

}  // namespace
}  // namespace layline
