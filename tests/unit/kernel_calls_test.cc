// Calls of the runtime's kernels: which nodes they compute, and with what arguments.
#include "targets/kernel_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/text.h"
#include "targets/xnnpack/lower.h"

namespace layline {
namespace {

std::string graph_text(std::string_view body) {
  return fmt::format("graph \"forward\" {{\n{}\noutput \"y\" %y\n}}", body);
}

/// Why no kernel computes the node that defines %y.
std::string refused(std::string_view body) {
  const Graph graph = parse_graph(graph_text(body), "test");
  return kernel_refusal(*graph.outputs()[0].value->def());
}

struct Shown {
  const pte::Method& method;
  std::string operator()(pte::None) const { return "none"; }
  std::string operator()(int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(double number) const { return fmt::format("{:.1f}", number); }
  std::string operator()(bool truth) const { return truth ? "true" : "false"; }
  std::string operator()(const std::string& text) const { return "'" + text + "'"; }
  std::string operator()(const pte::TensorDesc& tensor) const {
    return fmt::format("{}{}", tensor.type == pte::ScalarType::kInt64 ? "i" : "t", tensor.sizes);
  }
  std::string operator()(const pte::IntList& list) const {
    std::vector<int64_t> numbers;
    for (const pte::IntItem& item : list) numbers.push_back(item.value ? -99 : item.literal);
    return fmt::format("{}", numbers);
  }
  std::string operator()(const pte::DoubleList& list) const { return fmt::format("{}", list); }
  std::string operator()(const pte::TensorList& list) const { return all(list.tensors); }
  std::string operator()(const auto&) const { return "?"; }
  std::string all(const std::vector<pte::ValueId>& ids) const {
    std::vector<std::string> texts;
    for (const pte::ValueId id : ids)
      texts.push_back(std::visit(*this, method.values[static_cast<size_t>(id)]));
    return fmt::format("({})", fmt::join(texts, " "));
  }
};

/// The calls of a program without delegates, each as `kernel.overload(arguments)`.
std::vector<std::string> calls(std::string_view body) {
  Report report;
  const auto program =
      xnnpack::lower(parse_graphs(graph_text(body), "test"), report, {.delegate = false});
  std::vector<std::string> result;
  for (const pte::Instruction& instruction : program.methods[0].instructions) {
    const auto& call = std::get<pte::KernelCall>(instruction);
    result.push_back(fmt::format("{}.{}{}", call.name.substr(call.name.find("::") + 2),
                                 call.overload, Shown{program.methods[0]}.all(call.args)));
  }
  return result;
}

using Calls = std::vector<std::string>;

TEST(KernelRefusals, AreOfWhatTheRuntimeHasNot) {
  const std::string seventeen = "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]";
  const std::string sixteen = "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]";
  const std::string window = "stride = [1,1], dilation = [1,1], low = [1,0], high = [1,0]";
  const auto conv = [&](std::string_view attributes) {
    return fmt::format(
        "input \"x\" %x : f32[1,4,4,1] input \"w\" %w : f32[1,2,2,1] "
        "%y = conv(%x, %w) {{ {} }}",
        attributes);
  };
  const auto pool = [](std::string_view op, std::string_view attributes) {
    return fmt::format("input \"x\" %x : f32[1,9,9,1] %y = {}(%x) {{ {} }}", op, attributes);
  };
  const auto gather = [](std::string_view data, std::string_view index, int axis) {
    return fmt::format(
        "input \"x\" %x : f32{} input \"i\" %i : {} "
        "%y = gather(%x, %i) {{ axis = {} }}",
        data, index, axis);
  };
  const auto matmul = [](std::string_view a, std::string_view b, std::string_view attributes = "") {
    return fmt::format("input \"a\" %a : f32{} input \"b\" %b : f32{} %y = matmul(%a, %b) {}", a, b,
                       attributes);
  };
  const std::pair<std::string_view, std::string> cases[] = {
      {"no kernel for it", "input \"x\" %x : f32[2] %y = hardswish(%x)"},
      {"", "input \"x\" %x : f32" + sixteen + " %y = abs(%x)"},
      {"17 axes, the runtime takes at most 16",
       "input \"x\" %x : f32" + seventeen + " %y = abs(%x)"},
      {"17 axes", "input \"x\" %x : f32[2] %y = expand(%x) { shape = " + seventeen + " }"},
      {"takes no u16", "input \"x\" %x : u16[2] %y = abs(%x)"},
      {"takes no u16", "input \"x\" %x : i32[2] %y = convert(%x) { to = u16 }"},
      {"", "input \"x\" %x : u16[2] %y = expand(%x) { shape = [3,2] }"},
      {"", "input \"x\" %x : u16[2] %y = slice(%x) { start = [0], size = [1], step = [1] }"},
      {"", "input \"x\" %x : u16[2] input \"i\" %i : i64[3] %y = gather(%x, %i) { axis = 0 }"},
      {"", "input \"x\" %x : u16[2,3] %y = relayout(%x) { relayout = [2,3] -> [6] }"},
      {"takes no u16",
       "input \"x\" %x : u16[2,3] %y = relayout(%x) { relayout = [2,3] (2,3)->(1,0) [3,2] }"},
      {"takes no u16", "input \"x\" %x : u16[2] %y = concat(%x, %x) { axis = 0 }"},
      {"", "input \"x\" %x : f32[2] %y = pad(%x) { low = [1], high = [0] }"},
      {"other than by a constant",
       "input \"x\" %x : f32[2] %y = pad(%x) { low = [1], high = [0], mode = reflect }"},
      {"", gather("[4,3]", "i64[2]", 1)},
      {"", gather("[4,3]", "i32[2]", 1)},
      {"indices of type i16", gather("[4,3]", "i16[2]", 1)},
      {"", gather("[4,3]", "i64[2,2]", 0)},
      {"indices with several axes", gather("[4,3]", "i64[2,2]", 1)},
      {"indices with several axes", gather("[4,3,2]", "i64[2,2]", 0)},
      {"indices with several axes", gather("[4]", "i64[2,2]", 0)},
      {"",
       "input \"x\" %x : f32[2] input \"i\" %i : i64[2] "
       "%y = gather_elements(%x, %i) { axis = 0 }"},
      {"indices of type i32",
       "input \"x\" %x : f32[2] input \"i\" %i : i32[2] "
       "%y = gather_elements(%x, %i) { axis = 0 }"},
      {"", matmul("[2,3]", "[3,4]")},
      {"", matmul("[5,2,3]", "[5,3,4]")},
      {"a transposed matmul", matmul("[2,3]", "[4,3]", "{ transpose_b = true }")},
      {"a broadcast matmul", matmul("[5,2,3]", "[1,3,4]")},
      {"a broadcast matmul", matmul("[1,2,3]", "[5,3,4]")},
      {"a broadcast matmul", matmul("[2,3]", "[5,3,4]")},
      {"a broadcast matmul", matmul("[5,2,3]", "[3,4]")},
      {"a broadcast matmul", matmul("[5,3]", "[5,3,4]")},
      {"a broadcast matmul", matmul("[3,2,3]", "[3,4]")},
      {"a broadcast matmul", matmul("[6,5,2,3]", "[6,5,3,4]")},
      {"", "input \"x\" %x : f32[2,3] %y = reduce_prod(%x) { axes = [0] }"},
      {"over several axes", "input \"x\" %x : f32[2,3] %y = reduce_prod(%x) { axes = [0,1] }"},
      {"", "input \"x\" %x : f32[2] %y = log_softmax(%x) { axis = 0 }"},
      {"takes no f64", "input \"x\" %x : f64[2] %y = log_softmax(%x) { axis = 0 }"},
      {"", "input \"x\" %x : f32[2] %y = remainder(%x, %x)"},
      {"wrong for integers", "input \"x\" %x : i32[2] %y = remainder(%x, %x)"},
      {"", "input \"x\" %x : f32[2] %y = add(%x, %x)"},
      {"a fused clamp", "input \"x\" %x : f32[2] %y = add(%x, %x) { bounds = [0,inf] }"},
      {"", conv(window)},
      {"a fused clamp", conv(window + ", bounds = [0,inf]")},
      {"different padding", conv("stride = [1,1], dilation = [1,1], low = [1,0], high = [1,1]")},
      {"other than two spatial axes",
       "input \"x\" %x : f32[1,4,1] input \"w\" %w : f32[1,2,1] "
       "%y = conv(%x, %w) { stride = [1], dilation = [1], low = [0], high = [0] }"},
      {"different padding",
       "input \"x\" %x : f32[1,4,4,1] input \"w\" %w : f32[1,2,2,1] %y = conv_transpose(%x, %w) { "
       "stride = [1,1], dilation = [1,1], low = [1,0], high = [0,0], extra = [0,0] }"},
      {"", pool("max_pool",
                "kernel = [4,2], stride = [1,1], dilation = [1,1], low = [2,1], "
                "high = [2,1]")},
      {"more than half the kernel", pool("max_pool",
                                         "kernel = [3,2], stride = [1,1], "
                                         "dilation = [1,1], low = [2,1], high = [2,1]")},
      {"more than half the kernel", pool("max_pool",
                                         "kernel = [4,3], stride = [1,1], "
                                         "dilation = [1,1], low = [2,2], high = [2,2]")},
      {"a fused clamp", pool("max_pool",
                             "kernel = [2,2], stride = [1,1], dilation = [1,1], "
                             "low = [0,0], high = [0,0], bounds = [-inf,3]")},
      {"", pool("max_pool",
                "kernel = [2,2], stride = [1,1], dilation = [1,2], low = [0,0], "
                "high = [0,0]")},
      {"every other element", pool("avg_pool",
                                   "kernel = [2,2], stride = [1,1], dilation = [1,2], "
                                   "low = [0,0], high = [0,0]")},
      {"more than half the kernel", pool("avg_pool",
                                         "kernel = [3,2], stride = [1,1], "
                                         "dilation = [1,1], low = [2,1], high = [2,1]")},
  };
  for (const auto& [why, body] : cases) {
    const std::string found = refused(body);
    EXPECT_TRUE(why.empty() ? found.empty() : found.find(why) != std::string::npos)
        << body << "\nexpected '" << why << "', found '" << found << "'";
  }
}

TEST(KernelRefusals, QuantisedNumbersAreOnlyMoved) {
  const auto quantised = [](std::string_view made) {
    return refused(
        fmt::format("input \"x\" %x : f32[4] %q = quantize(%x) {{ quantisation = i8 in "
                    "[-128,127] scale f32[] (0.5) zero i32[] (3) }} %y = {}",
                    made));
  };
  constexpr std::string_view kReals = "the runtime's kernels compute on real numbers";
  EXPECT_EQ(quantised("slice(%q) { start = [0], size = [2], step = [1] }"), "");
  EXPECT_EQ(quantised("concat(%q, %q) { axis = 0 }"), "");
  EXPECT_EQ(quantised("reinterpret(%q)"), "");
  // Zeros are not the integer 0.
  EXPECT_EQ(quantised("pad(%q) { low = [1], high = [0] }"), kReals);
  EXPECT_EQ(quantised("clamp(%q) { bounds = [0,1] }"), kReals);
}

/// The kernel can be given the sizes, or the scales, and what it makes of them must be the node's.
TEST(KernelRefusals, ResizesByTheRatioOfSizesOrByAScaleThatGivesThem) {
  const auto resized = [](std::string_view attributes) {
    return refused(
        fmt::format("input \"x\" %x : f32[1,4,5,1] %y = resize(%x) {{ {} }}", attributes));
  };
  constexpr std::string_view kNeither = "a resize that is not by the ratio of sizes";
  EXPECT_EQ(resized("size = [8,10], step = [0.5,0.5]"), "");
  // 4 / 0.45 = 8.9, of which the kernel makes 8.
  EXPECT_EQ(resized("size = [8,10], step = [0.45,0.5]"), "");
  EXPECT_EQ(resized("size = [8,10], step = [0.6,0.5]"), kNeither);
  EXPECT_EQ(resized("size = [8,10], step = [0.5,0.4]"), kNeither);
  EXPECT_EQ(resized("size = [8,10], step = [0.4,0.5]"), kNeither);
  // Corners: 3 / 7 and 4 / 9.
  EXPECT_EQ(resized("size = [8,10], step = [0.42857142857142855,0.4444444444444444], "
                    "align_corners = true"),
            "");
  EXPECT_EQ(resized("size = [8,10], step = [0.5,0.5], align_corners = true"), kNeither);
  EXPECT_EQ(resized("size = [1,10], step = [0,0.4444444444444444], align_corners = true"), "");
  EXPECT_EQ(resized("size = [8,10], step = [0.5,0.5], mode = nearest, align_corners = true"), "");
  const auto dynamic = [](std::string_view step) {
    return refused(
        fmt::format("symbol s1 \"n\" in [2,9] input \"x\" %x : f32[1,s1,5,1] "
                    "%y = resize(%x) {{ size = [2*s1,10], step = {} }}",
                    step));
  };
  EXPECT_EQ(dynamic("[-1,0.5]"), "");
  EXPECT_EQ(dynamic("[0.5,0.5]"), "");
  EXPECT_EQ(dynamic("[-1,0.49]"), kNeither);
  EXPECT_EQ(dynamic("[0.5,0.6]"), kNeither);
  // The first axis by its scale, the second by the ratio of its sizes: neither says both.
  const auto both = [](std::string_view step) {
    return refused(
        fmt::format("symbol s1 \"n\" in [2,9] input \"x\" %x : f32[1,s1,s1,1] "
                    "%y = resize(%x) {{ size = [2*s1,2*s1], step = {} }}",
                    step));
  };
  EXPECT_EQ(both("[-1,-1]"), "");
  EXPECT_EQ(both("[0.5,0.5]"), "");
  EXPECT_EQ(both("[-1,0.5]"), kNeither);
  EXPECT_EQ(both("[0.5,-1]"), kNeither);
  // One of the two sizes is dynamic.
  EXPECT_EQ(
      refused("symbol s1 \"n\" in [2,9] input \"n\" %n : f32[s1] input \"x\" %x : f32[1,4,5,1] "
              "%y = resize(%x) { size = [s1,10], step = [-1,0.5] }"),
      "");
  EXPECT_EQ(refused("symbol s1 \"n\" in [2,9] input \"x\" %x : f32[1,s1,5,1] "
                    "%y = resize(%x) { size = [8,10], step = [-1,0.5] }"),
            "");
  // Two places of corners.
  EXPECT_EQ(resized("size = [2,10], step = [3,0.4444444444444444], align_corners = true"), "");
}

TEST(KernelCalls, OfOpsWithoutAttributes) {
  EXPECT_EQ(calls("input \"x\" %x : f32[2] input \"z\" %z : f32[1] %y = sub(%x, %z)"),
            Calls{"sub.out(t[2] t[1] 1 t[2] t[2])"});
  EXPECT_EQ(calls("input \"x\" %x : i8[2] %y = reinterpret(%x) { quantisation = i8 in [-128,127] "
                  "scale f32[] (1) }"),
            Calls{"view_copy.out(t[2] [2] t[2] t[2])"});
  EXPECT_EQ(calls("input \"x\" %x : f32[2] %y = div(%x, %x)"),
            Calls{"div.out(t[2] t[2] t[2] t[2])"});
  EXPECT_EQ(calls("input \"x\" %x : f32[2] %y = square(%x)"),
            Calls{"mul.out(t[2] t[2] t[2] t[2])"});
  EXPECT_EQ(calls("input \"x\" %x : f32[2] %y = gelu(%x)"),
            Calls{"gelu.out(t[2] 'none' t[2] t[2])"});
  EXPECT_EQ(calls("input \"x\" %x : f32[2] %y = gelu(%x) { tanh = true }"),
            Calls{"gelu.out(t[2] 'tanh' t[2] t[2])"});
  EXPECT_EQ(calls("input \"x\" %x : f32[2] %y = elu(%x) { alpha = 0.5 }"),
            Calls{"elu.out(t[2] 0.5 1 1 t[2] t[2])"});
  EXPECT_EQ(calls("input \"x\" %x : f32[2] %y = leaky_relu(%x) { alpha = 0.5 }"),
            Calls{"leaky_relu.out(t[2] 0.5 t[2] t[2])"});
  EXPECT_EQ(calls("input \"x\" %x : f32[2] %y = convert(%x) { to = i32 }"),
            Calls{"_to_copy.out(t[2] false none t[2] t[2])"});
}

TEST(KernelCalls, OfClamps) {
  const auto clamped = [](std::string_view dtype, std::string_view bounds) {
    return calls(
        fmt::format("input \"x\" %x : {}[2] %y = clamp(%x) {{ bounds = {} }}", dtype, bounds));
  };
  EXPECT_EQ(clamped("f32", "[0,6]"), Calls{"clamp.out(t[2] 0.0 6.0 t[2] t[2])"});
  EXPECT_EQ(clamped("f32", "[-inf,6]"), Calls{"clamp.out(t[2] none 6.0 t[2] t[2])"});
  EXPECT_EQ(clamped("f32", "[0,inf]"), Calls{"clamp.out(t[2] 0.0 none t[2] t[2])"});
  EXPECT_EQ(clamped("i32", "[0,6]"), Calls{"clamp.out(t[2] 0 6 t[2] t[2])"});
  // No element of the type is beyond the bound, which the kernel would not take.
  EXPECT_EQ(clamped("i8", "[0,128]"), Calls{"clamp.out(t[2] 0 none t[2] t[2])"});
  EXPECT_EQ(clamped("i8", "[-129,127]"), Calls{"clamp.out(t[2] none 127 t[2] t[2])"});
  EXPECT_EQ(clamped("i8", "[-129,128]"), Calls{"clone.out(t[2] none t[2] t[2])"});
}

TEST(KernelCalls, OfSlices) {
  const auto sliced = [](std::string_view attributes) {
    return calls(fmt::format("input \"x\" %x : f32[7,5] %y = slice(%x) {{ {} }}", attributes));
  };
  EXPECT_EQ(sliced("start = [0,0], size = [7,5], step = [1,1]"),
            Calls{"clone.out(t[7, 5] none t[7, 5] t[7, 5])"});
  EXPECT_EQ(sliced("start = [2,0], size = [4,5], step = [1,1]"),
            Calls{"slice_copy.Tensor_out(t[7, 5] 0 2 6 1 t[4, 5] t[4, 5])"});
  // The last of 3 elements in steps of 2 from 1 on is 5: it ends at 6.
  EXPECT_EQ(sliced("start = [1,0], size = [3,5], step = [2,1]"),
            Calls{"slice_copy.Tensor_out(t[7, 5] 0 1 6 2 t[3, 5] t[3, 5])"});
  EXPECT_EQ(sliced("start = [2,1], size = [4,3], step = [1,1]"),
            (Calls{"slice_copy.Tensor_out(t[7, 5] 0 2 6 1 t[4, 5] t[4, 5])",
                   "slice_copy.Tensor_out(t[4, 5] 1 1 4 1 t[4, 3] t[4, 3])"}));
  EXPECT_EQ(sliced("start = [3,0], size = [0,5], step = [2,1]"),
            Calls{"slice_copy.Tensor_out(t[7, 5] 0 3 3 2 t[0, 5] t[0, 5])"});
}

TEST(KernelCalls, OfMoves) {
  const auto moved = [](std::string_view type, std::string_view made) {
    return calls(fmt::format("input \"x\" %x : f32{} %y = {}", type, made));
  };
  EXPECT_EQ(moved("[2,3]", "relayout(%x) { relayout = [2,3] -> [6] }"),
            Calls{"view_copy.out(t[2, 3] [6] t[6] t[6])"});
  EXPECT_EQ(moved("[2,3]", "relayout(%x) { relayout = [2,3] (2,3)->(1,0) [3,2] }"),
            Calls{"permute_copy.out(t[2, 3] [1, 0] t[3, 2] t[3, 2])"});
  EXPECT_EQ(moved("[6]", "relayout(%x) { relayout = [6] (2,3)->(1,0) [3,2] }"),
            (Calls{"view_copy.out(t[6] [2, 3] t[2, 3] t[2, 3])",
                   "permute_copy.out(t[2, 3] [1, 0] t[3, 2] t[3, 2])"}));
  EXPECT_EQ(moved("[2,3]", "relayout(%x) { relayout = [2,3] (2,3)->(1,0) [6] }"),
            (Calls{"permute_copy.out(t[2, 3] [1, 0] t[3, 2] t[3, 2])",
                   "view_copy.out(t[3, 2] [6] t[6] t[6])"}));
  EXPECT_EQ(moved("[2,3]", "expand(%x) { shape = [4,2,3] }"),
            Calls{"expand_copy.out(t[2, 3] [4, 2, 3] false t[4, 2, 3] t[4, 2, 3])"});
  EXPECT_EQ(moved("[2,3]", "concat(%x, %x) { axis = 1 }"),
            Calls{"cat.out((t[2, 3] t[2, 3]) 1 t[2, 6] t[2, 6])"});
  EXPECT_EQ(moved("[2,3]", "pad(%x) { low = [1,2], high = [3,4], value = 5 }"),
            Calls{"constant_pad_nd.out(t[2, 3] [2, 4, 1, 3] 5.0 t[6, 9] t[6, 9])"});
  EXPECT_EQ(calls("input \"x\" %x : i32[2] %y = pad(%x) { low = [1], high = [0], value = 5 }"),
            Calls{"constant_pad_nd.out(t[2] [1, 0] 5 t[3] t[3])"});
  EXPECT_EQ(moved("[2,3]", "flip(%x) { axes = [1] }"),
            Calls{"flip.out(t[2, 3] [1] t[2, 3] t[2, 3])"});
  EXPECT_EQ(moved("[2,3]", "roll(%x) { axes = [1,0], shifts = [2,-1] }"),
            Calls{"roll.out(t[2, 3] [2, -1] [1, 0] t[2, 3] t[2, 3])"});
}

TEST(KernelCalls, OfIndices) {
  const auto gathered = [](std::string_view index, int axis) {
    return calls(
        fmt::format("input \"x\" %x : f32[4,3] input \"i\" %i : i64{} "
                    "%y = gather(%x, %i) {{ axis = {} }}",
                    index, axis));
  };
  EXPECT_EQ(gathered("[2]", 1), Calls{"index_select.out(t[4, 3] 1 i[2] t[4, 2] t[4, 2])"});
  EXPECT_EQ(gathered("[2,5]", 0),
            Calls{"embedding.out(t[4, 3] i[2, 5] -1 false false t[2, 5, 3] t[2, 5, 3])"});
  constexpr std::string_view kPlaces = "input \"x\" %x : f32[4,3] input \"i\" %i : i64[1,3] ";
  EXPECT_EQ(calls(std::string(kPlaces) + "%y = gather_elements(%x, %i) { axis = 0 }"),
            Calls{"gather.out(t[4, 3] 0 i[1, 3] false t[1, 3] t[1, 3])"});
  EXPECT_EQ(calls(std::string(kPlaces) +
                  "input \"u\" %u : f32[1,3] %y = scatter_elements(%x, %i, %u) { axis = 0 }"),
            Calls{"scatter.src_out(t[4, 3] 0 i[1, 3] t[1, 3] t[4, 3] t[4, 3])"});
  EXPECT_EQ(calls(std::string(kPlaces) +
                  "input \"u\" %u : f32[1,3] %y = scatter_add(%x, %i, %u) { axis = 0 }"),
            Calls{"scatter_add.out(t[4, 3] 0 i[1, 3] t[1, 3] t[4, 3] t[4, 3])"});
}

TEST(KernelCalls, OfProductsAndReductions) {
  EXPECT_EQ(calls("input \"a\" %a : f32[2,3] input \"b\" %b : f32[3,4] %y = matmul(%a, %b)"),
            Calls{"mm.out(t[2, 3] t[3, 4] t[2, 4] t[2, 4])"});
  EXPECT_EQ(calls("input \"a\" %a : f32[5,2,3] input \"b\" %b : f32[5,3,4] %y = matmul(%a, %b)"),
            Calls{"bmm.out(t[5, 2, 3] t[5, 3, 4] t[5, 2, 4] t[5, 2, 4])"});
  const auto reduced = [](std::string_view made, std::string_view dtype = "f32") {
    return calls(fmt::format("input \"x\" %x : {}[4,3] %y = {}", dtype, made));
  };
  EXPECT_EQ(reduced("reduce_sum(%x) { axes = [0,1] }"),
            Calls{"sum.IntList_out(t[4, 3] [0, 1] true none t[1, 1] t[1, 1])"});
  EXPECT_EQ(reduced("reduce_max(%x) { axes = [1] }"),
            Calls{"amax.out(t[4, 3] [1] true t[4, 1] t[4, 1])"});
  EXPECT_EQ(reduced("reduce_prod(%x) { axes = [1] }"),
            Calls{"prod.int_out(t[4, 3] 1 true none t[4, 1] t[4, 1])"});
  EXPECT_EQ(reduced("reduce_all(%x) { axes = [1] }", "bool"),
            (Calls{"logical_not.out(t[4, 3] t[4, 3] t[4, 3])",
                   "any.dims_out(t[4, 3] [1] true t[4, 1] t[4, 1])",
                   "logical_not.out(t[4, 1] t[4, 1] t[4, 1])"}));
  EXPECT_EQ(reduced("argmax(%x) { axis = 1 }"),
            Calls{"argmax.out(t[4, 3] 1 true i[4, 1] i[4, 1])"});
  EXPECT_EQ(reduced("argsort(%x) { axis = 1 }"),
            Calls{"topk.values(t[4, 3] 3 1 true true t[4, 3] i[4, 3] (t[4, 3] i[4, 3]))"});
  EXPECT_EQ(reduced("softmax(%x) { axis = 1 }"),
            Calls{"_softmax.out(t[4, 3] 1 false t[4, 3] t[4, 3])"});
  EXPECT_EQ(reduced("cumsum(%x) { axis = 1 }"),
            Calls{"cumsum.out(t[4, 3] 1 none t[4, 3] t[4, 3])"});
  EXPECT_EQ(calls("input \"x\" %x : i32[2] %y = floor_div(%x, %x)"),
            Calls{"floor_divide.out(t[2] t[2] t[2] t[2])"});
}

/// Kernels want channels first: permutes stand around the call, which is what is returned here.
std::string within_permutes(const Calls& all) {
  EXPECT_GE(all.size(), 3u);
  EXPECT_TRUE(all.front().starts_with("permute_copy.out(t[1, 4, 6, 2] [0, 3, 1, 2] t[1, 2, 4, 6]"));
  EXPECT_TRUE(all.back().find("[0, 2, 3, 1]") != std::string::npos);
  return all[all.size() - 2];
}

TEST(KernelCalls, OfWindows) {
  const auto window = [](std::string_view made) {
    return within_permutes(calls(fmt::format("input \"x\" %x : f32[1,4,6,2] {}", made)));
  };
  EXPECT_EQ(window("%w = constant() { data = f32[3,1,2,2] splat 1 } %y = conv(%x, %w) { stride = "
                   "[1,2], dilation = [2,1], low = [0,1], high = [0,1] }"),
            "convolution.out(t[1, 2, 4, 6] t[3, 2, 1, 2] none [1, 2] [0, 1] [2, 1] false [0, 0] 1 "
            "t[1, 3, 4, 4] t[1, 3, 4, 4])");
  EXPECT_EQ(
      window("%w = constant() { data = f32[6,1,2,1] splat 1 } %b = constant() { data = f32[6] "
             "splat 1 } %y = conv_transpose(%x, %w, %b) { stride = [1,2], dilation = [1,1], "
             "low = [0,0], high = [0,0], extra = [0,1], groups = 2 }"),
      "convolution.out(t[1, 2, 4, 6] t[2, 3, 1, 2] t[6] [1, 2] [0, 0] [1, 1] true [0, 1] 2 "
      "t[1, 6, 4, 13] t[1, 6, 4, 13])");
  EXPECT_EQ(window("%y = max_pool(%x) { kernel = [2,3], stride = [2,1], dilation = [1,2], "
                   "low = [1,0], high = [1,0] }"),
            "max_pool2d_with_indices.out(t[1, 2, 4, 6] [2, 3] [2, 1] [1, 0] [1, 2] false "
            "t[1, 2, 3, 2] i[1, 2, 3, 2] (t[1, 2, 3, 2] i[1, 2, 3, 2]))");
  EXPECT_EQ(window("%y = avg_pool(%x) { kernel = [2,3], stride = [2,1], dilation = [1,1], "
                   "low = [1,0], high = [1,0], count_padding = true }"),
            "avg_pool2d.out(t[1, 2, 4, 6] [2, 3] [2, 1] [1, 0] false true none "
            "t[1, 2, 3, 4] t[1, 2, 3, 4])");
  EXPECT_EQ(window("%y = resize(%x) { size = [8,3], step = [0.5,2] }"),
            "upsample_bilinear2d.vec_out(t[1, 2, 4, 6] [8, 3] false none "
            "t[1, 2, 8, 3] t[1, 2, 8, 3])");
  EXPECT_EQ(window("%y = resize(%x) { size = [8,2], step = [0.5,2.5], mode = nearest }"),
            "upsample_nearest2d.vec_out(t[1, 2, 4, 6] none [2, 0.4] t[1, 2, 8, 2] t[1, 2, 8, 2])");
  EXPECT_EQ(window("input \"g\" %g : f32[1,3,5,2] %y = grid_sample(%x, %g) { mode = nearest, "
                   "outside = border, align_corners = true }"),
            "grid_sampler_2d.out(t[1, 2, 4, 6] t[1, 3, 5, 2] 1 1 true "
            "t[1, 2, 3, 5] t[1, 2, 3, 5])");
}

/// Weights that are no constant are moved by kernels.
TEST(KernelCalls, OfAConvolutionByAnInput) {
  const Calls all = calls(
      "input \"x\" %x : f32[1,4,6,2] input \"w\" %w : f32[3,1,2,2] %y = conv(%x, %w) { stride = "
      "[1,1], dilation = [1,1], low = [0,0], high = [0,0] }");
  // [O,H,W,I] is [3, 1*2, 2], turned into [3, 2, 1*2], and seen as [O,I,H,W].
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(all[1], "view_copy.out(t[3, 1, 2, 2] [3, 2, 2] t[3, 2, 2] t[3, 2, 2])");
  EXPECT_EQ(all[2], "permute_copy.out(t[3, 2, 2] [0, 2, 1] t[3, 2, 2] t[3, 2, 2])");
  EXPECT_EQ(all[3], "view_copy.out(t[3, 2, 2] [3, 2, 1, 2] t[3, 2, 1, 2] t[3, 2, 1, 2])");
}

/// The size that a kernel is told is computed from the size of an input; -99 stands for it.
TEST(KernelCalls, OfDynamicSizes) {
  const auto flipped = [](std::string_view symbols, std::string_view in, std::string_view out) {
    return calls(fmt::format("{} input \"x\" %x : f32[{}] %y = expand(%x) {{ shape = [{},{}] }}",
                             symbols, in, out, in));
  };
  EXPECT_EQ(
      flipped("symbol s1 \"n\" in [1,9]", "s1", "4"),
      (Calls{"sym_size.int(t[9] 0 0)", "expand_copy.out(t[9] [4, -99] false t[4, 9] t[4, 9])"}));
  // An input of 2 s1 - 1 elements tells that s1 is (its size + 1) / 2, and is then computed as -1 +
  // 2 s1.
  EXPECT_EQ(flipped("symbol s1 \"n\" in [1,9] symbol s2 = \"2*s1-1\"", "s2", "s1"),
            (Calls{"sym_size.int(t[17] 0 0)", "sub.Scalar(0 -1 0)", "floordiv.Scalar(0 2 0)",
                   "mul.Scalar(2 0 0)", "add.Scalar(-1 0 0)",
                   "expand_copy.out(t[17] [-99, -99] false t[9, 17] t[9, 17])"}));
  // One that is known is not computed again.
  EXPECT_EQ(flipped("symbol s1 \"n\" in [1,9] symbol s2 = \"(s1)//2\"", "s1", "s2").size(), 3u);
  const auto computed = [&](std::string_view formula) {
    Calls all =
        flipped(fmt::format("symbol s1 \"n\" in [2,9] symbol s2 \"m\" in [2,9] symbol s3 = \"{}\" "
                            "input \"z\" %z : f32[s2]",
                            formula),
                "s1", "s3");
    all.pop_back();
    return all;
  };
  const std::string first = "sym_size.int(t[9] 0 0)";
  EXPECT_EQ(computed("(s1)//3"), (Calls{first, "floordiv.Scalar(0 3 0)"}));
  EXPECT_EQ(computed("max(s1,s2)"), (Calls{first, first, "sym_max.Scalar(0 0 0)"}));
  EXPECT_EQ(computed("min(s1,s2)"), (Calls{first, first, "sym_min.Scalar(0 0 0)"}));
  EXPECT_EQ(computed("s1+s2"), (Calls{first, first, "add.Scalar(0 0 0)"}));
  // An output in another order has its sizes from the tensor in the order of the kernel.
  const Calls ordered = calls(
      "symbol s1 \"n\" in [1,9] input \"x\" %x : f32[s1,2] %y = neg(%x) output \"z\" %y order "
      "(1,0)");
  ASSERT_FALSE(ordered.empty());
  EXPECT_EQ(ordered.back().substr(0, ordered.back().find('(')), "et_view.default");
  EXPECT_NE(ordered.back().find("[2, -99]"), std::string::npos) << ordered.back();
  EXPECT_THROW(flipped("symbol s1 \"n\" in [1,9] symbol s2 \"m\" in [1,9]", "s1", "s2"), UserError);
}

}  // namespace
}  // namespace layline
