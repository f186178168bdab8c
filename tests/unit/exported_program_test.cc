#include "frontend/pt2/exported_program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace layline::pt2 {
namespace {

constexpr const char* kMeta = R"json({"dtype":7,"sizes":[{"as_int":2},{"as_expr":{"expr_str":
  "Mul(Integer(2), Symbol('s0', positive=True, integer=True))","hint":{"as_int":6}}}],
  "requires_grad":true,"device":{"type":"cpu","index":null},
  "strides":[{"as_int":6},{"as_int":1}],"storage_offset":{"as_int":0},"layout":7})json";

struct Parts {
  std::string argument = R"({"as_int":1})";
  std::string meta = kMeta;
  std::string version = R"({"major":8,"minor":20})";
  std::string metadata = "{}";
  std::string input_specs = R"([{"user_input":{"arg":{"as_tensor":{"name":"x"}}}}])";
  std::string inputs = R"([{"as_tensor":{"name":"x"}}])";
  std::string ranges = R"({"s0":{"min_val":2,"max_val":null}})";
};

std::string json_of(const Parts& parts) {
  return fmt::format(R"({{"graph_module":{{"graph":{{"inputs":{},
      "outputs":[{{"as_tensor":{{"name":"y"}}}}],
      "nodes":[{{"target":"torch.ops.aten.add.Tensor","inputs":[
        {{"name":"self","arg":{{"as_tensor":{{"name":"x"}}}},"kind":1}},
        {{"name":"other","arg":{},"kind":2}}],
        "outputs":[{{"as_tensor":{{"name":"y"}}}}],"metadata":{},
        "is_hop_single_tensor_return":null,"name":"y"}}],
      "tensor_values":{{"x":{}}},"sym_int_values":{{}},"sym_bool_values":{{}}}},
    "signature":{{"input_specs":{},
      "output_specs":[{{"user_output":{{"arg":{{"as_tensor":{{"name":"y"}}}}}}}}]}},
    "module_call_graph":[]}},"opset_version":{{"aten":10}},"range_constraints":{},
    "schema_version":{},"torch_version":"2.13.0"}})",
                     parts.inputs, parts.argument, parts.metadata, parts.meta, parts.input_specs,
                     parts.ranges, parts.version);
}

ExportedProgram parse(const std::string& json) {
  return parse_exported_program(std::as_bytes(std::span(json)), "model.json");
}

ExportedProgram parse_argument(const std::string& argument) {
  Parts parts;
  parts.argument = argument;
  return parse(json_of(parts));
}

