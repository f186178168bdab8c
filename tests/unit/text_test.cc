#include "ir/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "base/error.h"
#include "ir/verify.h"

namespace layline {
namespace {

// Every op, every attribute struct, and every kind of statement.
constexpr std::string_view kEveryOp = R"(
graph "every op" {
  symbol s1 "batch" in [1,16]
  symbol s2 "length" in [2,inf]
  input "x" %x : f32[2,4,4,8]
  input "nchw.image" %nchw_image : f32[2,4,4,8] order (0,2,3,1)
  input "mask" fixed none
  input "count" fixed int -3
  input "scale" fixed float 0.1
  input "training" fixed bool false
  input "mode" fixed string "same\n\"as\" \xe9"
  input "i" %i : i64[3]
  input "b" %b : bool[8]
  input "d" %d : f32[s1,2*s2]
  state "cache.keys" %keys = f32[8] splat 0
  %w : f32[8,1,1,8] = constant() { data = f32[8,1,1,8] splat 0.5 } @1
  %slope = constant() { data = f32[8] (1, 0.5, -0.25, 1e-45, inf, -inf, nan, -0) }
  %conv = conv(%x, %w) { stride = [2,2], dilation = [1,1], low = [0,1], high = [1,0], bounds = [0,6] } @2
  %conv_transpose = conv_transpose(%x, %w, %slope) { stride = [2,2], dilation = [1,1], low = [0,0], high = [0,0], extra = [1,1] } @2
  %m = constant() { data = f32[8,8] splat -0 }
  %linear = linear(%x, %m, %slope) { bounds = [-inf,1] } @3
  %matmul = matmul(%x, %m) { transpose_b = true }
  %max_pool = max_pool(%x) { kernel = [2,2], stride = [2,2], dilation = [1,1], low = [0,0], high = [0,0] }
  %avg_pool = avg_pool(%x) { kernel = [2,2], stride = [2,2], dilation = [1,1], low = [1,1], high = [1,1], count_padding = true }
  %resize = resize(%x) { size = [8,8], step = [0.5,0.5], mode = nearest, align_corners = true }
  %grid = slice(%x) { start = [0,0,0,0], size = [2,4,4,2], step = [1,1,1,1] }
  %grid_sample = grid_sample(%x, %grid) { mode = nearest, outside = reflection, align_corners = true }
  %relayout = relayout(%x) { relayout = [2,4,4,8] (2,16,8)->(0,2,1) [2,8,4,4] }
  %expand = expand(%slope) { shape = [3,8] }
  %slice = slice(%x) { start = [0,1,0,0], size = [2,2,4,8], step = [1,2,1,1] }
  %count = constant() { data = i64[] (2) }
  %counted_slice = counted_slice(%x, %count) { axis = 1, start = [0,1,0,0], size = [2,2,4,8] }
  %concat = concat(%x, %x, %nchw_image) { axis = 3 }
  %pad = pad(%x) { low = [0,1,1,0], high = [0,1,1,0], mode = reflect, value = 0 }
  %flip = flip(%x) { axes = [1,2] }
  %roll = roll(%x) { axes = [1,2], shifts = [-1,3] }
  %gather = gather(%slope, %i)
  %gather_elements = gather_elements(%slope, %i)
  %first = constant() { data = i64[] (1) }
  %causal_attention = causal_attention(%x, %x, %x, %first)
  %scan = scan(%m, %slope) { output = 1, backwards = true, body = graph "step" {
    input "x" %x : f32[8]
    input "sum" %sum : f32[8]
    %next = add(%x, %sum) @1
    write %next to %sum
    output "sums" %next
    origin @1 "add" "model.py:3" ""
  } }
  %places = constant() { data = i64[2,1] (2, 0) }
  %rows = slice(%m) { start = [0,0], size = [2,8], step = [1,1] }
  %scatter = scatter(%m, %places, %rows)
  %scatter_elements = scatter_elements(%slope, %i, %gather_elements)
  %scatter_add = scatter_add(%slope, %i, %gather_elements)
  %add = add(%d, %d) { bounds = [0,inf] }
  %sub = sub(%x, %slope)
  %mul = mul(%x, %x)
  %div = div(%x, %x)
  %minimum = minimum(%x, %x)
  %maximum = maximum(%x, %x)
  %pow = pow(%x, %x)
  %floor_div = floor_div(%x, %x)
  %remainder = remainder(%x, %x)
  %fmod = fmod(%x, %x)
  %equal = equal(%x, %x)
  %not_equal = not_equal(%x, %x)
  %less = less(%x, %x)
  %less_equal = less_equal(%x, %x)
  %greater = greater(%x, %x)
  %greater_equal = greater_equal(%x, %x)
  %logical_and = logical_and(%b, %b)
  %logical_or = logical_or(%b, %b)
  %logical_xor = logical_xor(%b, %b)
  %bitwise_and = bitwise_and(%i, %i)
  %bitwise_or = bitwise_or(%i, %i)
  %bitwise_xor = bitwise_xor(%i, %i)
  %left_shift = left_shift(%i, %i)
  %right_shift = right_shift(%i, %i)
  %atan2 = atan2(%x, %x)
  %prelu = prelu(%x, %slope)
  %where = where(%b, %x, %x)
  %abs = abs(%x)
  %neg = neg(%x)
  %exp = exp(%x)
  %expm1 = expm1(%x)
  %log = log(%x)
  %log1p = log1p(%x)
  %sqrt = sqrt(%x)
  %rsqrt = rsqrt(%x)
  %reciprocal = reciprocal(%x)
  %sin = sin(%x)
  %cos = cos(%x)
  %atan = atan(%x)
  %asin = asin(%x)
  %acos = acos(%x)
  %sinh = sinh(%x)
  %cosh = cosh(%x)
  %asinh = asinh(%x)
  %acosh = acosh(%x)
  %atanh = atanh(%x)
  %tanh = tanh(%x)
  %sigmoid = sigmoid(%x)
  %erf = erf(%x)
  %floor = floor(%x)
  %ceil = ceil(%x)
  %round = round(%x)
  %trunc = trunc(%x)
  %square = square(%x)
  %sign = sign(%x)
  %logical_not = logical_not(%b)
  %hardswish = hardswish(%x)
  %gelu = gelu(%x) { tanh = true }
  %elu = elu(%x) { alpha = 1 }
  %leaky_relu = leaky_relu(%x) { alpha = 0.01 }
  %clamp = clamp(%x) { bounds = [-1,1] }
  %convert = convert(%x) { to = f16 }
  %quantize = quantize(%x) { quantisation = i8 in [-128,127] scale f32[] (0.1) zero i32[] (-3) }
  %dequantize = dequantize(%quantize)
  %by_channel = quantize(%x) { quantisation = u8 in [0,200] scale f32[1,1,1,8] (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1e-30) zero i32[1,1,1,8] (0, 1, 2, 3, 4, 5, 6, 255) }
  %reinterpret = reinterpret(%by_channel)
  %integers = constant() { data = i8[8,8] splat 3, quantisation = i8 in [-8,7] scale f32[8,2] splat 0.5 }
  %dynamic = linear(%x, %integers) { dynamic = true }
  %rescaled = mul(%quantize, %quantize) { bounds = [0,6], quantisation = i8 in [-128,127] scale f32[] (0.2) }
  %choose_scale = choose_scale(%x) { axes = [3], min = -127, eps = 1e-07, symmetric = true }
  %choose_zero_point = choose_zero_point(%x) { axes = [3], balanced = true }
  %quantize_by = quantize_by(%x, %choose_scale, %choose_zero_point) { to = u8, min = 0, max = 255 }
  %dequantize_by = dequantize_by(%quantize_by, %choose_scale, %choose_zero_point)
  %reduce_sum = reduce_sum(%x) { axes = [1,2] }
  %reduce_mean = reduce_mean(%x) { axes = [3] }
  %reduce_max = reduce_max(%x) { axes = [0] }
  %reduce_min = reduce_min(%x) { axes = [0] }
  %reduce_prod = reduce_prod(%x) { axes = [0] }
  %reduce_any = reduce_any(%b) { axes = [0] }
  %reduce_all = reduce_all(%b) { axes = [0] }
  %argmax = argmax(%x) { axis = 3 }
  %argmin = argmin(%x)
  %argsort = argsort(%x) { axis = 1 }
  %softmax = softmax(%x) { axis = 3 }
  %log_softmax = log_softmax(%x) { axis = 3 }
  %cumsum = cumsum(%x) { axis = 1 }
  %normalize = normalize(%x) { axes = [3], eps = 1e-06, center = false }
  output "logits" %softmax
  output "again" %softmax order (0,3,1,2)
  output "an input" %x
  write %slope to %keys
  output "nothing" fixed none
  output "a number" fixed int 3
  origin @1 "weight" "" ""
  origin @2 "conv2d" "model.py:12" "features.0"
  origin @3 "linear" "" "classifier.\"1\""
}
)";

bool same_origin(const OriginRef& a, const OriginRef& b) {
  if (!a || !b) return !a && !b;
  return a->node == b->node && a->source == b->source && a->module == b->module;
}

/// Compares what printing could hide: the structures themselves.
void expect_same(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.name(), b.name());
  ASSERT_EQ(a.symbols().size(), b.symbols().size());
  for (size_t i = 0; i < a.symbols().size(); ++i) {
    EXPECT_EQ(a.symbols()[i].name, b.symbols()[i].name);
    EXPECT_EQ(a.symbols()[i].min, b.symbols()[i].min);
    EXPECT_EQ(a.symbols()[i].max, b.symbols()[i].max);
  }
  ASSERT_EQ(a.inputs().size(), b.inputs().size());
  for (size_t i = 0; i < a.inputs().size(); ++i) {
    const GraphInput &left = a.inputs()[i], &right = b.inputs()[i];
    EXPECT_EQ(left.name, right.name);
    EXPECT_EQ(left.dim_order, right.dim_order);
    EXPECT_EQ(left.fixed, right.fixed);
    ASSERT_EQ(left.value == nullptr, right.value == nullptr);
    if (left.value == nullptr) continue;
    EXPECT_EQ(left.value->name(), right.value->name());
    EXPECT_EQ(left.value->type(), right.value->type());
  }
  ASSERT_EQ(a.node_count(), b.node_count());
  for (Node *left = a.first(), *right = b.first(); left;
       left = left->next(), right = right->next()) {
    EXPECT_EQ(left->op(), right->op());
    EXPECT_EQ(left->result()->name(), right->result()->name());
    EXPECT_EQ(left->result()->type(), right->result()->type());
    EXPECT_TRUE(left->attributes() == right->attributes()) << left->result()->name();
    EXPECT_TRUE(same_origin(left->origin(), right->origin()));
    ASSERT_EQ(left->operand_count(), right->operand_count());
    for (int i = 0; i < left->operand_count(); ++i)
      EXPECT_EQ(left->operand(i)->name(), right->operand(i)->name());
  }
  ASSERT_EQ(a.outputs().size(), b.outputs().size());
  for (size_t i = 0; i < a.outputs().size(); ++i) {
    const GraphOutput &left = a.outputs()[i], &right = b.outputs()[i];
    EXPECT_EQ(left.name, right.name);
    EXPECT_EQ(left.dim_order, right.dim_order);
    EXPECT_EQ(left.fixed, right.fixed);
    ASSERT_EQ(left.value == nullptr, right.value == nullptr);
    if (left.value == nullptr) continue;
    EXPECT_EQ(left.value->name(), right.value->name());
  }
}

