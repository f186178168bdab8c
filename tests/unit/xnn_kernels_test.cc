// What XNNPACK takes, what it refuses and why, and what it is told of what it takes.
#include "targets/xnnpack/kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emitted_payload.h"
#include "ir/text.h"
#include "pte_reader.h"

namespace layline::xnnpack {
namespace {

using Kind = fb_xnnpack::XNodeUnion;

Graph graph_of(std::string_view body) {
  return parse_graph(fmt::format("graph \"test\" {{\n{}\noutput \"y\" %y\n}}", body), "test");
}

/// Why the node that defines %y is refused.
std::string refused(std::string_view body) {
  const Graph graph = graph_of(body);
  return refusal(*graph.outputs()[0].value->def());
}

PayloadReader emitted(std::string_view body) { return xnnpack::emitted(graph_of(body)); }

std::vector<Kind> kinds(const PayloadReader& payload) {
  std::vector<Kind> result;
  for (const auto* node : *payload.graph().xnodes()) result.push_back(node->xnode_union_type());
  return result;
}

template <typename Vector>
auto elements(const Vector* vector) {
  return std::vector(vector->begin(), vector->end());
}

struct Case {
  std::string_view why;  // a part of the refusal; empty if the node is taken
  std::string_view body;
};

void expect_refusals(std::span<const Case> cases) {
  for (const Case& c : cases) {
    const std::string why = refused(c.body);
    EXPECT_TRUE(c.why.empty() ? why.empty() : why.find(c.why) != std::string::npos)
        << c.body << "\nexpected '" << c.why << "', found '" << why << "'";
  }
}

TEST(XnnKernels, TensorsThatXnnpackHas) {
  const Case cases[] = {
      {"", "input \"x\" %x : f16[2]  %y = tanh(%x)"},
      {"XNNPACK has no bf16 tensors", "input \"x\" %x : bf16[2]  %y = tanh(%x)"},
      {"XNNPACK has no f64 tensors", "input \"x\" %x : f32[2]  %y = convert(%x) { to = f64 }"},
      {"XNNPACK has no i64 tensors", "input \"x\" %x : i64[2]  %y = convert(%x) { to = f32 }"},
      {"", "input \"x\" %x : f32[1,1,1,1,1,2]  %y = tanh(%x)"},
      {"7 axes, XNNPACK takes at most 6", "input \"x\" %x : f32[1,1,1,1,1,1,2]  %y = tanh(%x)"},
      {"7 axes, XNNPACK takes at most 6",
       "input \"x\" %x : f32[2]  %y = relayout(%x) { relayout = [2] -> [1,1,1,1,1,1,2] }"},
      {"the tensor is empty", "input \"x\" %x : f32[0]  %y = tanh(%x)"},
      {"the tensor is empty",
       "input \"x\" %x : f32[2]  %y = slice(%x) { start = [0], size = [0], step = [1] }"},
      {"XNNPACK has no sign", "input \"x\" %x : f32[2]  %y = sign(%x)"},
  };
  expect_refusals(cases);
}

TEST(XnnKernels, MovesThatXnnpackHas) {
  const Case cases[] = {
      {"", "input \"x\" %x : f32[4] %y = slice(%x) { start = [1], size = [3], step = [1] }"},
      {"step 1", "input \"x\" %x : f32[4] %y = slice(%x) { start = [0], size = [2], step = [2] }"},
      {"",
       "symbol s1 \"n\" in [1,9] input \"x\" %x : f32[s1,4] "
       "%y = slice(%x) { start = [0,1], size = [s1,2], step = [1,1] }"},
      {"fixed sizes",
       "symbol s1 \"n\" in [2,9] symbol s2 = \"s1-1\" input \"x\" %x : f32[s1,4] "
       "%y = slice(%x) { start = [0,0], size = [s2,4], step = [1,1] }"},
      {"", "input \"x\" %x : f32[4] %y = concat(%x, %x) { axis = 0 }"},
      {"of one tensor", "input \"x\" %x : f32[4] %y = concat(%x) { axis = 0 }"},
      {"", "input \"x\" %x : f32[4] %y = pad(%x) { low = [1], high = [0] }"},
      {"with a constant only",
       "input \"x\" %x : f32[4] %y = pad(%x) { low = [1], high = [0], mode = replicate }"},
      // XNNPACK finds one size of a reshaped tensor by itself, and no more.
      {"",
       "symbol s1 \"n\" in [1,9] input \"x\" %x : f32[s1,4,2] "
       "%y = relayout(%x) { relayout = [s1,4,2] -> [s1,8] }"},
      {"several dynamic sizes meet in a view of [s1,s2,2] as [s1,2*s2]",
       "symbol s1 \"n\" in [1,9] symbol s2 \"m\" in [1,9] input \"x\" %x : f32[s1,s2,2] "
       "%y = relayout(%x) { relayout = [s1,s2,2] -> [s1,2*s2] }"},
      {"",
       "symbol s1 \"n\" in [1,9] symbol s2 \"m\" in [1,9] input \"x\" %x : f32[s1,s2,2] "
       "%y = relayout(%x) { relayout = [s1,s2,2] (s1,s2,2)->(2,1,0) [2,s2,s1] }"},
      // A permutation of [s1*s2, 2] as [2, s1, s2] needs a view behind it.
      {"as [2,s1,s2]",
       "symbol s1 \"n\" in [1,9] symbol s2 \"m\" in [1,9] input \"x\" %x : f32[s1*s2,2] "
       "%y = relayout(%x) { relayout = [s1*s2,2] (s1*s2,2)->(1,0) [2,s1,s2] }"},
      // And one before it, of [s1, s2, 2] as [s1*s2, 2]: one size is dynamic.
      {"",
       "symbol s1 \"n\" in [1,9] symbol s2 \"m\" in [1,9] input \"x\" %x : f32[s1,s2,2] "
       "%y = relayout(%x) { relayout = [s1,s2,2] (s1*s2,2)->(1,0) [2,s1*s2] }"},
      {"as [s1,2,s2,3]",
       "symbol s1 \"n\" in [1,9] symbol s2 \"m\" in [1,9] input \"x\" %x : f32[2*s1,3*s2] "
       "%y = relayout(%x) { relayout = [2*s1,3*s2] (s1,2,s2,3)->(1,0,3,2) [2*s1,3*s2] }"},
      {"a transpose of 7 axes, XNNPACK takes at most 6",
       "input \"x\" %x : f32[128] %y = relayout(%x) { relayout = "
       "[128] (2,2,2,2,2,2,2)->(6,5,4,3,2,1,0) [128] }"},
      {"",
       "input \"x\" %x : f32[64] %y = relayout(%x) { relayout = "
       "[64] (2,2,2,2,2,2)->(5,4,3,2,1,0) [64] }"},
  };
  expect_refusals(cases);
}

TEST(XnnKernels, ContractionsThatXnnpackHas) {
  const Case cases[] = {
      {"",
       "input \"x\" %x : f32[4,3] %w = constant() { data = f32[2,3] splat 1 } "
       "%b = constant() { data = f32[2] splat 1 } %y = linear(%x, %w, %b)"},
      {"the weights are not constant",
       "input \"x\" %x : f32[4,3] input \"w\" %w : f32[2,3] %y = linear(%x, %w)"},
      {"the weights are not constant",
       "input \"x\" %x : f32[4,3] input \"b\" %b : f32[2] "
       "%w = constant() { data = f32[2,3] splat 1 } %y = linear(%x, %w, %b)"},
      {"", "input \"x\" %x : f32[1,4,3] input \"z\" %z : f32[1,3,2] %y = matmul(%x, %z)"},
      {"", "input \"x\" %x : f32[4,3] input \"z\" %z : f32[3,2] %y = matmul(%x, %z)"},
      {"as many batch axes",
       "input \"x\" %x : f32[4,3] input \"z\" %z : f32[1,3,2] "
       "%y = matmul(%x, %z)"},
      {"", "input \"x\" %x : f32[1,4,3] input \"z\" %z : f32[3,2] %y = matmul(%x, %z)"},
      {"as many batch axes",
       "input \"x\" %x : f16[1,4,3] input \"z\" %z : f16[3,2] %y = matmul(%x, %z)"},
      {"as many batch axes",
       "input \"x\" %x : f32[1,4,3] %z = constant() { data = f32[3,2] splat 1 } "
       "%y = matmul(%x, %z)"},
      {"two spatial axes",
       "input \"x\" %x : f32[1,4,3] %w = constant() { data = f32[2,1,3] splat 1 } "
       "%y = conv(%x, %w) { stride = [1], dilation = [1], low = [0], high = [0] }"},
      {"the weights are not constant",
       "input \"x\" %x : f32[1,4,4,3] input \"w\" %w : f32[2,1,1,3] "
       "%y = conv(%x, %w) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0] }"},
      {"", "input \"x\" %x : f32[2,3] %y = softmax(%x) { axis = 1 }"},
      {"over the last axis", "input \"x\" %x : f32[2,3] %y = softmax(%x) { axis = 0 }"},
      {"", "input \"x\" %x : f32[2] %y = gelu(%x)"},
      {"is the exact one", "input \"x\" %x : f32[2] %y = gelu(%x) { tanh = true }"},
  };
  expect_refusals(cases);
}

std::string pool(std::string_view op, std::string_view attributes) {
  return fmt::format("input \"x\" %x : f32[1,9,9,3] %y = {}(%x) {{ {} }}", op, attributes);
}

TEST(XnnKernels, WindowsThatXnnpackHas) {
  constexpr std::string_view kPlain =
      "kernel = [2,3], stride = [2,3], dilation = [1,1], low = [0,0], high = [0,0]";
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text(kPlain);
    return text.replace(text.find(from), from.size(), to);
  };
  const std::pair<std::string_view, std::string> cases[] = {
      {"", pool("max_pool", kPlain)},
      {"", pool("avg_pool", kPlain)},
      {"two spatial axes",
       "input \"x\" %x : f32[1,9,3] %y = max_pool(%x) { kernel = [2], "
       "stride = [1], dilation = [1], low = [0], high = [0] }"},
      {"refuses 1x1 pools", pool("avg_pool", with("kernel = [2,3]", "kernel = [1,1]"))},
      {"", pool("avg_pool", with("kernel = [2,3]", "kernel = [1,2]"))},
      {"", pool("avg_pool", with("kernel = [2,3]", "kernel = [2,1]"))},
      {"no stride over its kernel size",
       pool("max_pool", with("stride = [2,3]", "stride = [3,3]"))},
      {"no stride over its kernel size",
       pool("max_pool", with("stride = [2,3]", "stride = [2,4]"))},
      {"", pool("avg_pool", with("stride = [2,3]", "stride = [3,4]"))},
      {"do not count padding",
       pool("avg_pool", with("low = [0,0]", "count_padding = true, low = [1,0]"))},
      {"do not count padding",
       pool("avg_pool", with("high = [0,0]", "high = [0,1], count_padding = true"))},
      {"", pool("avg_pool", with("high = [0,0]", "high = [0,1]"))},
      {"", pool("avg_pool", with("low = [0,0]", "count_padding = true, low = [0,0]"))},
      {"has no dilation", pool("avg_pool", with("dilation = [1,1]", "dilation = [1,2]"))},
      {"has no dilation", pool("avg_pool", with("dilation = [1,1]", "dilation = [2,1]"))},
      {"", pool("max_pool", with("dilation = [1,1]", "dilation = [2,2]"))},
      {"bilinearly only", pool("resize", "size = [3,3], step = [3,3], mode = nearest")},
      {"", pool("resize", "size = [3,18], step = [3,0.5]")},
      {"the scale factor differs", pool("resize", "size = [3,18], step = [3,0.4]")},
      {"the scale factor differs", pool("resize", "size = [3,18], step = [2.9,0.5]")},
      {"", pool("resize", "size = [3,17], step = [4,0.5], align_corners = true")},
      {"the scale factor differs",
       pool("resize", "size = [3,17], step = [3,0.5], align_corners = true")},
      {"", pool("resize", "size = [1,17], step = [0,0.5], align_corners = true")},
      {"to fixed sizes",
       "symbol s1 \"n\" in [2,9] input \"x\" %x : f32[1,s1,9,3] "
       "%y = resize(%x) { size = [4,9], step = [-1,1] }"},
      {"to fixed sizes",
       "symbol s1 \"n\" in [2,9] input \"z\" %z : f32[s1] input \"x\" %x : "
       "f32[1,9,9,3] %y = resize(%x) { size = [s1,9], step = [-1,1] }"},
      {"over the spatial axes", pool("reduce_mean", "axes = [1]")},
      {"over the spatial axes", pool("reduce_mean", "axes = [2]")},
      {"over the spatial axes", pool("reduce_mean", "axes = [1,2,3]")},
      {"over the spatial axes", pool("reduce_mean", "axes = [0,1,2]")},
      {"", pool("reduce_mean", "axes = [1,2]")},
      {"over the spatial axes",
       "input \"x\" %x : f32[1,9,3] %y = reduce_mean(%x) { axes = [1,2] }"},
      {"", "input \"x\" %x : f32[2,9,1,3] %y = reduce_mean(%x) { axes = [1] }"},
      {"", "input \"x\" %x : f32[2,1,9,3] %y = reduce_mean(%x) { axes = [2] }"},
  };
  for (const auto& [why, body] : cases) expect_refusals(std::array{Case{why, body}});
}

/// Above, to the right, below, to the left: what is in front of and behind each axis.
TEST(XnnKernels, PaddingGoesAroundTheImage) {
  const PayloadReader payload =
      emitted(pool("max_pool",
                   "kernel = [5,6], stride = [2,3], dilation = [1,1], low = [1,2], "
                   "high = [3,4], bounds = [0,6]"));
  const auto* node = payload.node().xnode_union_as_XNNMaxPooling2d();
  EXPECT_EQ(node->padding_top(), 1u);
  EXPECT_EQ(node->padding_left(), 2u);
  EXPECT_EQ(node->padding_bottom(), 3u);
  EXPECT_EQ(node->padding_right(), 4u);
  EXPECT_EQ(node->pooling_height(), 5u);
  EXPECT_EQ(node->pooling_width(), 6u);
  EXPECT_EQ(payload.node().output_min_max()->output_max(), 6.0f);
}

const auto* convolution(const PayloadReader& payload) {
  return static_cast<const fb_xnnpack::_XNNNodeConv*>(payload.node().xnode_union());
}

TEST(XnnKernels, ConvolutionsAreDepthwiseWhereEachChannelIsAlone) {
  const auto conv = [](std::string_view weight, int64_t groups) {
    return emitted(fmt::format(
        "input \"x\" %x : f32[1,9,9,4] %w = constant() {{ data = f32{} splat 1 }} %y = conv(%x, "
        "%w) {{ stride = [1,2], dilation = [2,1], low = [0,0], high = [0,0], groups = {} }}",
        weight, groups));
  };
  const PayloadReader depthwise = conv("[8,2,3,1]", 4);
  EXPECT_EQ(kinds(depthwise), std::vector{Kind::XNNDepthwiseConv2d});
  EXPECT_EQ(convolution(depthwise)->groups(), 4u);
  EXPECT_EQ(convolution(depthwise)->group_output_channels(), 2u);
  EXPECT_EQ(elements(depthwise.value(2).xvalue_union_as_XNNTensorValue()->dims()),
            (std::vector<uint32_t>{1, 2, 3, 8}));
  const PayloadReader grouped = conv("[6,2,3,2]", 2);
  EXPECT_EQ(kinds(grouped), std::vector{Kind::XNNConv2d});
  EXPECT_EQ(convolution(grouped)->group_input_channels(), 2u);
  EXPECT_EQ(convolution(grouped)->group_output_channels(), 3u);
  // One input channel and one group: XNNPACK has a convolution for it.
  const PayloadReader single = emitted(
      "input \"x\" %x : f32[1,9,9,1] %w = constant() { data = f32[5,2,2,1] splat 1 } %y = conv(%x, "
      "%w) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0] }");
  EXPECT_EQ(kinds(single), std::vector{Kind::XNNConv2d});
  EXPECT_EQ(convolution(single)->group_output_channels(), 5u);
}

TEST(XnnKernels, TransposedConvolutions) {
  const PayloadReader payload = emitted(
      "input \"x\" %x : f32[1,3,3,4] %w = constant() { data = f32[6,2,3,2] splat 1 } %b = "
      "constant() { data = f32[6] splat 1 } %y = conv_transpose(%x, %w, %b) { stride = [2,3], "
      "dilation = [1,1], low = [0,1], high = [1,0], extra = [1,2], groups = 2, bounds = [0,inf] }");
  EXPECT_EQ(kinds(payload), std::vector{Kind::XNNConvTranspose2d});
  const auto* node = convolution(payload);
  EXPECT_EQ(node->kernel_height(), 2u);
  EXPECT_EQ(node->kernel_width(), 3u);
  EXPECT_EQ(node->adjustment_height(), 1u);
  EXPECT_EQ(node->adjustment_width(), 2u);
  EXPECT_EQ(node->groups(), 2u);
  EXPECT_EQ(node->group_input_channels(), 2u);
  EXPECT_EQ(node->group_output_channels(), 3u);
  EXPECT_NE(node->bias_id(), kNoValue);
  EXPECT_EQ(payload.node().output_min_max()->output_min(), 0.0f);
}

/// Above, to the right, below, to the left; then the kernel's height and width.
std::vector<uint32_t> window(const fb_xnnpack::_XNNNodeConv& node) {
  return {node.padding_top(),  node.padding_right(), node.padding_bottom(),
          node.padding_left(), node.kernel_height(), node.kernel_width()};
}

TEST(XnnKernels, ConvolutionsHaveTheirPaddingAndKernel) {
  const std::vector<uint32_t> expected = {1, 4, 3, 2, 5, 6};
  for (const std::string_view op : {"conv", "conv_transpose"}) {
    const PayloadReader payload = emitted(
        fmt::format("input \"x\" %x : f32[1,9,9,2] %w = constant() {{ data = f32[3,5,6,2] splat 1 "
                    "}} %y = {}(%x, "
                    "%w) {{ stride = [1,1], dilation = [1,1], low = [1,2], high = [3,4]{} }}",
                    op, op == "conv" ? "" : ", extra = [0,0]"));
    EXPECT_EQ(window(*convolution(payload)), expected) << op;
  }
  const PayloadReader average =
      emitted(pool("avg_pool",
                   "kernel = [5,6], stride = [2,3], dilation = [1,1], low = [1,2], "
                   "high = [3,4]"));
  const auto* node = average.node().xnode_union_as_XNNAvgPooling2d();
  EXPECT_EQ(
      (std::vector<uint32_t>{node->padding_top(), node->padding_right(), node->padding_bottom(),
                             node->padding_left(), node->pooling_height(), node->pooling_width()}),
      expected);
  EXPECT_EQ(node->stride_height(), 2u);
  EXPECT_EQ(node->input_id(), 0u);
}

TEST(XnnKernels, OperandsKeepTheirPlaces) {
  for (const std::string_view op : {"sub(%x, %z)", "matmul(%x, %z)"}) {
    const PayloadReader payload =
        emitted(fmt::format("input \"x\" %x : f32[1,3,3] input \"z\" %z : f32[1,3,3] %y = {}", op));
    const auto* node = static_cast<const fb_xnnpack::_XNNNode2x1*>(payload.node().xnode_union());
    EXPECT_EQ(node->input1_id(), 0u);
    EXPECT_EQ(node->input2_id(), 1u);
    EXPECT_EQ(node->output_id(), 2u);
  }
}

std::vector<uint32_t> new_shape(const PayloadReader& payload, uint32_t node) {
  return elements(payload.node(node).xnode_union_as_XNNStaticReshape()->new_shape());
}

TEST(XnnKernels, ARelayoutHasOnlyTheViewsThatItNeeds) {
  const auto moved = [](std::string_view type, std::string_view relayout) {
    return emitted(fmt::format("input \"x\" %x : f32{} %y = relayout(%x) {{ relayout = {} }}", type,
                               relayout));
  };
  EXPECT_EQ(kinds(moved("[2,3]", "[2,3] -> [6]")), std::vector{Kind::XNNStaticReshape});
  EXPECT_EQ(kinds(moved("[2,3,4]", "[2,3,4] (2,3,4)->(1,0,2) [3,2,4]")),
            std::vector{Kind::XNNStaticTranspose});
  const PayloadReader before = moved("[6,4]", "[6,4] (2,3,4)->(1,0,2) [3,2,4]");
  EXPECT_EQ(kinds(before), (std::vector{Kind::XNNStaticReshape, Kind::XNNStaticTranspose}));
  EXPECT_EQ(new_shape(before, 0), (std::vector<uint32_t>{2, 3, 4}));
  const PayloadReader behind = moved("[2,3,4]", "[2,3,4] (2,3,4)->(1,0,2) [6,4]");
  EXPECT_EQ(kinds(behind), (std::vector{Kind::XNNStaticTranspose, Kind::XNNStaticReshape}));
  EXPECT_EQ(new_shape(behind, 1), (std::vector<uint32_t>{6, 4}));
  EXPECT_EQ(
      kinds(moved("[6,4]", "[6,4] (2,3,4)->(1,0,2) [6,4]")),
      (std::vector{Kind::XNNStaticReshape, Kind::XNNStaticTranspose, Kind::XNNStaticReshape}));
}

/// Axes with one element are transposed along, if that saves a view.
TEST(XnnKernels, ATransposeTakesAxesWithOneElementAlong) {
  const auto moved = [](std::string_view type, std::string_view relayout) {
    return emitted(fmt::format("input \"x\" %x : f32{} %y = relayout(%x) {{ relayout = {} }}", type,
                               relayout));
  };
  const auto order = [](const PayloadReader& payload, uint32_t node) {
    return elements(payload.node(node).xnode_union_as_XNNStaticTranspose()->perm());
  };
  const PayloadReader target = moved("[1,5,6]", "[1,5,6] (5,3,2)->(1,0,2) [1,3,5,2]");
  EXPECT_EQ(kinds(target), (std::vector{Kind::XNNStaticReshape, Kind::XNNStaticTranspose}));
  EXPECT_EQ(new_shape(target, 0), (std::vector<uint32_t>{1, 5, 3, 2}));
  EXPECT_EQ(order(target, 1), (std::vector<uint32_t>{0, 2, 1, 3}));
  const PayloadReader inside = moved("[5,6]", "[5,6] (5,3,2)->(1,0,2) [3,1,5,2]");
  EXPECT_EQ(new_shape(inside, 0), (std::vector<uint32_t>{1, 5, 3, 2}));
  EXPECT_EQ(order(inside, 1), (std::vector<uint32_t>{2, 0, 1, 3}));
  const PayloadReader source = moved("[5,1,3,2]", "[5,1,3,2] (5,3,2)->(1,0,2) [3,10]");
  EXPECT_EQ(kinds(source), (std::vector{Kind::XNNStaticTranspose, Kind::XNNStaticReshape}));
  EXPECT_EQ(order(source, 0), (std::vector<uint32_t>{1, 2, 0, 3}));
  EXPECT_EQ(new_shape(source, 1), (std::vector<uint32_t>{3, 10}));
  // Both sides have such axes: the target's are taken along.
  EXPECT_EQ(kinds(moved("[2,1,3]", "[2,1,3] (2,3)->(1,0) [3,2,1,1]")),
            (std::vector{Kind::XNNStaticReshape, Kind::XNNStaticTranspose}));
}

TEST(XnnKernels, OneMatrixForAllBatchesIsAFilterThatIsNotConstant) {
  for (const bool transposed : {false, true}) {
    const PayloadReader payload =
        emitted(fmt::format("input \"x\" %x : f32[2,4,3] input \"z\" %z : f32{} "
                            "%y = matmul(%x, %z) {{ transpose_b = {} }}",
                            transposed ? "[5,3]" : "[3,5]", transposed));
    EXPECT_EQ(kinds(payload), std::vector{Kind::XNNFullyConnected});
    const auto* node = payload.node().xnode_union_as_XNNFullyConnected();
    EXPECT_EQ(node->input1_id(), 0u);
    EXPECT_EQ(node->filter_id(), 1u);
    EXPECT_EQ(node->flags() != 0, !transposed);
  }
}

TEST(XnnKernels, TheDynamicSizeOfAViewIsFound) {
  const PayloadReader payload = emitted(
      "symbol s1 \"n\" in [1,9] input \"x\" %x : f32[s1,4,2] "
      "%y = relayout(%x) { relayout = [s1,4,2] -> [2*s1,4] }");
  EXPECT_EQ(new_shape(payload, 0), (std::vector<uint32_t>{0, 4}));
  EXPECT_EQ(elements(payload.value(1).xvalue_union_as_XNNTensorValue()->dims()),
            (std::vector<uint32_t>{18, 4}));
}

/// How many parts each concatenation joins, in order.
std::vector<int> joined(int parts) {
  std::string operands = "%x";
  for (int i = 1; i < parts; ++i) operands += ", %x";
  std::vector<int> result;
  for (const Kind kind : kinds(emitted(
           fmt::format("input \"x\" %x : f32[2,3] %y = concat({}) {{ axis = 1 }}", operands))))
    result.push_back(static_cast<int>(kind) == static_cast<int>(Kind::XNNConcatenate5)
                         ? 5
                         : 2 + static_cast<int>(kind) - static_cast<int>(Kind::XNNConcatenate2));
  return result;
}

TEST(XnnKernels, ManyPartsAreJoinedInATree) {
  EXPECT_EQ(joined(2), std::vector{2});
  EXPECT_EQ(joined(5), std::vector{5});
  EXPECT_EQ(joined(6), (std::vector{5, 2}));
  EXPECT_EQ(joined(7), (std::vector{5, 2, 2}));
  EXPECT_EQ(joined(25), (std::vector{5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(joined(26), (std::vector{5, 5, 5, 5, 5, 5, 2}));
}

TEST(XnnKernels, WhatIsJoinedOnTheWayHasTheSumOfTheSizes) {
  const PayloadReader payload = emitted(
      "symbol s1 \"n\" in [1,9] input \"x\" %x : f32[2,s1] input \"z\" %z : f32[2,3] "
      "%y = concat(%x, %x, %z, %z, %z, %x) { axis = 1 }");
  // Two inputs, the output, and then the first five: 9 + 9 + 3 + 3 + 3.
  EXPECT_EQ(elements(payload.value(3).xvalue_union_as_XNNTensorValue()->dims()),
            (std::vector<uint32_t>{2, 27}));
}

/// XNNPACK would turn both operands around that are one transpose: the second is a copy of it.
TEST(XnnKernels, AProductOfATransposeWithItself) {
  const auto product = [](std::string_view made, std::string_view attributes) {
    return kinds(emitted(fmt::format("input \"x\" %x : f32[1,3,3] %t = {} %y = matmul(%t, {}) {}",
                                     made, "%t", attributes)));
  };
  constexpr std::string_view kTransposed =
      "relayout(%x) { relayout = [1,3,3] (1,3,3)->(0,2,1) [1,3,3] }";
  EXPECT_EQ(product(kTransposed, ""), (std::vector{Kind::XNNStaticTranspose, Kind::XNNMaximum,
                                                   Kind::XNNBatchMatrixMultiply}));
  EXPECT_EQ(product(kTransposed, "{ transpose_b = true }"),
            (std::vector{Kind::XNNStaticTranspose, Kind::XNNBatchMatrixMultiply}));
  EXPECT_EQ(product("tanh(%x)", ""), (std::vector{Kind::XNNTanh, Kind::XNNBatchMatrixMultiply}));
  EXPECT_EQ(kinds(emitted("input \"x\" %x : f32[1,3,3] %y = matmul(%x, %x)")),
            std::vector{Kind::XNNBatchMatrixMultiply});
  EXPECT_EQ(kinds(emitted(fmt::format("input \"x\" %x : f32[1,3,3] %t = {} %y = matmul(%x, %t)",
                                      kTransposed))),
            (std::vector{Kind::XNNStaticTranspose, Kind::XNNBatchMatrixMultiply}));
}

TEST(XnnKernels, WhatIsToldOfTheOthers) {
  const auto first = [](std::string_view made) {
    return emitted(fmt::format("input \"x\" %x : f32[1,4,4,3] %y = {}", made));
  };
  const PayloadReader clamp = first("clamp(%x) { bounds = [-1,inf] }");
  EXPECT_EQ(clamp.node().output_min_max()->output_min(), -1.0f);
  const PayloadReader sum = first("add(%x, %x) { bounds = [0,2] }");
  EXPECT_EQ(sum.node().output_min_max()->output_max(), 2.0f);
  EXPECT_EQ(first("add(%x, %x)").node().output_min_max(), nullptr);
  EXPECT_EQ(first("maximum(%x, %x)").node().output_min_max(), nullptr);
  EXPECT_EQ(first("elu(%x) { alpha = 0.5 }").node().xnode_union_as_XNNELU()->alpha(), 0.5f);
  EXPECT_EQ(first("leaky_relu(%x) { alpha = 0.25 }")
                .node()
                .xnode_union_as_XNNLeakyReLU()
                ->negative_slope(),
            0.25f);
  const PayloadReader pad = first("pad(%x) { low = [0,1,2,0], high = [0,3,4,0], value = -2 }");
  const auto* padded = pad.node().xnode_union_as_XNNStaticConstantPad();
  EXPECT_EQ(elements(padded->pre_paddings()), (std::vector<uint32_t>{0, 1, 2, 0}));
  EXPECT_EQ(elements(padded->post_paddings()), (std::vector<uint32_t>{0, 3, 4, 0}));
  EXPECT_EQ(padded->padding_value(), -2.0f);
  for (const bool corners : {false, true}) {
    const PayloadReader resize =
        first(fmt::format("resize(%x) {{ size = [8,2], step = [{}], align_corners = {} }}",
                          corners ? "0.42857142857142855,3" : "0.5,2", corners));
    const auto* resized = resize.node().xnode_union_as_XNNStaticResizeBilinear2D();
    EXPECT_EQ(resized->new_height(), 8u);
    EXPECT_EQ(resized->new_width(), 2u);
    EXPECT_EQ(resized->flags(), corners ? 8u : 0u);
  }
  EXPECT_EQ(first("reduce_mean(%x) { axes = [1,2] }")
                .node()
                .xnode_union_as_XNNGlobalAvgPooling2d()
                ->flags(),
            64u);
}

TEST(XnnKernels, LongAveragesAreTakenInTwoSteps) {
  const auto kinds_of = [](std::string_view type, std::string_view symbols = "") {
    return kinds(emitted(fmt::format(
        "{} input \"x\" %x : {}  %y = reduce_mean(%x) {{ axes = [1,2] }}", symbols, type)));
  };
  constexpr Kind kAverage = Kind::XNNGlobalAvgPooling2d, kView = Kind::XNNStaticReshape,
                 kTranspose = Kind::XNNStaticTranspose;
  const std::vector at_once = {kAverage}, by_views = {kView, kAverage, kView, kAverage};
  const std::vector by_transposes = {kTranspose, kAverage, kTranspose, kAverage};
  EXPECT_EQ(kinds_of("f32[2,64,64,3]"), at_once);
  EXPECT_EQ(kinds_of("f32[2,64,65,3]"), by_views);
  EXPECT_EQ(kinds_of("f16[2,64,65,3]"), by_views);
  // Integers are added exactly.
  EXPECT_EQ(kinds(emitted("input \"x\" %x : f32[1,64,65,3] "
                          "%q = quantize(%x) { quantisation = i8 in [-128,127] scale f32[] (0.5) } "
                          "%y = reduce_mean(%q) { axes = [1,2], quantisation = i8 in [-128,127] "
                          "scale f32[] (0.5) }")),
            (std::vector{Kind::XNNConvert, kAverage}));
  // A line is cut, if it can be.
  EXPECT_EQ(kinds_of("f32[2,4098,1,3]"), by_views);
  EXPECT_EQ(kinds_of("f32[2,1,4098,3]"), by_views);
  EXPECT_EQ(kinds_of("f32[2,4099,1,3]"), at_once);
  // The upper bounds of dynamic sizes count.
  const std::string_view few = "symbol s1 \"a\" in [1,8] symbol s2 \"b\" in [1,8]";
  const std::string_view many = "symbol s1 \"a\" in [1,9] symbol s2 \"b\" in [1,8]";
  EXPECT_EQ(kinds_of("f32[1,8*s1,8*s2,3]", few), at_once);
  EXPECT_EQ(kinds_of("f32[1,8*s1,8*s2,3]", many), by_transposes);
  EXPECT_EQ(kinds_of("f32[1,8*s1,64,3]", many), by_views);
  EXPECT_EQ(kinds_of("f32[2,8*s1,64,3]", many), by_views);
  EXPECT_EQ(kinds_of("f32[s1,64,65,3]", many), by_views);
  EXPECT_EQ(kinds_of("f32[2,8*s1,8*s2,3]", many), at_once);
  EXPECT_EQ(kinds_of("f32[1,512*s1,1,3]", many), by_views);
  EXPECT_EQ(kinds_of("f32[1,512*s1,1,s2]", many), at_once);
}

}  // namespace
}  // namespace layline::xnnpack