std::string error_of(const std::string& json) {
  try {
    parse(json);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

std::string argument_error(const std::string& argument) {
  Parts parts;
  parts.argument = argument;
  return error_of(json_of(parts));
}

#define EXPECT_CONTAINS(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST(ExportedProgram, ReadsAProgram) {
  const ExportedProgram program = parse(json_of({}));
  EXPECT_EQ(program.schema_minor, 20);
  EXPECT_EQ(program.torch_version, "2.13.0");
  EXPECT_EQ(program.ranges.at("s0").min, 2);
  EXPECT_EQ(program.ranges.at("s0").max, std::nullopt);
  ASSERT_EQ(program.graph.nodes.size(), 1u);
  const Node& node = program.graph.nodes[0];
  EXPECT_EQ(node.target, "torch.ops.aten.add.Tensor");
  EXPECT_EQ(node.name, "y");
  ASSERT_EQ(node.inputs.size(), 2u);
  EXPECT_EQ(node.inputs[0].arg.as<TensorArg>()->name, "x");
  EXPECT_EQ(node.inputs[1].kind, ArgumentKind::kKeyword);
  EXPECT_EQ(program.inputs[0].name, "x");
  EXPECT_EQ(program.outputs[0].name, "y");

  const TensorMeta& meta = program.graph.tensor_values.at("x");
  EXPECT_EQ(meta.dtype, TorchDType::kFloat32);
  EXPECT_EQ(meta.sizes[0].value, 2);
  EXPECT_TRUE(meta.sizes[0].is_literal());
  EXPECT_EQ(to_string(*meta.sizes[1].expr), "Mul(2, s0)");
  EXPECT_EQ(meta.sizes[1].value, 6);
  EXPECT_TRUE(meta.requires_grad);
  EXPECT_EQ(meta.device.type, "cpu");
}

TEST(ExportedProgram, EveryArmKeepsItsName) {
  for (const auto& [arm, value] : std::vector<std::pair<std::string, std::string>>{
           {"as_none", "true"},
           {"as_tensor", R"({"name":"t"})"},
           {"as_tensors", R"([{"name":"t"},{"name":"u"}])"},
           {"as_optional_tensors", R"([{"as_none":true},{"as_tensor":{"name":"t"}}])"},
           {"as_int", "9223372036854775807"},
           {"as_ints", "[1,-2]"},
           {"as_float", "0.5"},
           {"as_floats", "[0.5,1]"},
           {"as_bool", "true"},
           {"as_bools", "[true,false]"},
           {"as_string", R"("s")"},
           {"as_strings", R"(["s","t"])"},
           {"as_sym_int", R"({"as_name":"n"})"},
           {"as_sym_ints", R"([{"as_name":"n"},{"as_int":3}])"},
           {"as_sym_bool", R"({"as_bool":true})"},
           {"as_sym_bools", R"([{"as_name":"n"}])"},
           {"as_sym_float", R"({"as_float":2.0})"},
           {"as_sym_floats", R"([{"as_name":"n"}])"},
           {"as_scalar_type", "13"},
           {"as_memory_format", "2"},
           {"as_layout", "7"},
           {"as_device", R"({"type":"cuda","index":1})"},
           {"as_graph", R"({"name":"g","graph":{"inputs":[],"outputs":[],"nodes":[],
              "tensor_values":{},"sym_int_values":{},"sym_bool_values":{}}})"},
           {"as_operator", R"("aten.add")"},
           {"as_custom_obj", R"({"name":"o","class_fqn":"c"})"},
           {"as_complex", R"({"real":1.0,"imag":2.0})"},
           {"as_nested_tensors", R"([[{"name":"t"}],[]])"},
           {"as_int_lists", "[[1],[2,3]]"},
           {"as_float_lists", "[[1.5],[]]"},
           {"as_string_to_argument", R"({"k":{"as_int":1}})"}}) {
    const auto program = parse_argument(fmt::format(R"({{"{}":{}}})", arm, value));
    EXPECT_EQ(kind_name(program.graph.nodes[0].inputs[1].arg), arm);
  }
}

TEST(ExportedProgram, ReadsTheValuesOfArguments) {
  const auto with = [](const std::string& argument) {
    return parse_argument(argument).graph.nodes[0].inputs[1].arg;
  };
  EXPECT_EQ(*with(R"({"as_int":9223372036854775807})").as<int64_t>(),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(*with(R"({"as_float":"-Infinity"})").as<double>(),
            -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*with(R"({"as_float":"NaN"})").as<double>()));
  EXPECT_EQ(*with(R"({"as_bools":[true,false]})").as<std::vector<bool>>(),
            (std::vector<bool>{true, false}));
  EXPECT_TRUE(with(R"({"as_optional_tensor":{"as_none":true}})").is_none());
  EXPECT_EQ(kind_name(with(R"({"as_optional_tensor":{"as_tensor":{"name":"t"}}})")), "as_tensor");
  const Argument mixed = with(R"({"as_sym_ints":[{"as_int":-1},{"as_int":4}]})");
  EXPECT_EQ((*mixed.as<std::vector<SymIntArg>>())[1].value, 4);
  EXPECT_EQ(mixed.as<int64_t>(), nullptr);
  const Argument optional = with(R"({"as_optional_tensors":[{"as_none":true}]})");
  EXPECT_EQ((*optional.as<std::vector<OptionalTensorArg>>())[0].name, std::nullopt);
}