/// Prints, parses, compares; returns the text.
std::string round_trip(const Graph& graph) {
  verify(graph);
  const std::string text = print(graph);
  const Graph read = parse_graph(text, "printed");
  verify(read);
  expect_same(graph, read);
  EXPECT_EQ(print(read), text);
  return text;
}

std::string error_of(std::string_view text) {
  try {
    parse_graph(text, "test.lay");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

/// The error of a graph with this line after the input %x : f32[2,3].
std::string line_error(std::string_view line) {
  return error_of(fmt::format("graph \"g\" {{\n  input \"x\" %x : f32[2,3]\n{}\n}}", line));
}

std::string print_constant(Constant constant) {
  Graph graph("g");
  graph.constant(std::move(constant), nullptr, "c");
  return round_trip(graph);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(Text, EveryOpRoundTrips) {
  const Graph graph = parse_graph(kEveryOp, "every_op");
  const std::string text = round_trip(graph);
  std::set<Op> ops;
  std::set<size_t> alternatives;
  for (const Node* node : graph) {
    ops.insert(node->op());
    alternatives.insert(node->attributes().index());
  }
  for (const OpInfo& row : all_ops()) EXPECT_TRUE(ops.contains(row.op)) << row.name;
  EXPECT_EQ(alternatives.size(), std::variant_size_v<AnyAttrs>);
}

TEST(Text, IsReadable) {
  const std::string_view text = R"(graph "net" {
  symbol s1 "batch" in [1,16]
  input "x" %x : f32[s1,3]
  input "mask" fixed none
  %w : f32[4,3] = constant() { data = f32[4,3] splat 0.5 } @1
  %y : f32[s1,4] = linear(%x, %w) { bounds = [0,inf] } @2
  %z : f32[4,s1] = relayout(%y) { relayout = [s1,4] (s1,4)->(1,0) [4,s1] } @2
  output "logits" %y
  output "transposed" %z order (1,0)
  origin @1 "weight" "" ""
  origin @2 "linear" "model.py:12" "head"
}
)";
  EXPECT_EQ(print(parse_graph(text, "net")), text);
}

TEST(Text, NodesDerivedFromOneOriginShareIt) {
  const Graph graph = parse_graph(R"(graph "g" {
    %a = constant() { data = f32[] (1) } @7
    %b = abs(%a) @7
    origin @7 "n" "s" "m"
  })",
                                  "g");
  EXPECT_EQ(graph.first()->origin(), graph.last()->origin());
  EXPECT_EQ(graph.last()->origin()->module, "m");
}

