// Sizes as torch writes them, and the blocks that torch.no_grad and autocast leave in a graph.
#include <gtest/gtest.h>

#include "base/error.h"
#include "frontend/pt2/inline_blocks.h"
#include "frontend/pt2/symbols.h"

namespace layline::pt2 {
namespace {

class ImportedSizes : public testing::Test {
 protected:
  ImportedSizes() {
    program.ranges["s0"] = {2, 8};
    program.ranges["s1"] = {5, 5};
    program.ranges["n"] = {-1, 8};
    program.ranges["z"] = {0, 8};
  }

  /// Symbols are called s1, s2 and so on, in the order in which they occur.
  std::string sum(const std::string& expression) {
    return to_string(
        symbols.sum(SymInt{std::make_shared<const Expr>(parse_expr(expression)), std::nullopt}));
  }
  std::string refusal(const std::string& expression) {
    try {
      return "gives " + sum(expression);
    } catch (const UserError& error) {
      return error.what();
    }
  }

  ExportedProgram program;
  layline::Graph graph{"forward"};
  Symbols symbols{graph, program};
};

TEST_F(ImportedSizes, AreSumsProductsAndQuotients) {
  const std::vector<std::pair<std::string, std::string>> sums = {
      {"Integer(7)", "7"},
      {"Symbol('s0')", "s1"},
      {"Symbol('s1')", "5"},  // of one value
      {"Add(Symbol('s0'), Symbol('s0'), Integer(-1))", "2*s1-1"},
      {"Mul(Integer(2), Symbol('s0'), Symbol('s0'))", "2*s1*s1"},
      {"Mul(Symbol('s0'))", "s1"},
      {"Add()", "0"},
      {"Mul()", "1"},
      {"Pow(Symbol('s0'), Integer(2))", "s1*s1"},
      {"Pow(Symbol('s0'), Integer(4))", "s1*s1*s1*s1"},  // as many factors as a size may have
      {"Pow(Symbol('s0'), Integer(1))", "s1"},
      {"Pow(Symbol('s0'), Integer(0))", "1"},
      {"FloorDiv(Integer(7), Integer(2))", "3"},
      {"CleanDiv(Mul(Integer(6), Symbol('s0')), Integer(3))", "2*s1"},
      {"torch.utils._sympy.functions.IntTrueDiv(Integer(8), Integer(2))", "4"},
      {"PythonMod(Integer(7), Integer(4))", "3"},
      {"Mod(Integer(7), Integer(1))", "0"},
      {"FloorDiv(Symbol('s0'), Integer(1))", "s1"},
      {"Max(Integer(3), Integer(4), Integer(2))", "4"},
      {"Min(Integer(3), Integer(4), Integer(2))", "2"},
      {"Max(Symbol('s0'), Integer(2))", "s1"},
      {"Min(Symbol('s0'), Integer(8))", "s1"},
  };
  for (const auto& [expression, expected] : sums)
    EXPECT_EQ(refusal(expression), "gives " + expected);
  EXPECT_EQ(graph.symbol_table().least(Dim::symbol(1)), 2);
  EXPECT_EQ(graph.symbol_table().greatest(Dim::symbol(1)), 8);
}

TEST_F(ImportedSizes, AreRefusedByTheirText) {
  for (const char* expression :
       {"FloorDiv(Integer(7), Integer(0))", "FloorDiv(Integer(7), Integer(-1))",
        "FloorDiv(Integer(7), Symbol('s0'))", "FloorDiv(Integer(7), Add(Symbol('s0'), Integer(1)))",
        "Pow(Symbol('s0'), Integer(5))", "FloorDiv(Integer(7))",
        "FloorDiv(Integer(7), Integer(2), Integer(2))", "Mod(Integer(7))",
        "Mod(Integer(7), Integer(2), Integer(2))", "Mod(Integer(7), Integer(0))", "Max()", "Min()",
        "Pow(Symbol('s0'), Integer(-1))", "Pow(Symbol('s0'), Symbol('s0'))", "Pow(Symbol('s0'))",
        "Pow(Symbol('s0'), Integer(2), Integer(2))", "Pow(Symbol('s0'), Integer(1000))",
        "sqrt(Symbol('s0'))", "true"})
    EXPECT_EQ(refusal(expression), "the size " + to_string(parse_expr(expression)) +
                                       " is more than sums, products and quotients by a number");
  EXPECT_EQ(refusal("Symbol('n')"), "the size n may be negative");
  EXPECT_EQ(refusal("Symbol('z')"), "gives s2");
}

// ---- Blocks ----

constexpr std::string_view kNoGrad = "torch.ops.higher_order.wrap_with_set_grad_enabled";
constexpr std::string_view kAutocast = "torch.ops.higher_order.wrap_with_autocast";

Argument tensor(std::string_view name) { return {TensorArg{name}}; }

Node op(std::string_view target, std::string_view input, std::string_view output) {
  Node node;
  node.target = target;
  node.inputs = {{"self", tensor(input), ArgumentKind::kPositional}};
  node.outputs = {tensor(output)};
  return node;
}

/// relu(x), then a sigmoid of it in a block, whose own names are the same; then tanh.
ExportedProgram with_block(std::string_view target, std::vector<NamedArgument> before) {
  Graph body;
  body.inputs = {tensor("x")};
  body.outputs = {tensor("y")};
  body.nodes = {op("sigmoid", "x", "a"), op("neg", "a", "y")};
  for (const char* name : {"x", "a", "y"}) body.tensor_values[name] = {};
  Node block;
  block.target = target;
  block.inputs = std::move(before);
  block.inputs.push_back(
      {"graph", {GraphArg{"body", std::make_shared<const Graph>(std::move(body))}}, {}});
  block.inputs.push_back({"operand", tensor("a"), {}});
  block.outputs = {tensor("b")};

  ExportedProgram program;
  program.graph.inputs = {tensor("x")};
  program.graph.outputs = {tensor("c")};
  program.graph.nodes = {op("relu", "x", "a"), block, op("tanh", "b", "c")};
  for (const char* name : {"x", "a", "b", "c"}) program.graph.tensor_values[name] = {};
  program.outputs = {{OutputKind::kUserOutput, "c", tensor("c"), ""}};
  return program;
}

/// "relu(x)=a neg(a)=b"
std::string text(const ExportedProgram& program) {
  std::string result;
  for (const Node& node : program.graph.nodes) {
    if (!result.empty()) result += ' ';
    const auto* input = node.inputs[0].arg.as<TensorArg>();
    const auto* output = node.outputs[0].as<TensorArg>();
    result += input && output ? fmt::format("{}({})={}", node.target, input->name, output->name)
                              : "block";
  }
  return result;
}

NamedArgument word(std::string_view value) { return {"device", {value}, {}}; }
NamedArgument flag(bool value) { return {"flag", {value}, {}}; }
const NamedArgument kNone = {"none", {NoneArg{}}, {}};

TEST(Blocks, AreSplicedInWithNamesOfTheirOwn) {
  const std::string spliced = "relu(x)=a sigmoid(a)=body.a neg(body.a)=b tanh(b)=c";
  const std::string left = "relu(x)=a block tanh(b)=c";
  const auto inlined = [](std::string_view target, std::vector<NamedArgument> before) {
    const ExportedProgram program = inline_blocks(with_block(target, std::move(before)));
    EXPECT_EQ(program.outputs[0].name, "c");
    return text(program);
  };
  EXPECT_EQ(inlined(kNoGrad, {flag(false)}), spliced);
  EXPECT_EQ(inlined("torch.ops.higher_order.cond", {flag(false)}), left);
  // Autocast that is off, or on for another device.
  EXPECT_EQ(inlined(kAutocast, {word("cpu"), kNone, flag(false), kNone}), spliced);
  EXPECT_EQ(inlined(kAutocast, {word("cuda"), kNone, flag(true), kNone}), spliced);
  EXPECT_EQ(inlined(kAutocast, {word("cpu"), kNone, flag(true), kNone}), left);
  // What cannot be read may cast.
  EXPECT_EQ(inlined(kAutocast, {kNone, kNone, flag(false), kNone}), left);
  EXPECT_EQ(inlined(kAutocast, {word("cuda"), kNone, kNone, kNone}), left);
  EXPECT_EQ(inlined(kAutocast, {word("cuda")}), left);
}

/// Where the block's arguments are not those of its graph, it stays.
TEST(Blocks, ThatDoNotFitStay) {
  const auto inlined = [](auto change) {
    ExportedProgram program = with_block(kNoGrad, {flag(false)});
    change(program.graph.nodes[1]);
    return text(inline_blocks(std::move(program)));
  };
  const std::string left = "relu(x)=a block tanh(b)=c";
  EXPECT_EQ(inlined([](Node& block) { block.inputs.pop_back(); }), left);
  EXPECT_EQ(inlined([](Node& block) { block.inputs.back() = kNone; }), left);
  EXPECT_EQ(inlined([](Node& block) { block.outputs.push_back(tensor("d")); }), left);
  EXPECT_EQ(inlined([](Node& block) { block.outputs[0] = {int64_t{1}}; }), left);
  EXPECT_EQ(inlined([](Node& block) { block.inputs.erase(block.inputs.begin() + 1); }), left);
}

/// A graph that is nothing but a block.
TEST(Blocks, MayBeAll) {
  ExportedProgram program = with_block(kNoGrad, {});
  program.graph.nodes.erase(program.graph.nodes.begin());
  program.graph.nodes.pop_back();
  EXPECT_EQ(text(inline_blocks(std::move(program))), "sigmoid(a)=body.a neg(body.a)=b");
}

/// A block that gives back what came in, and one result twice.
TEST(Blocks, MayReturnWhatTheyWereGiven) {
  ExportedProgram program = with_block(kNoGrad, {});
  Graph body;
  body.inputs = {tensor("x")};
  body.nodes = {op("sigmoid", "x", "y")};
  body.outputs = {tensor("x"), tensor("y"), tensor("y")};
  for (const char* name : {"x", "y"}) body.tensor_values[name] = {};
  Node& block = program.graph.nodes[1];
  block.inputs[0].arg = {GraphArg{"body", std::make_shared<const Graph>(std::move(body))}};
  block.outputs = {tensor("b"), tensor("d"), tensor("e")};
  program.graph.nodes.push_back(op("neg", "d", "f"));
  program.graph.nodes.push_back(op("abs", "e", "g"));
  program.outputs.push_back({OutputKind::kUserOutput, "b", tensor("b"), ""});
  program = inline_blocks(std::move(program));
  EXPECT_EQ(text(program), "relu(x)=a sigmoid(a)=d tanh(a)=c neg(d)=f abs(d)=g");
  EXPECT_EQ(program.outputs[1].name, "a");
}

}  // namespace
}  // namespace layline::pt2