TEST(ExportedProgram, ReadsEveryInputSpec) {
  Parts parts;
  parts.input_specs = R"([{"parameter":{"arg":{"name":"p"},"parameter_name":"a.w"}},
    {"buffer":{"arg":{"name":"b"},"buffer_name":"a.b","persistent":false}},
    {"tensor_constant":{"arg":{"name":"c"},"tensor_constant_name":"a.c"}},
    {"constant_input":{"name":"k","value":{"as_int":3}}},
    {"token":{"arg":{"name":"tok"}}},
    {"custom_obj":{"arg":{"name":"o","class_fqn":"C"},"custom_obj_name":"a.o"}},
    {"user_input":{"arg":{"as_sym_int":{"as_name":"n"}}}}])";
  parts.inputs = R"([{"as_none":true},{"as_none":true},{"as_none":true},{"as_none":true},
    {"as_none":true},{"as_none":true},{"as_none":true}])";
  const ExportedProgram program = parse(json_of(parts));
  ASSERT_EQ(program.inputs.size(), 7u);
  EXPECT_EQ(program.inputs[0].fqn, "a.w");
  EXPECT_EQ(program.inputs[1].kind, InputKind::kBuffer);
  EXPECT_FALSE(program.inputs[1].persistent);
  EXPECT_EQ(program.inputs[2].name, "c");
  EXPECT_EQ(program.inputs[3].name, "k");
  EXPECT_EQ(*program.inputs[3].arg.as<int64_t>(), 3);
  EXPECT_EQ(kind_name(program.inputs[4].arg), "token");
  EXPECT_EQ(program.inputs[5].fqn, "a.o");
  EXPECT_EQ(program.inputs[6].name, "n");
}

TEST(ExportedProgram, ErrorsSayWhereAndWhat) {
  const std::string where = "model.json: graph_module.graph.nodes[0].inputs[1].arg";
  EXPECT_EQ(argument_error(R"({"as_int":"1"})"), where + ".as_int: expected a 64-bit integer");
  EXPECT_EQ(argument_error(R"({"as_int":1.5})"), where + ".as_int: expected a 64-bit integer");
  EXPECT_EQ(argument_error(R"({"as_ints":[1,null]})"),
            where + ".as_ints[1]: expected a 64-bit integer");
  EXPECT_CONTAINS(
      argument_error(R"({"as_what":1})"),
      where + ": unknown kind of argument 'as_what', expected one of as_none, as_tensor");
  EXPECT_CONTAINS(argument_error(R"({"token":{"name":"t"}})"), "unknown kind of argument 'token'");
  EXPECT_EQ(argument_error("{}"), where + ": expected an object with exactly one member");
  EXPECT_EQ(argument_error("[]"), where + ": expected an object");
  EXPECT_EQ(argument_error(R"({"as_tensor":{}})"), where + ".as_tensor: 'name' is missing");
  EXPECT_EQ(argument_error(R"({"as_scalar_type":77})"),
            where +
                ".as_scalar_type: unknown dtype number 77; convert the tensor to a plain dtype "
                "before export");
  EXPECT_CONTAINS(argument_error(R"({"as_memory_format":5})"), "unknown memory format 5");
  EXPECT_CONTAINS(argument_error(R"({"as_float":"abc"})"), "expected a number");
  EXPECT_CONTAINS(argument_error(R"({"as_int":99999999999999999999999})"), "model.json: not valid");
  EXPECT_CONTAINS(argument_error(R"({"as_int":18446744073709551615})"), "64-bit integer");
}

TEST(ExportedProgram, RefusesOtherSchemasAndBadSignatures) {
  Parts parts;
  parts.version = R"({"major":9,"minor":1})";
  EXPECT_CONTAINS(error_of(json_of(parts)), "export schema 9.1 is not supported");
  parts = {};
  parts.input_specs = "[]";
  EXPECT_CONTAINS(error_of(json_of(parts)), "0 specs for 1 graph inputs");
  parts.input_specs = R"([{"surprise":{}}])";
  EXPECT_CONTAINS(error_of(json_of(parts)),
                  "input_specs[0]: unknown kind 'surprise', expected one of user_input");
  parts = {};
  parts.ranges = R"({"s0":{"min_val":5,"max_val":2}})";
  EXPECT_CONTAINS(error_of(json_of(parts)), "range_constraints.s0: empty range 5 to 2");
}

TEST(ExportedProgram, RefusesAbsurdTensors) {
  const auto with = [](const std::string& from, const std::string& to) {
    Parts parts;
    parts.meta.replace(parts.meta.find(from), from.size(), to);
    return error_of(json_of(parts));
  };
  EXPECT_CONTAINS(with(R"({"as_int":2})", R"({"as_int":4611686018427387904})"),
                  "tensor_values.x.sizes: the tensor is larger than memory can be");
  EXPECT_CONTAINS(with(R"({"as_int":2})", R"({"as_int":-2})"), "sizes[0]: negative size -2");
  EXPECT_CONTAINS(with(R"("dtype":7)", R"("dtype":0)"), "dtype: unknown dtype number 0");
  EXPECT_CONTAINS(with(R"("layout":7)", R"("layout":8)"), "layout: unknown layout 8");
  EXPECT_CONTAINS(with(R"([{"as_int":6},)", "["), "1 strides for 2 sizes");
  EXPECT_CONTAINS(with("Symbol('s0', ", "Symbol("), "Symbol without a name");
}