TEST(Text, DefaultsAreOmittedAndRestored) {
  const Graph graph = parse_graph(R"(graph "g" { input "x" %x : f32[2] %y = add(%x, %x) })", "g");
  EXPECT_TRUE(graph.first()->attrs<BinaryAttrs>().bounds.unbounded());
  EXPECT_FALSE(contains(print(graph), "bounds"));
}

TEST(Text, DoublesKeepEveryBit) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0, -0.0, 0.1, -1.0 / 3, 1e300, Limits::denorm_min(), Limits::max(),
                             Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                             -Limits::quiet_NaN(), std::bit_cast<double>(0x7ff8000000001234)}) {
    Graph graph("g");
    Value* x = graph.add_input("x", {DType::f32, {2}});
    graph.add(Op::leaky_relu, {x}, AlphaAttrs{value}, nullptr);
    graph.add_fixed_input("f", value);
    const Graph read = parse_graph(print(graph), "g");
    EXPECT_EQ(std::bit_cast<uint64_t>(read.first()->attrs<AlphaAttrs>().alpha),
              std::bit_cast<uint64_t>(value));
    EXPECT_EQ(std::bit_cast<uint64_t>(std::get<double>(read.inputs()[1].fixed)),
              std::bit_cast<uint64_t>(value));
  }
}

