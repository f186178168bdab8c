// Which ops on quantised numbers XNNPACK computes: dtypes, tables of scales, and how far they may
// be apart. The bounds are XNNPACK's own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emitted_payload.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "pte_reader.h"
#include "targets/xnnpack/kernels.h"
#include "targets/xnnpack/quantised.h"

namespace layline::xnnpack {
namespace {

std::string per_tensor(std::string_view dtype, double scale, int zero_point) {
  const bool is_unsigned = dtype == "u8";
  return fmt::format("quantisation = {} in [{},{}] scale f32[] ({}) zero i32[] ({})", dtype,
                     is_unsigned ? 0 : -128, is_unsigned ? 255 : 127, scale, zero_point);
}

const std::string kPlain = per_tensor("i8", 1, 0);

/// Why the node that defines %y is refused.
std::string refused(std::string_view body) {
  const Graph graph =
      parse_graph(fmt::format("graph \"test\" {{\n{}\noutput \"y\" %y\n}}", body), "test");
  return refusal(*graph.outputs()[0].value->def());
}

/// A product of rows of 64 with 4 rows of weights.
struct Linear {
  std::string x = kPlain;  // empty: real
  std::string weight = "i8[4,64] splat 1, quantisation = i8 in [-128,127] scale f32[] (1)";
  std::string bias = {};
  std::string attributes = kPlain;
  std::string more = {};  // other statements