/// What is written in place of a part of the whole program, and the message.
struct Wrong {
  std::string from, to, message;
};

TEST(ExportedProgram, EveryRecordIsChecked) {
  const std::string node = "graph_module.graph.nodes[0]";
  const std::vector<Wrong> wrongs = {
      {R"("kind":2)", R"("kind":3)", node + ".inputs[1].kind: unknown argument kind 3"},
      {R"("kind":2)", R"("kind":-1)", node + ".inputs[1].kind: unknown argument kind -1"},
      {R"("layout":7)", R"("layout":-1)", "layout: unknown layout -1"},
      {R"("metadata":{})", R"("metadata":{"stack_trace":3})",
       node + ".metadata.stack_trace: expected a string"},
      {R"("metadata":{})", R"("metadata":[])", node + ".metadata: expected an object"},
      {R"("nodes":[)", R"("nodes":3,"old":[)", "graph_module.graph.nodes: expected an"},
      {R"("tensor_values":{)", R"("tensor_values":{"x":{},)",
       "tensor_values.x: 'dtype' is missing"},
      {R"("sym_int_values":{})", R"("sym_int_values":{"k":{"as_bool":true}})",
       "sym_int_values.k: expected one of as_int, as_expr"},
      {R"("sym_bool_values":{})", R"("sym_bool_values":{"k":{"as_int":1}})",
       "sym_bool_values.k: expected one of as_bool, as_expr"},
      {R"("sym_bool_values":{})", R"("sym_bool_values":{},"sym_float_values":{"k":{"as_int":1}})",
       "sym_float_values.k: expected one of as_float, as_expr"},
      {R"("sym_int_values":{})", R"("sym_int_values":{"k":{"as_int":1},"k":{"as_int":2}})",
       "sym_int_values: 'k' occurs twice"},
      {R"("index":null)", R"("index":"first")", "device.index: expected a 64-bit integer"},
      {R"("requires_grad":true)", R"("requires_grad":1)", "expected true or false"},
      {R"("output_specs":[)", R"("output_specs":[{"user_output":{"arg":{"as_int":1}}},)",
       "output_specs: 2 specs for 1 graph outputs"},
      {R"([{"user_output")", R"([{"surprise")",
       "output_specs[0]: unknown kind 'surprise', expected one of user_output, loss_output"},
      {R"("opset_version":{"aten":10})", R"("opset_version":{"aten":"ten"})",
       "opset_version.aten: expected a 64-bit integer"},
      {R"("major":8)", R"("major":7)", "export schema 7.20 is not supported, only 8.x"},
      {R"("name":"self")", R"("named":"self")", node + ".inputs[0]: 'name' is missing"},
      {R"("strides":[)", R"("strides":3,"old":[)", "strides: expected an array"},
  };
  for (const Wrong& wrong : wrongs) {
    std::string json = json_of({});
    const size_t at = json.find(wrong.from);
    ASSERT_NE(at, std::string::npos) << wrong.from;
    EXPECT_CONTAINS(error_of(json.replace(at, wrong.from.size(), wrong.to)), wrong.message);
  }
}

/// Numbers of enums begin with 0, and tensors that are not strided have what strides they like.
TEST(ExportedProgram, WhatIsNotChecked) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string json = json_of({});
    return error_of(json.replace(json.find(from), from.size(), to));
  };
  EXPECT_EQ(with(R"("kind":2)", R"("kind":0)"), "no UserError");
  EXPECT_EQ(with(R"("layout":7)", R"("layout":0)"), "no UserError");
  EXPECT_EQ(with(R"([{"as_int":6},{"as_int":1}],"storage_offset":{"as_int":0},"layout":7)",
                 R"([],"storage_offset":{"as_int":0},"layout":1)"),
            "no UserError");
  EXPECT_EQ(argument_error(R"({"as_what":1})").find("token"), std::string::npos);
}

TEST(ExportedProgram, RangesMayBeOpen) {
  Parts parts;
  for (const char* range : {R"({"min_val":null,"max_val":2})", R"({"max_val":2})", "{}"}) {
    parts.ranges = fmt::format(R"({{"s0":{}}})", range);
    EXPECT_EQ(parse(json_of(parts)).ranges.at("s0").min, std::nullopt);
  }
  parts.ranges = R"({"s0":{"min_val":2,"max_val":2}})";
  EXPECT_EQ(parse(json_of(parts)).ranges.at("s0").max, 2);
}