TEST(Text, NamesOfInputsThatCollide) {
  Graph graph("g");
  graph.add_input("x.1", {DType::f32, {2}});
  graph.add_input("x_1", {DType::f32, {2}});
  Value* third = graph.add_input("x.1", {DType::f32, {2}});
  graph.add(Op::abs, {third}, NoAttrs{}, nullptr, "x_1");
  round_trip(graph);
}

TEST(Text, ValuesOfInputsKeepTheirOwnNames) {
  Graph graph("g");
  Value* early = graph.constant(Constant::scalar(DType::f32, 1), nullptr, "x");
  graph.add_input("x", {DType::f32, {2, 3}});
  graph.add_fixed_input("none", std::monostate{});
  Value* reordered = graph.reorder_input(0, {1, 0});
  graph.add_output("y", graph.add(Op::add, {reordered, early}, BinaryAttrs{}, nullptr));
  EXPECT_NE(round_trip(graph).find("input \"x\" %x_2 : f32[3,2] order (1,0)"), std::string::npos);
  graph.rename_boundary({"image", "none"}, {"logits"});
  round_trip(graph);
}

TEST(Text, ConstantForms) {
  const auto bytes = [](auto... values) { return std::vector{static_cast<std::byte>(values)...}; };
  EXPECT_TRUE(contains(print_constant(Constant::scalar(DType::f16, 0.1)), "f16[] (0.099975586)"));
  EXPECT_TRUE(contains(print_constant(Constant::owned(DType::u8, {3}, bytes(0, 7, 255))),
                       "u8[3] (0, 7, 255)"));
  EXPECT_TRUE(contains(print_constant(Constant::owned(DType::i8, {2}, bytes(128, 255))),
                       "i8[2] (-128, -1)"));
  EXPECT_TRUE(contains(print_constant(Constant::owned(DType::boolean, {2}, bytes(1, 0))),
                       "bool[2] (1, 0)"));
  EXPECT_TRUE(contains(print_constant(Constant::owned(DType::boolean, {2}, bytes(2, 0))),
                       "bool[2] 0x0200"));
  EXPECT_TRUE(contains(print_constant(Constant::owned(DType::f16, {2}, bytes(1, 0x7c, 0, 0))),
                       "f16[2] 0x017c0000"));
  EXPECT_TRUE(contains(print_constant(Constant::owned(DType::f16, {2}, bytes(1, 0x7c, 1, 0x7c))),
                       "f16[2] splat 0x017c"));
  EXPECT_TRUE(contains(print_constant(Constant::owned(DType::f32, {3, 0}, {})), "f32[3,0] ()"));
  std::vector<std::byte> long_data(20);
  long_data[19] = std::byte{0xab};
  const Constant large = Constant::owned(DType::u8, {20}, long_data);
  EXPECT_TRUE(contains(print_constant(large), "u8[20] 0x00000000000000000000000000000000000000ab"));

  Graph graph("g");
  graph.constant(large, nullptr, "c");
  const std::string elided = print(graph, {.elide_constants = true});
  EXPECT_TRUE(contains(elided, "data = u8[20] <elided 20 bytes>")) << elided;
  EXPECT_TRUE(contains(error_of(elided), "elided"));
}