  std::string body() const {
    return fmt::format(
        "input \"x\" %x : f32[2,64] {} %q = {} %w = constant() {{ data = {} }} {} "
        "%y = linear(%q, %w{}) {{ {} }}",
        more, x.empty() ? "tanh(%x)" : fmt::format("quantize(%x) {{ {} }}", x), weight, bias,
        bias.empty() ? "" : ", %b", attributes);
  }
  std::string why() const { return refused(body()); }
};

std::string weight(std::string_view quantisation) {
  return fmt::format("i8[4,64] splat 1, quantisation = {}", quantisation);
}

std::string bias(double value) {
  return fmt::format("%b = constant() {{ data = f32[4] splat {} }}", value);
}

std::vector<double> numbers_of(const Constant& constant) {
  const Tensor tensor = tensor_of(constant);
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.count(); ++i) numbers.push_back(tensor.get(i));
  return numbers;
}

constexpr std::string_view kWeights =
    "XNNPACK's quantised weights are constant, of 8 or 4 bits, and around 0";
constexpr std::string_view kOneScale = "XNNPACK's weights have one scale for each output";
constexpr std::string_view kGroups =
    "XNNPACK has groups of 32 four-bit weights or a multiple, for dynamic activations";
constexpr std::string_view kApart = "the scales differ too much";
const std::string kFourGroups = "i8 in [-8,7] scale f32[4,2] (1,1,1,1,1,1,1,1)";

TEST(XnnQuantisedRefusals, WeightsAreAroundZeroWithAScaleForEachOutput) {
  EXPECT_EQ(Linear{}.why(), "");
  EXPECT_EQ((Linear{.weight = weight("i8 in [-127,127] scale f32[4,1] (1,1,1,1)")}.why()), "");
  EXPECT_EQ((Linear{.weight = weight("i8 in [-128,127] scale f32[] (1) zero i32[] (1)")}.why()),
            kWeights);
  EXPECT_EQ(
      (Linear{.weight = "u8[4,64] splat 1, quantisation = u8 in [0,255] scale f32[] (1)"}.why()),
      kWeights);
  EXPECT_EQ((Linear{.weight = "f32[4,64] splat 1"}.why()), kWeights);
  EXPECT_EQ((Linear{.weight = weight("i8 in [-128,127] scale f32[1,2] (1,1)")}.why()), kGroups);
  const auto conv = [](std::string_view dims) {
    return refused(fmt::format(
        "input \"x\" %x : f32[1,4,4,2] %q = quantize(%x) {{ {0} }} %w = constant() {{ data = "
        "i8[2,2,2,2] splat 1, quantisation = i8 in [-128,127] scale f32{1} (1,1) }} %y = conv(%q, "
        "%w) {{ stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0], {0} }}",
        kPlain, dims));
  };
  EXPECT_EQ(conv("[2,1,1,1]"), "");
  EXPECT_EQ(conv("[1,2,1,1]"), kOneScale);
  EXPECT_EQ(conv("[1,1,2,1]"), kOneScale);
  EXPECT_EQ(conv("[1,1,1,2]"), kOneScale);
}

TEST(XnnQuantisedRefusals, WeightsAndBiasesAreConstant) {
  const auto with = [](std::string_view made, std::string_view operands) {
    return refused(
        fmt::format("input \"x\" %x : f32[2,64] input \"z\" %z : f32[4,64] input \"c\" %c : "
                    "f32[4] %q = quantize(%x) {{ {0} }} {1} %y = linear({2}) {{ {0} }}",
                    kPlain, made, operands));
  };
  EXPECT_EQ(with("%w = quantize(%z) { quantisation = i8 in [-128,127] scale f32[] (1) }", "%q, %w"),
            kWeights);
  EXPECT_EQ(with("%w = constant() { data = " + Linear{}.weight + " }", "%q, %w, %c"),
            "the bias is not constant");
}

TEST(XnnQuantisedRefusals, GroupsAreOfFourBitsForDynamicRows) {
  const Linear dynamic{.x = "", .weight = weight(kFourGroups), .attributes = "dynamic = true"};
  EXPECT_EQ(dynamic.why(), "");
  EXPECT_EQ((Linear{.x = "", .weight = weight(kFourGroups), .attributes = ""}.why()), kGroups);
  const auto grouped = [&](std::string_view quantisation) {
    Linear changed = dynamic;
    changed.weight = weight(quantisation);
    return changed.why();
  };
  EXPECT_EQ(grouped("i8 in [-8,8] scale f32[4,2] (1,1,1,1,1,1,1,1)"), kGroups);
  EXPECT_EQ(grouped("i8 in [-9,7] scale f32[4,2] (1,1,1,1,1,1,1,1)"), kGroups);
  EXPECT_EQ(grouped("i8 in [-8,7] scale f32[1,4] (1,1,1,1)"), kGroups);  // groups of 16
  EXPECT_EQ(grouped("i8 in [-8,7] scale f32[4,1] (1,1,1,1)"), "");
}

TEST(XnnQuantisedRefusals, RealsAreMultipliedWithIntegersInOneWay) {
  constexpr std::string_view kMixed = "XNNPACK's kernels read and write integers, or neither";
  EXPECT_EQ((Linear{.attributes = ""}.why()), kMixed);
  EXPECT_EQ((Linear{.x = ""}.why()), kMixed);
  EXPECT_EQ((Linear{.x = "", .attributes = ""}.why()), "");
  EXPECT_EQ((Linear{.x = "", .bias = bias(1), .attributes = ""}.why()),
            "XNNPACK adds no bias to products of real rows with integer weights");
  EXPECT_EQ((Linear{.x = "", .bias = bias(1), .attributes = "dynamic = true"}.why()), "");
  const auto conv = [](std::string_view attributes) {
    return refused(fmt::format(
        "input \"x\" %x : f32[1,4,4,2] %w = constant() {{ data = i8[2,2,2,2] splat 1, quantisation "
        "= i8 in [-128,127] scale f32[] (1) }} %y = conv(%x, %w) {{ stride = [1,1], dilation = "
        "[1,1], low = [0,0], high = [0,0]{} }}",
        attributes));
  };
  EXPECT_EQ(conv(""), "XNNPACK convolves real numbers with real weights");
  EXPECT_EQ(conv(", dynamic = true"), "");
}

TEST(XnnQuantisedRefusals, ProductsAreOfSignedBytes) {
  constexpr std::string_view kSigned = "XNNPACK's quantised products are of i8";
  EXPECT_EQ((Linear{.x = per_tensor("u8", 1, 0)}.why()), kSigned);
  EXPECT_EQ((Linear{.attributes = per_tensor("u8", 1, 0)}.why()), kSigned);
  EXPECT_EQ((Linear{.x = "quantisation = i8 in [-128,127] scale f32[2,1] (1,1)"}.why()), kSigned);
}

TEST(XnnQuantisedRefusals, ScalesOfSumsAreLessThanTwoToTheEighthOfTheResults) {
  const auto scaled = [](double x, std::string_view weights, double result) {
    return Linear{.x = per_tensor("i8", x, 0),
                  .weight = weight(fmt::format("i8 in [-128,127] scale f32[4,1] ({})", weights)),
                  .attributes = per_tensor("i8", result, 0)}
        .why();
  };
  EXPECT_EQ(scaled(2, "1,1,127,1", 1), "");
  EXPECT_EQ(scaled(2, "1,1,128,1", 1), kApart);
  EXPECT_EQ(scaled(2, "1,1,128,1", 2), "");
  // The least of them is no normal number.
  EXPECT_EQ(scaled(1e-20, "1,1,1e-20,1", 1), kApart);
  EXPECT_EQ(scaled(1e-20, "1,1,1e-15,1", 1), "");
}

TEST(XnnQuantisedRefusals, ABiasHas32BitsInTheScaleOfTheSums) {
  constexpr std::string_view kExceeds = "the bias exceeds 32 bits in the scale of the sums";
  EXPECT_EQ((Linear{.bias = bias(2147483520)}.why()), "");
  EXPECT_EQ((Linear{.bias = bias(2147483648.)}.why()), kExceeds);
  EXPECT_EQ((Linear{.bias = bias(-2147483648.)}.why()), kExceeds);
  EXPECT_EQ((Linear{.x = per_tensor("i8", 2, 0), .bias = bias(2147483648.)}.why()), "");
  EXPECT_EQ((Linear{.bias = "%b = constant() { data = f32[4] (2147483648, 0, 0, 0) }"}.why()),
            kExceeds);
}

/// What an op gives of values quantised as %a and %b.
std::string of_two(std::string_view op, const std::string& a, const std::string& b,
                   const std::string& result) {
  return refused(
      fmt::format("input \"x\" %x : f32[4] %a = quantize(%x) {{ {} }} %b = quantize(%x) "
                  "{{ {} }} %y = {}(%a, %b) {{ {} }}",
                  a, b, op, result));
}

TEST(XnnQuantisedRefusals, SumsAndProductsOfScalesThatAreNear) {
  const auto scaled = [](std::string_view op, double a, double b, double result) {
    return of_two(op, per_tensor("i8", a, 1), per_tensor("i8", b, 2), per_tensor("i8", result, 3));
  };
  for (const std::string_view op : {"add", "sub"}) {
    // The larger operand's scale over the result's: from 2^-10, under 2^8.
    EXPECT_EQ(scaled(op, 1, 255, 1), "");
    EXPECT_EQ(scaled(op, 1, 256, 1), kApart);
    EXPECT_EQ(scaled(op, 256, 1, 1), kApart);
    EXPECT_EQ(scaled(op, 1, 0.5, 1024), "");
    EXPECT_EQ(scaled(op, 1, 0.5, 1025), kApart);
  }
  // The product of the scales over the result's: from 2^-16, under 2^8.
  EXPECT_EQ(scaled("mul", 16, 15, 1), "");
  EXPECT_EQ(scaled("mul", 16, 16, 1), kApart);
  EXPECT_EQ(scaled("mul", 0.0625, 0.0625, 256), "");
  EXPECT_EQ(scaled("mul", 0.0625, 0.0625, 257), kApart);
}

TEST(XnnQuantisedRefusals, SumsAndProductsAreOfOneDtype) {
  const std::string is_signed = per_tensor("i8", 1, 0), is_unsigned = per_tensor("u8", 1, 0);
  for (const std::string_view op : {"add", "mul"}) {
    EXPECT_EQ(of_two(op, is_unsigned, is_unsigned, is_unsigned), "");
    EXPECT_NE(of_two(op, is_signed, is_unsigned, is_signed), "");
    EXPECT_NE(of_two(op, is_signed, is_signed, is_unsigned), "");
    EXPECT_NE(
        of_two(op, "quantisation = i16 in [-32767,32767] scale f32[] (1)", is_signed, is_signed),
        "");
    // A zero point that is no i8.
    EXPECT_NE(of_two(op, per_tensor("i8", 1, 128), is_signed, is_signed), "");
    EXPECT_NE(of_two(op, per_tensor("i8", 1, -129), is_signed, is_signed), "");
    EXPECT_EQ(of_two(op, per_tensor("i8", 1, 127), per_tensor("i8", 1, -128), is_signed), "");
    EXPECT_NE(
        of_two(op, is_signed, is_signed, "quantisation = i8 in [-128,127] scale f32[4] (1,1,1,1)"),
        "");
  }
}

TEST(XnnQuantisedRefusals, TheRestHasOneScale) {
  const std::string channels = "quantisation = i8 in [-128,127] scale f32[2] (1,2)";
  const auto of = [](const std::string& by, std::string_view made) {
    return refused(
        fmt::format("input \"x\" %x : f32[2] %q = quantize(%x) {{ {} }} %y = {}", by, made));
  };
  EXPECT_EQ(of(per_tensor("u8", 1, 9), "dequantize(%q)"), "");
  EXPECT_EQ(of(channels, "dequantize(%q)"), "XNNPACK dequantises with one scale");
  EXPECT_EQ(of(kPlain, "quantize(%x) { " + per_tensor("u8", 1, 9) + " }"), "");
  EXPECT_EQ(of(kPlain, "quantize(%x) { " + channels + " }"), "XNNPACK quantises with one scale");
  EXPECT_EQ(of(kPlain, "pad(%q) { low = [1], high = [0] }"), "");
  EXPECT_EQ(
      of("quantisation = i16 in [-32767,32767] scale f32[] (1)", "concat(%q, %q) { axis = 0 }"),
      "XNNPACK moves tensors of 8 bits with one scale");
  EXPECT_EQ(of(kPlain, "clamp(%q) { bounds = [0,1], " + kPlain + " }"), "");
  EXPECT_EQ(of(kPlain, "clamp(%q) { bounds = [0,1], " + per_tensor("i8", 2, 0) + " }"),
            "XNNPACK moves tensors of 8 bits with one scale");
  EXPECT_EQ(of(kPlain, "div(%q, %q) { " + kPlain + " }"), "XNNPACK has no quantised div");
  const auto mean = [](const std::string& result) {
    return refused(
        fmt::format("input \"x\" %x : f32[1,2,2,3] %q = quantize(%x) {{ {} }} "
                    "%y = reduce_mean(%q) {{ axes = [1,2], {} }}",
                    kPlain, result));
  };
  EXPECT_EQ(mean(per_tensor("i8", 4, 3)), "");
  EXPECT_EQ(mean(per_tensor("u8", 4, 3)), "XNNPACK averages i8 to i8, or u8 to u8");
  EXPECT_EQ(of(per_tensor("u8", 1, 9), "pad(%q) { low = [1], high = [0] }"), "");
  EXPECT_EQ(of(kPlain, "add(%q, %x) { " + kPlain + " }"),
            "XNNPACK adds operands that are all quantised alike");
  EXPECT_EQ(refused(fmt::format("input \"x\" %x : f32[1,2,2,3] %q = quantize(%x) {{ {0} }} "
                                "%y = reduce_mean(%q) {{ axes = [1,2], {0} }}",
                                per_tensor("u8", 4, 3))),
            "");
}

TEST(XnnQuantisedRefusals, AnIntegerThatIsNotInUseIsKeptOutByARange) {
  const auto ranged = [](int64_t min, int64_t max, Bounds bounds) {
    Quantisation by = layline::per_tensor(DType::i8, 0.5f, 1);
    by.min = min;
    by.max = max;
    const auto found = result_range(bounds, {DType::i8, {4}, by});
    return found ? fmt::format("{} {}", found->min, found->max) : "";
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ranged(-128, 127, {}), "");
  // (-127 - 1) / 2 and (126 - 1) / 2.
  EXPECT_EQ(ranged(-127, 127, {}), "-64 inf");
  EXPECT_EQ(ranged(-128, 126, {}), "-inf 62.5");
  EXPECT_EQ(ranged(-127, 126, {0, 6}), "0 6");
  EXPECT_EQ(ranged(-127, 126, {-70, 70}), "-64 62.5");
  EXPECT_EQ(ranged(-128, 127, {0, inf}), "0 inf");
  EXPECT_EQ(ranged(-128, 127, {-inf, 0}), "-inf 0");
}

const Value* operand(const Graph& graph, int index) {
  return graph.outputs()[0].value->def()->operand(index);
}

TEST(XnnQuantisedFilters, FourBitsArePackedTwoToAByte) {
  const auto parsed = [](std::string_view data) {
    return parse_graph(
        fmt::format("graph \"t\" {{ input \"x\" %x : f32[2,3] %w = constant() {{ data "
                    "= {} }} %y = linear(%x, %w) {{ dynamic = true }} "
                    "output \"y\" %y }}",
                    data),
        "test");
  };
  // (odd + 8) << 4 | (even + 8); the last of an odd number stands with a zero.
  const Graph four =
      parsed("i8[2,3] (-8,7,1, 0,-1,2), quantisation = i8 in [-8,7] scale f32[] (0.5)");
  const Filter filter = filter_of(operand(four, 1));
  EXPECT_EQ(filter.datatype, Datatype::kQCInt4);
  EXPECT_EQ(filter.data.bytes(),
            (std::vector{std::byte{0xf0}, std::byte{0x89}, std::byte{0x78}, std::byte{0x8a}}));
  EXPECT_EQ(numbers_of(filter.scales), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(filter.group, 0);
  const Graph eight = parsed(
      "i8[2,3] (-9,7,1, 0,-1,2), quantisation = i8 in [-9,7] scale f32[2,1] "
      "(0.5,2)");
  EXPECT_EQ(filter_of(operand(eight, 1)).datatype, Datatype::kQCInt8);
  EXPECT_EQ(numbers_of(filter_of(operand(eight, 1)).scales), (std::vector<double>{0.5, 2}));
}

TEST(XnnQuantisedFilters, RowsMayShareScales) {
  const auto scales = [](std::string_view table) {
    const Graph graph = parse_graph(
        fmt::format(
            "graph \"t\" {{ {} output \"y\" %y }}",
            Linear{.x = "", .weight = weight(table), .attributes = "dynamic = true"}.body()),
        "test");
    return numbers_of(filter_of(operand(graph, 1)).scales);
  };
  EXPECT_EQ(scales("i8 in [-128,127] scale f32[2,1] (1,2)"), (std::vector<double>{1, 1, 2, 2}));
  EXPECT_EQ(scales("i8 in [-8,7] scale f32[2,2] (1,2,3,4)"),
            (std::vector<double>{1, 2, 1, 2, 3, 4, 3, 4}));
}

TEST(XnnQuantisedFilters, AnEvenNumberOfColumnsNeedsNoPadding) {
  const Graph graph = parse_graph(
      "graph \"t\" { input \"x\" %x : f32[2,2] %w = constant() { data = i8[2,2] (-8,7, 0,1), "
      "quantisation = i8 in [-8,7] scale f32[] (1) } %y = linear(%x, %w) { dynamic = true } "
      "output \"y\" %y }",
      "test");
  EXPECT_EQ(filter_of(operand(graph, 1)).data.bytes(),
            (std::vector{std::byte{0xf0}, std::byte{0x98}}));
}

PayloadReader emitted(std::string_view body) {
  return xnnpack::emitted(
      parse_graph(fmt::format("graph \"t\" {{ {} output \"y\" %y }}", body), "test"));
}

const auto* quantised(const PayloadReader& payload, uint32_t id) {
  return payload.value(id).xvalue_union_as_XNNQuantizedTensorValue();
}

TEST(XnnQuantisedPayload, ABiasIsOfIntegersWhereTheSumsAre) {
  const auto bias_type = [](const Linear& linear) -> std::optional<fb_xnnpack::XNNDatatype> {
    const PayloadReader payload = emitted(linear.body());
    const auto* nodes = payload.graph().xnodes();
    const auto* node = nodes->Get(nodes->size() - 1)->xnode_union_as_XNNFullyConnected();
    EXPECT_EQ(node->flags(), 0u);
    if (node->bias_id() == kNoValue) return std::nullopt;
    const auto& value = payload.value(node->bias_id());
    const auto* plain = value.xvalue_union_as_XNNTensorValue();
    if (plain) return plain->datatype();
    EXPECT_EQ(quantised(payload, node->bias_id())->quant_params_as_PerChannelQuant()->channel_dim(),
              0);
    return quantised(payload, node->bias_id())->tensor_value()->datatype();
  };
  using Type = fb_xnnpack::XNNDatatype;
  EXPECT_EQ(bias_type({}), std::nullopt);
  EXPECT_EQ(bias_type({.bias = bias(1)}), Type::xnn_datatype_qcint32);
  EXPECT_EQ(bias_type({.x = "", .bias = bias(1), .attributes = "dynamic = true"}),
            Type::xnn_datatype_fp32);
  EXPECT_EQ(bias_type({.x = "", .attributes = "dynamic = true"}), std::nullopt);
}

TEST(XnnQuantisedPayload, ScalesAreAlongTheOutputs) {
  const auto conv = [](std::string_view weights, int groups, std::string_view more) {
    return fmt::format(
        "input \"x\" %x : f32[1,4,4,2] {} %w = constant() {{ data = i8{} splat 1, "
        "quantisation = i8 in [-8,7] scale f32[] (1) }} %y = conv(%q, %w) {{ stride "
        "= [1,1], dilation = [1,1], low = [0,0], high = [0,0], groups = {}",
        more, weights, groups);
  };
  const std::string integers = "%q = quantize(%x) { " + kPlain + " }";
  const auto channel = [&](std::string_view weights, int groups) {
    const PayloadReader payload = emitted(conv(weights, groups, integers) + ", " + kPlain + " }");
    const auto* node = static_cast<const fb_xnnpack::_XNNNodeConv*>(payload.node(1).xnode_union());
    const auto* filter = quantised(payload, node->filter_id());
    // Four bits are packed in the weights of products only.
    EXPECT_EQ(filter->tensor_value()->datatype(), fb_xnnpack::XNNDatatype::xnn_datatype_qcint8);
    EXPECT_EQ(filter->quant_params_as_PerChannelQuant()->num_scales(), 4u);
    return filter->quant_params_as_PerChannelQuant()->channel_dim();
  };
  EXPECT_EQ(channel("[4,2,2,2]", 1), 0);
  EXPECT_EQ(channel("[4,2,2,1]", 2), 3);
  // Images have one dynamic scale, and so have rows.
  const auto unscaled = [](const PayloadReader& payload) {
    const auto* node = static_cast<const fb_xnnpack::_XNNNode1x1*>(payload.node(1).xnode_union());
    return quantised(payload, node->output_id())
        ->quant_params_as_PerTokenDynamicQuant()
        ->num_nonbatch_dims();
  };
  EXPECT_EQ(unscaled(emitted(conv("[4,2,2,2]", 1, "%q = tanh(%x)") + ", dynamic = true }")), 3);
  EXPECT_EQ(unscaled(emitted(conv("[4,2,2,1]", 2, "%q = tanh(%x)") + ", dynamic = true }")), 3);
  EXPECT_EQ(unscaled(emitted(Linear{.x = "", .attributes = "dynamic = true"}.body())), 1);
}

TEST(XnnQuantisedPayload, NumbersOutOfUseAreClampedBefore) {
  const auto kinds = [](const std::string& by) {
    const PayloadReader payload =
        emitted("input \"x\" %x : f32[4] %y = quantize(%x) { " + by + " }");
    std::vector<std::string> names;
    uint32_t from = 0;
    for (const auto* node : *payload.graph().xnodes()) {
      names.push_back(fb_xnnpack::EnumNameXNodeUnion(node->xnode_union_type()));
      const auto* ids = static_cast<const fb_xnnpack::_XNNNode1x1*>(node->xnode_union());
      EXPECT_EQ(ids->input_id(), from);
      from = ids->output_id();
    }
    EXPECT_EQ(from, 1u);
    return names;
  };
  EXPECT_EQ(kinds(kPlain), std::vector<std::string>{"XNNConvert"});
  EXPECT_EQ(kinds("quantisation = i8 in [-127,127] scale f32[] (1)"),
            (std::vector<std::string>{"XNNClamp", "XNNConvert"}));
}

TEST(XnnQuantisedPayload, BytesKeepTheirSign) {
  const auto type = [](std::string_view dtype) {
    const PayloadReader payload =
        emitted("input \"x\" %x : f32[4] %y = quantize(%x) { " + per_tensor(dtype, 0.5, 7) + " }");
    EXPECT_EQ(quantised(payload, 1)->quant_params_as_PerTensorQuant()->zero_point(), 7);
    return quantised(payload, 1)->tensor_value()->datatype();
  };
  EXPECT_EQ(type("i8"), fb_xnnpack::XNNDatatype::xnn_datatype_qint8);
  EXPECT_EQ(type("u8"), fb_xnnpack::XNNDatatype::xnn_datatype_quint8);
}

TEST(XnnQuantisedFilters, GroupsHaveTheirSizeAndKind) {
  const Graph graph = parse_graph(
      fmt::format(
          "graph \"t\" {{ {} output \"y\" %y }}",
          Linear{.x = "", .weight = weight(kFourGroups), .attributes = "dynamic = true"}.body()),
      "test");
  const Filter filter = filter_of(operand(graph, 1));
  EXPECT_EQ(filter.datatype, Datatype::kQBInt4);
  EXPECT_EQ(filter.group, 32);
  EXPECT_EQ(filter.scales.dtype(), DType::bf16);
  EXPECT_EQ(filter.scales.byte_count(), 8 * sizeof(uint16_t));
}

TEST(XnnQuantisedFilters, ABiasIsRoundedInTheScaleOfTheSums) {
  const Graph graph = parse_graph(
      "graph \"t\" { input \"x\" %x : f32[2,1] %w = constant() { data = f32[4,1] splat 1 } %b = "
      "constant() { data = f32[4] (1, -3, 2.5, 3.5) } %y = linear(%x, %w, %b) output \"y\" %y }",
      "test");
  const Constant bias_integers = integer_bias(operand(graph, 2), {0.5f, 0.25f, 1, 1});
  const std::vector<std::byte> bytes = bias_integers.bytes();
  // Ties go to the even number.
  const int32_t expected[] = {2, -12, 2, 4};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(read_at<int32_t>(bytes, 4 * i), expected[i]);
}

}  // namespace
}  // namespace layline::xnnpack