TEST(ExportedProgram, SymbolicValuesAndTheirHints) {
  std::string json = json_of({});
  const std::string values = R"("sym_int_values":{},"sym_bool_values":{})";
  json.replace(json.find(values), values.size(), R"json(
    "sym_int_values":{"a":{"as_int":3},"b":{"as_expr":{"expr_str":"Symbol('s0')","hint":null}},
      "c":{"as_expr":{"expr_str":"Integer(5)","hint":{"as_int":9}}},
      "d":{"as_expr":{"expr_str":"Symbol('s0')","hint":{"as_int":6}}}},
    "sym_bool_values":{"e":{"as_bool":true},"f":{"as_expr":{"expr_str":"true"}},
      "g":{"as_expr":{"expr_str":"true","hint":{"as_bool":false}}}},
    "sym_float_values":{"h":{"as_float":1.5},"i":{"as_expr":{"expr_str":"true"}},
      "j":{"as_expr":{"expr_str":"true","hint":{"as_float":2.5}}}})json");
  const ExportedProgram program = parse(json);
  const auto& ints = program.graph.sym_int_values;
  EXPECT_TRUE(ints.at("a").is_literal());
  EXPECT_EQ(ints.at("a").value, 3);
  EXPECT_FALSE(ints.at("b").is_literal());
  EXPECT_EQ(ints.at("b").value, std::nullopt);
  EXPECT_TRUE(ints.at("c").is_literal());  // a number is one, however it is written
  EXPECT_EQ(ints.at("c").value, 5);
  EXPECT_EQ(ints.at("d").value, 6);
  EXPECT_EQ(ints.at("b").expr, ints.at("d").expr);
  const auto& bools = program.graph.sym_bool_values;
  EXPECT_TRUE(bools.at("e").is_literal());
  EXPECT_EQ(bools.at("e").value, true);
  EXPECT_EQ(bools.at("f").value, std::nullopt);
  EXPECT_FALSE(bools.at("f").is_literal());
  EXPECT_EQ(bools.at("g").value, false);
  const auto& floats = program.graph.sym_float_values;
  EXPECT_EQ(floats.at("h").value, 1.5);
  EXPECT_EQ(floats.at("i").value, std::nullopt);
  EXPECT_EQ(floats.at("j").value, 2.5);
}

/// The size of an element counts.
TEST(ExportedProgram, TensorsAsLargeAsMemoryCanBe) {
  const auto with_dtype = [](int dtype, const std::string& size) {
    Parts parts;
    const std::string two = R"({"as_int":2})";
    parts.meta.replace(parts.meta.find(two), two.size(), fmt::format(R"({{"as_int":{}}})", size));
    parts.meta.replace(parts.meta.find(R"("dtype":7)"), 9, fmt::format(R"("dtype":{})", dtype));
    return error_of(json_of(parts));
  };
  EXPECT_EQ(with_dtype(12, "4611686018427387904"), "no UserError");
  EXPECT_CONTAINS(with_dtype(3, "4611686018427387904"), "larger than memory can be");
  EXPECT_EQ(with_dtype(7, "2305843009213693951"), "no UserError");
  EXPECT_CONTAINS(with_dtype(7, "2305843009213693952"), "larger than memory can be");
  EXPECT_EQ(with_dtype(7, "0"), "no UserError");
}

TEST(ExportedProgram, NestingIsLimited) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += R"({"as_string_to_argument":{"k":)";
  EXPECT_CONTAINS(argument_error(deep), "model.json: not valid JSON");
  std::string nested = R"({"as_int":1})";
  for (int i = 0; i < 400; ++i)
    nested = fmt::format(R"({{"as_string_to_argument":{{"k":{}}}}})", nested);
  EXPECT_EQ(argument_error(nested), "no UserError");
}

TEST(ExportedProgram, NoTruncationOrDamageCrashes) {
  const std::string whole = json_of({});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(error_of(whole.substr(0, size)), "no UserError") << size;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (char c : {'0', '"', '{', '-', '\0'}) {
      std::string damaged = whole;
      damaged[at] = c;
      EXPECT_NO_THROW(error_of(damaged)) << at;
    }
  }
}