TEST(Text, PendingWorkOnConstants) {
  std::vector<std::byte> data(6 * sizeof(float));
  for (size_t i = 0; i < 6; ++i) {
    const float value = static_cast<float>(i) / 3;
    std::memcpy(&data[i * sizeof value], &value, sizeof value);
  }
  const Constant base = Constant::owned(DType::f32, {2, 3}, data);
  const std::vector<float> factors = {0.1f, -2};
  const std::vector<int> swap = {1, 0};
  const Relayout transpose = Relayout::permute({2, 3}, swap);
  EXPECT_TRUE(contains(print_constant(base.relaid(transpose)), ") then [2,3] (2,3)->(1,0) [3,2]"));
  EXPECT_TRUE(contains(print_constant(base.scaled_rows(factors)), ") scaled (0.1, -2) }"));
  EXPECT_TRUE(contains(print_constant(base.scaled_rows(factors).relaid(transpose)),
                       "scaled (0.1, -2) then [2,3] (2,3)->(1,0) [3,2]"));
  const std::vector<float> columns = {1, 0.5f, -3};
  EXPECT_TRUE(
      contains(print_constant(base.scaled_rows(factors).scaled_columns(columns).relaid(transpose)),
               "scaled (0.1, -2) columns (1, 0.5, -3) then [2,3] (2,3)->(1,0) [3,2]"));
  EXPECT_TRUE(
      contains(print_constant(base.relaid(Relayout::view({2, 3}, {6}))), "then [2,3] -> [6]"));
}