TEST(SymbolicExpression, ReadsSrepr) {
  const Expr expr = parse_expr(
      "Add(FloorDiv(Symbol('s77', positive=True, integer=True), Integer(2)), Integer(-1))");
  EXPECT_EQ(expr.head, "Add");
  ASSERT_EQ(expr.args.size(), 2u);
  EXPECT_EQ(expr.args[0].args[0].name, "s77");
  EXPECT_TRUE(expr.args[0].args[0].is_symbol());
  EXPECT_EQ(expr.args[1].value, -1);
  EXPECT_EQ(to_string(expr), "Add(FloorDiv(s77, 2), -1)");
  EXPECT_EQ(to_string(parse_expr("Rational(1, 2)")), "Rational(1, 2)");
  EXPECT_EQ(to_string(parse_expr("Float('0.5', precision=53)")), "Float(0.5)");
  EXPECT_EQ(to_string(parse_expr("true")), "true");
  EXPECT_EQ(to_string(parse_expr("Max()")), "Max");
}

TEST(SymbolicExpression, RefusesEverythingElse) {
  for (const char* text :
       {"", "(", "Add(", "Add(Integer(1)", "Add(Integer(1)))", "Integer()", "Integer('1')",
        "Integer(99999999999999999999)", "Symbol()", "Symbol('s", "Add(,)", "s0 + s1", "-",
        "Symbol('a', 'b')", "Symbol('a', integer=)", "Add(Integer(1) Integer(2))"})
    EXPECT_THROW(parse_expr(text), UserError) << text;
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "Add(";
  EXPECT_THROW(parse_expr(deep), UserError);
}

TEST(SymbolicExpression, MessagesNameTheColumn) {
  const auto error = [](const std::string& text) -> std::string {
    try {
      return "read as " + to_string(parse_expr(text));
    } catch (const UserError& refused) {
      return refused.what();
    }
  };
  const std::vector<std::pair<std::string, std::string>> wrongs = {
      {"", "symbolic expression '': expected an expression at column 1"},
      {"Add(1) x", "unexpected text at column 8"},
      {"Add('a', 'b')", "second name in one call at column 10"},
      {"Symbol('s", "unterminated string at column 9"},
      {"Add(99999999999999999999)", "number beyond 64 bits at column 5"},
      {"Add(-)", "expected a number at column 5"},
      {"Add(,)", "expected an expression at column 5"},
      {"Add(1 2)", "expected ',' or ')' at column 7"},
      {"Add(a=)", "expected a keyword's value at column 7"},
      {"Integer(1, 2)", "Integer takes one number"},
      {"Integer(Symbol('a'))", "Integer takes one number"},
      {"Symbol(Integer(1))", "Symbol without a name"},
  };
  for (const auto& [text, message] : wrongs) EXPECT_CONTAINS(error(text), message);
  // Long texts are shown in part.
  const std::string shown(200, 'a');
  EXPECT_CONTAINS(error(shown + ")"), "'" + shown + "...': unexpected text at column 201");
  EXPECT_CONTAINS(error(shown.substr(1) + ")"), "'" + shown.substr(1) + ")': unexpected text");
  const auto nested = [](size_t depth) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) text += "Add(";
    return text + "1" + std::string(depth, ')');
  };
  EXPECT_CONTAINS(error(nested(100)), "read as Add(Add(");
  EXPECT_CONTAINS(error(nested(101)), "too deeply nested");
}

TEST(SymbolicExpression, SpacesQuotesAndKeywords) {
  EXPECT_EQ(to_string(parse_expr("  Add ( 1 ,  Symbol ( \"s0\" , integer = True ) ) ")),
            "Add(1, s0)");
  EXPECT_EQ(to_string(parse_expr("torch.utils._sympy.Max(1, -2)")),
            "torch.utils._sympy.Max(1, -2)");
  EXPECT_EQ(to_string(parse_expr("Float('0.5', 1)")), "Float(0.5, 1)");
  EXPECT_EQ(to_string(parse_expr("Add(1, )")), "Add(1)");
  EXPECT_EQ(parse_expr("Symbol('a', x=y)"), parse_expr("Symbol('a')"));
}

TEST(Origin, IsTheUsersInnermostFrame) {
  EXPECT_EQ(source_location("File \"/home/me/model.py\", line 8, in forward\n    y = f(x)"),
            "model.py:8: y = f(x)");
  EXPECT_EQ(source_location("File \"/home/me/model.py\", line 8, in forward\n    y = self.c(x)\n"
                            "  File \"/lib/site-packages/torch/nn/modules/conv.py\", line 565, in "
                            "forward\n    return self._conv_forward(input)"),
            "model.py:8: y = self.c(x)");
  EXPECT_EQ(source_location("File \"model.py\", line 8, in forward\n    y = self.c(x)\n"
                            "  File \"torch/nn/modules/conv.py\", line 565, in forward\n    code"),
            "model.py:8: y = self.c(x)");
  EXPECT_EQ(source_location("File \"model.py\", line 8, in forward\n    y = torch.cond(p, f, g)\n"
                            "  File \"<eval_with_key>.12\", line 9, in forward\n    code"),
            "model.py:8: y = torch.cond(p, f, g)");
  EXPECT_EQ(source_location("  File \"a.py\", line 1, in f\n  File \"b.py\", line 22, in g"),
            "b.py:22");
  EXPECT_EQ(source_location("File \"/x/torch/nn/modules/conv.py\", line 5, in forward\n    code"),
            "conv.py:5: code");
  EXPECT_EQ(source_location("File \"torch/fx/passes/runtime_assert.py\", line 24, in insert"), "");
  EXPECT_EQ(source_location(""), "");
  EXPECT_EQ(source_location("no frames\nat all"), "");
  EXPECT_EQ(source_location("File \""), "");
}

TEST(Origin, IsTheInnermostModule) {
  EXPECT_EQ(module_path("L__self__,,m.Net;L__self__features.0,features.0,torch.nn.Conv2d"),
            "features.0");
  EXPECT_EQ(module_path("L__self__,,m.Net"), "");
  EXPECT_EQ(module_path(""), "");
  EXPECT_EQ(module_path("nonsense"), "");
  EXPECT_EQ(module_path("_empty_nn_module_stack_from_metadata_hook,"
                        "_empty_nn_module_stack_from_metadata_hook,"
                        "_empty_nn_module_stack_from_metadata_hook"),
            "");
}

TEST(Origin, FramesAsTheyAreWritten) {
  const auto frame = [](const std::string& path, const std::string& code) {
    return fmt::format("File \"{}\", line 3, in f\n{}\n", path, code);
  };
  // Tabs and carriage returns are space; a line of nothing else is no code.
  EXPECT_EQ(source_location("\t File \"a.py\", line 3, in f \r\n \t y = x \r\n"), "a.py:3: y = x");
  EXPECT_EQ(source_location(frame("a.py", " \t")), "a.py:3");
  EXPECT_EQ(source_location("File \"a.py\", line 3"), "a.py:3");
  EXPECT_EQ(source_location("File \"a.py\", line 3, in f\nFile \"torch/b.py\", line 4, in g"),
            "a.py:3");
  // All of these are torch's, whatever comes after.
  for (const char* path :
       {"torch/a.py", "<eval_with_key>.3", "/x/site-packages/torch/a.py", "/y/torch/nn/a.py"})
    EXPECT_EQ(source_location(frame("mine.py", "y") + frame(path, "z")), "mine.py:3: y") << path;
  EXPECT_EQ(source_location(frame("mine.py", "y") + frame("/x/torch/a.py", "z")), "a.py:3: z");
  // The innermost of torch's where there are no others, and the user's behind them.
  EXPECT_EQ(source_location(frame("torch/a.py", "y") + frame("torch/b.py", "z")), "b.py:3: z");
  EXPECT_EQ(source_location(frame("torch/a.py", "y") + frame("mine.py", "z")), "mine.py:3: z");
  // What export inserts itself is passed over.
  EXPECT_EQ(source_location(frame("a.py", "y") + frame("torch/fx/x.py", "z")), "a.py:3: y");
  EXPECT_EQ(source_location("File \"a.py\" line 3"), "");
}

TEST(Origin, ModulesWithCommasInTheirTypes) {
  EXPECT_EQ(module_path("a,b,c,d"), "b");
  EXPECT_EQ(module_path("a,b"), "");
  EXPECT_EQ(module_path("a,,b"), "");
  EXPECT_EQ(module_path("a,,b,c"), "");
  EXPECT_EQ(module_path("x,outer,T;y,inner,U"), "inner");
}

}  // namespace
}  // namespace layline::pt2