TEST(Text, ErrorsNameThePlace) {
  EXPECT_EQ(error_of(""), "test.lay:1:1: expected 'graph', found the end of the text");
  EXPECT_EQ(error_of("graph \"g\" {\n  oops\n}"),
            "test.lay:2:3: expected symbol, input, state, output, write, origin, a %value or '}', "
            "found \"oops\"");
  EXPECT_EQ(line_error("  %y = foo(%x)"), "test.lay:3:8: no op is called 'foo'");
  EXPECT_EQ(line_error("  %y = abs(%z)"), "test.lay:3:12: %z is not defined before this use");
  EXPECT_EQ(line_error("%y = abs(%x) write %x to %y"),
            "test.lay:3:26: %y is no input and no state");
  EXPECT_EQ(line_error("state \"s\" %s = f32[1] splat 0 write %x to %s"),
            "test.lay:3:43: %s is f32[1], but %x is f32[2,3]");
  EXPECT_EQ(line_error("%y = abs(%x) write %y to %x write %y to %x"),
            "test.lay:3:41: %x is written twice");
  EXPECT_EQ(line_error("%x = abs(%x)"), "test.lay:3:2: %x is defined already");
  EXPECT_EQ(line_error("%y = add(%x)"), "test.lay:3:6: add takes (a b), not 1 operands");
  EXPECT_EQ(line_error("%y : f32[3,2] = abs(%x)"),
            "test.lay:3:6: %y is declared f32[3,2], but its abs gives f32[2,3]");
  EXPECT_EQ(line_error("%y = abs(%x) @4"), "test.lay:3:14: no line defines the origin @4");
  EXPECT_EQ(line_error("output \"y\" %x order (0,0)"),
            "test.lay:3:15: the order is no permutation of 2 dims");
  EXPECT_EQ(line_error("%y = softmax(%x) { axes = [1] }"),
            "test.lay:3:20: no attribute is called 'axes'; there are: axis");
  EXPECT_EQ(line_error("%y = abs(%x) { axis = 1 }"),
            "test.lay:3:16: no attribute is called 'axis'; there is none");
  EXPECT_EQ(line_error("%y = constant()"), "test.lay:4:1: expected the attribute 'data'");
  EXPECT_EQ(line_error("%y = softmax(%x) { axis = 1, axis = 1 }"),
            "test.lay:3:30: 'axis' is given twice");
  EXPECT_EQ(line_error("%y = constant() { data = f32[3] (1, 2) }"),
            "test.lay:3:38: expected ',', found \")\"");
  EXPECT_EQ(line_error("%y = constant() { data = u8[1] (256) }"), "test.lay:3:33: 256 is no u8");
}

TEST(Text, RejectsWhatIsNoGraph) {
  for (const std::string_view line : {
           "input \"x\" %y",
           "input \"x\" %y : f33[2]",
           "input \"x\" %y : f32[-1]",
           "input \"x\" %y : f32[2",
           "input \"x\" %y : f32[2)",
           "input \"x\" %y : f32[s1]",
           "input \"x\" %y : f32[99999999999999999999]",
           "input \"x\" %y : f32[2] order (1)",
           "input \"x\" %y : f32[2] order ()",
           "input \"x\" fixed int 1.5",
           "input \"x\" fixed float",
           "input \"x\" fixed bool 1",
           "input \"x\" fixed tensor",
           "input \"x",
           "input \"\\q\" fixed none",
           "symbol s2 \"a\" in [1,2]",
           "symbol s1 \"a\" in [2,2]",
           "symbol s1 \"a\" in [3,2]",
           "symbol s1 \"a\" [1,2]",
           "output \"y\" %y",
           "output \"y\"",
           "origin @1 \"a\" \"b\"",
           "origin @1 \"a\" \"b\" \"c\" origin @1 \"a\" \"b\" \"c\"",
           "%y = abs %x",
           "%y = abs(%x, )",
           "%y = abs(%x,, %x)",
           "%y = abs(x)",
           "% = abs(%x)",
           "%y : = abs(%x)",
           "%y = clamp(%x) { bounds = [0] }",
           "%y = clamp(%x) { bounds = [0,nope] }",
           "%y = clamp(%x) { bounds = [8,6] }",
           "%y = clamp(%x) { bounds [0,1] }",
           "%y = clamp(%x) { bounds = [0,1] ",
           "%y = gelu(%x) { tanh = 1 }",
           "%y = convert(%x) { to = float }",
           "%y = pad(%x) { low = [0,0], high = [0,0], mode = mirror }",
           "%y = softmax(%x) { axis = 1.5 }",
           "%y = softmax(%x) { axis = 2 }",
           "%y = expand(%x) { shape = [2,s1] }",
           "%y = expand(%x) { shape = 2 }",
           "%y = relayout(%x) { relayout = [2,3] -> [5] }",
           "%y = relayout(%x) { relayout = [3,2] -> [6] }",
           "%y = relayout(%x) { relayout = nonsense }",
           "%y = relayout(%x) { relayout = }",
           "%y = constant() { data = f32[2] }",
           "%y = constant() { data = f32[2] 0x00 }",
           "%y = constant() { data = f32[1] 0x0000000 }",
           "%y = constant() { data = f32[s1] splat 0 }",
           "%y = constant() { data = f32[4611686018427387904] splat 0 }",
           "%y = constant() { data = f32[1000000000000] splat 0 }",
           "%y = constant() { data = f32[1000000000000] (1) }",
           "%y = constant() { data = f32[2,2] splat 0 scaled (1) }",
           "%y = constant() { data = i32[2,2] splat 0 scaled (1, 2) }",
           "%y = constant() { data = f32[] (0) scaled (1) }",
           "%y = constant() { data = f32[2] splat 0 then [3] -> [1,3] }",
           "} graph",
       })
    EXPECT_TRUE(line_error(line).starts_with("test.lay:")) << line << "\n" << line_error(line);
}

// Requirement A1: wrong layouts do not type-check, in the text form too.
TEST(Text, RejectsOperandsThatDoNotBroadcast) {
  const std::string error = line_error("input \"z\" %z : f32[3,2]\n%y = add(%x, %z)");
  EXPECT_TRUE(error.starts_with("test.lay:4:6: ")) << error;
  EXPECT_TRUE(contains(error, "[2,3]") && contains(error, "[3,2]")) << error;
}

TEST(Text, EveryTruncationIsAUserError) {
  constexpr std::string_view kShort = R"(graph "g" {
  symbol s1 "batch" in [1,16]
  input "x" %x : f32[s1,3] order (1,0)
  input "mask" fixed float -0.5
  %w = constant() { data = f32[3] (1, nan, -2e-3) } // a comment
  %v = constant() { data = f32[2,3] 0x000000000000000000000000000000000000000000000000 scaled (1, 2) then [2,3] (2,3)->(1,0) [3,2] } @1
  %z : f32[s1,3] = add(%x, %w) { bounds = [0,inf] } @1
  %s = slice(%v) { start = [0,0], size = [1,1], step = [1,2] } @1
  output "y" %z order (1,0)
  origin @1 "add" "model.py:12" "\x41"
}
)";
  const std::string text = print(parse_graph(kShort, "short"));
  for (size_t size = 0; size + 1 < text.size(); ++size)
    ASSERT_THROW(parse_graph(std::string_view(text).substr(0, size), "truncated"), UserError)
        << size;
}

TEST(Text, DamagedTextParsesOrIsAUserError) {
  const std::string text(kEveryOp);
  constexpr std::string_view kReplacements = "()[]{},=%@\"\\:0123456789-xs.\n \x80*/";
  std::mt19937 random(1);  // one seed: the same texts on every run
  for (int run = 0; run < 1000; ++run) {
    std::string damaged = text;
    for (int change = 0; change < 1 + run % 3; ++change) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged.erase(at, 1 + random() % 4);
          break;
        case 1:
          damaged[at] = kReplacements[random() % kReplacements.size()];
          break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 8));
      }
    }
    try {
      verify(parse_graph(damaged, "damaged"));
    } catch (const UserError&) {
      continue;
    }
  }
}

TEST(Text, DerivedSymbolsRoundTrip) {
  const std::string text =
      "graph \"g\" {\n"
      "  symbol s1 \"height\" in [8,64]\n"
      "  symbol s2 = \"(s1+1)//2\"\n"
      "  symbol s3 = \"s1+1\"\n"
      "  symbol s4 = \"max(10,s1)\"\n"
      "  input \"x\" %x : f32[1,s1,s3,s4]\n"
      "  %y : f32[1,s2,s3,s4] = max_pool(%x) { kernel = [3,1], stride = [2,1], dilation = [1,1], "
      "low = [1,0], high = [1,0] }\n"
      "  output \"y\" %y\n"
      "}\n";
  EXPECT_EQ(print(parse_graph(text, "t")), text);
  const auto refuse = [](const std::string& formula) {
    try {
      parse_graph("graph \"g\" {\n symbol s1 \"a\" in [1,4]\n symbol s2 = \"" + formula + "\" }",
                  "t");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refuse("2*s1"), "t:3:9: 2*s1 is 2*s1, and needs no symbol s2");
  EXPECT_EQ(refuse("s3+1"), "t:3:9: the symbol s3 is not defined");
  for (const char* damaged :
       {"", "(s1", "(s1)//0", "(s1)//x", "max(s1", "max()", "s1+", "+", "--1"})
    EXPECT_NE(refuse(damaged), "accepted") << damaged;
}

RC_GTEST_PROP(TextProperty, RandomGraphsRoundTrip, ()) {
  Graph graph(*rc::gen::arbitrary<std::string>());
  const SymbolId batch =
      graph.add_symbol({*rc::gen::arbitrary<std::string>(), *rc::gen::inRange<int64_t>(0, 4),
                        *rc::gen::inRange<int64_t>(4, 100)});
  std::vector<OriginRef> origins = {nullptr};
  const auto text = rc::gen::arbitrary<std::string>();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    origins.push_back(std::make_shared<Origin>(Origin{*text, *text, *text}));
  std::vector<Value*> values = {
      graph.add_input(*text, {DType::f32, {Dim::symbol(batch), 3}}, {1, 0}),
      graph.add_input(*text, {DType::f32, {Dim::symbol(batch), 3}})};
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
    const auto pick = [&] { return *rc::gen::elementOf(values); };
    const OriginRef origin = *rc::gen::elementOf(origins);
    const std::string value_name = *text;
    const double number = std::bit_cast<double>(*rc::gen::arbitrary<int64_t>());
    const double finite = std::isnan(number) ? 0.5 : number;
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        values.push_back(graph.add(Op::elu, {pick()}, AlphaAttrs{finite}, origin, value_name));
        break;
      case 1:
        values.push_back(graph.add(Op::add, {pick(), pick()},
                                   BinaryAttrs{{-std::abs(finite), std::abs(finite)}}, origin,
                                   value_name));
        break;
      case 2:
        values.push_back(graph.add(Op::exp, {pick()}, NoAttrs{}, origin, value_name));
        break;
      default: {
        const auto dtype = static_cast<DType>(*rc::gen::inRange(0, kDTypeCount));
        const auto count = *rc::gen::inRange<int64_t>(0, 24);
        const auto raw = *rc::gen::container<std::vector<uint8_t>>(
            static_cast<size_t>(count) * byte_size(dtype), rc::gen::arbitrary<uint8_t>());
        std::vector<std::byte> bytes(raw.size());
        if (!raw.empty()) std::memcpy(bytes.data(), raw.data(), raw.size());
        graph.constant(Constant::owned(dtype, {count}, std::move(bytes)), origin, value_name);
      }
    }
  }
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    graph.add_output(*text, *rc::gen::elementOf(values),
                     *rc::gen::arbitrary<bool>() ? std::vector{1, 0} : std::vector{0, 1});
  round_trip(graph);
}

}  // namespace
}  // namespace layline
