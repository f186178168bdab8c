// ONNX models as graphs: sizes, constants, functions, graphs in nodes, and what is refused.
// `make test-onnx` has the numbers of each op.
#include "frontend/onnx/import.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "../message_of.h"
#include "../onnx_writer.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "make_tensor.h"

namespace layline::onnx {
namespace {

namespace fs = std::filesystem;

Imported import(const std::string& bytes, const ImportOptions& options = {}) {
  Imported model = import_model(file_of(bytes), options);
  verify(model.graph);
  return model;
}

std::string refusal(const std::string& bytes, const ImportOptions& options = {}) {
  return message_of([&] { import_model(file_of(bytes), options); });
}

/// y = op(x) for x of f32[2,3].
WrittenGraph unary(const std::string& op, std::vector<std::string> attributes = {}) {
  return {{{op, {"x"}, {"y"}, std::move(attributes)}},
          {value_info("x", kFloats, {2, 3})},
          {value_info("y", kFloats, {2, 3})}};
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.count(); ++i) result.push_back(tensor.get(i));
  return result;
}

Tensor counting(Shape shape) {
  Tensor tensor({DType::f32, std::move(shape)});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, static_cast<double>(i));
  return tensor;
}

Tensor run(const Imported& model, const Tensor& x) {
  const Tensor inputs[] = {x};
  return evaluate(model.graph, inputs).at(0);
}

TEST(OnnxImport, StoredTensorsStayWhereTheyAre) {
  WrittenGraph graph = {{{"Add", {"x", "w"}, {"y"}}},
                        {value_info("x", kFloats, {2})},
                        {value_info("y", kFloats, {2})},
                        {floats("w", {2}, {1, 2})}};
  const std::string bytes = model_of(written(graph));
  const Imported model = import(bytes);
  const Constant* weight = nullptr;
  for (const layline::Node* node : model.graph)
    if (node->is(Op::constant)) weight = stored_constant(node->result());
  ASSERT_NE(weight, nullptr);
  const auto* stored = reinterpret_cast<const char*>(weight->stored().data());
  EXPECT_GE(stored, bytes.data());
  EXPECT_LT(stored, bytes.data() + bytes.size());
  EXPECT_EQ(numbers(run(model, counting({2}))), (std::vector<double>{1, 3}));
}

/// The same tensor in the fields for numbers, packed and not.
TEST(OnnxImport, NumbersMayStandInFieldsOfTheirOwn) {
  for (const bool packed : {false, true}) {
    std::string tensor;
    protozero::pbf_writer writer(tensor);
    writer.add_int64(1, 2);
    writer.add_int32(2, kFloats);
    const std::vector<float> values = {5, 7};
    if (packed)
      writer.add_packed_float(4, values.begin(), values.end());
    else
      for (const float value : values) writer.add_float(4, value);
    writer.add_string(8, "w");
    const WrittenGraph graph = {{{"Add", {"x", "w"}, {"y"}}},
                                {value_info("x", kFloats, {2})},
                                {value_info("y", kFloats, {2})},
                                {tensor}};
    const std::string bytes = model_of(written(graph));
    EXPECT_EQ(numbers(run(import(bytes), counting({2}))), (std::vector<double>{5, 8}));
  }
}

// Sizes -------------------------------------------------------------------------------------------

/// x of [n, 6] becomes [n * 2, 3] by way of Shape, Gather, Mul and Concat.
WrittenGraph reshaped() {
  return {{{"Shape", {"x"}, {"shape"}},
           {"Gather", {"shape", "zero"}, {"rows"}},
           {"Mul", {"rows", "two"}, {"more"}},
           {"Concat", {"more", "left"}, {"wanted"}, {integer("axis", 0)}},
           {"Reshape", {"x", "wanted"}, {"y"}}},
          {value_info("x", kFloats, {"n", 6})},
          {value_info("y", kFloats, {"", ""})},
          {ints("zero", {0}), ints("two", {2}), ints("left", {-1})}};
}

TEST(OnnxImport, ShapesAreComputedWithSymbols) {
  ImportOptions options;
  options.sizes["n"] = {1, 8, 1};
  const std::string bytes = model_of(written(reshaped()));
  const Imported model = import(bytes, options);
  EXPECT_EQ(to_string(model.graph.outputs()[0].value->type()), "f32[2*s1,3]");
  EXPECT_EQ(run(model, counting({4, 6})).dims(), (std::vector<int64_t>{8, 3}));
}

TEST(OnnxImport, ASizeMayGoInSteps) {
  ImportOptions options;
  options.sizes["n"] = {32, 96, 32};
  const std::string bytes = model_of(written(reshaped()));
  const Imported model = import(bytes, options);
  EXPECT_EQ(to_string(model.graph.inputs()[0].value->type()), "f32[32*s1,6]");
  EXPECT_EQ(model.graph.symbols()[0].min, 1);
  EXPECT_EQ(model.graph.symbols()[0].max, 3);
}

/// A picture that is halved and doubled again is as large as it was only if its size is even.
TEST(OnnxImport, SizesThatNeedStepsAreAskedForThem) {
  const WrittenGraph graph = {
      {{"MaxPool", {"x"}, {"half"}, {integers("kernel_shape", {2}), integers("strides", {2})}},
       {"Concat", {"half", "half"}, {"whole"}, {integer("axis", 2)}},
       {"Add", {"x", "whole"}, {"y"}, {}, "", "add"}},
      {value_info("x", kFloats, {1, 1, "n"})},
      {value_info("y", kFloats, {1, 1, ""})}};
  const std::string bytes = model_of(written(graph));
  ImportOptions options;
  options.sizes["n"] = {2, 64, 1};
  EXPECT_EQ(refusal(bytes, options),
            "add: add: expected shapes that broadcast, found f32[1,1,s1] and f32[1,1,2*s2]; if the "
            "model's dynamic sizes are multiples of a number, give them in steps (--dim "
            "NAME=32..960:32), and otherwise fix them");
  options.sizes["n"] = {2, 64, 2};
  EXPECT_EQ(to_string(import(bytes, options).graph.outputs()[0].value->type()), "f32[1,1,2*s1]");
}

TEST(OnnxImport, OpenSizesAreAskedFor) {
  const std::string bytes = model_of(written(reshaped()));
  EXPECT_EQ(refusal(bytes),
            "model.onnx: the model leaves open the size n; give each a value or a range, such as "
            "--dim n=1 or --dim n=1..64");
  ImportOptions options;
  options.sizes["n"] = {2, 2, 1};
  options.sizes["m"] = {2, 2, 1};
  EXPECT_EQ(refusal(bytes, options),
            "model.onnx: --dim m: the model leaves no such size open; it leaves open n");
}

TEST(OnnxImport, AQuestionMarkIsNoName) {
  WrittenGraph graph = unary("Relu");
  graph.inputs = {value_info("x", kFloats, {"?", "?"})};
  graph.outputs = {value_info("y", kFloats, {"?", "?"})};
  const std::string bytes = model_of(written(graph));
  ImportOptions options;
  options.sizes["x.0"] = {2, 2, 1};
  options.sizes["x.1"] = {3, 3, 1};
  EXPECT_EQ(to_string(import(bytes, options).graph.inputs()[0].value->type()), "f32[2,3]");
}

TEST(OnnxImport, ASizeWithoutANameIsCalledByItsPlace) {
  WrittenGraph graph = unary("Relu");
  graph.inputs = {value_info("x", kFloats, {"", 3})};
  graph.outputs = {value_info("y", kFloats, {"", 3})};
  const std::string bytes = model_of(written(graph));
  EXPECT_NE(refusal(bytes).find("the size x.0;"), std::string::npos);
  ImportOptions options;
  options.sizes["x.0"] = {2, 2, 1};
  EXPECT_EQ(to_string(import(bytes, options).graph.inputs()[0].value->type()), "f32[2,3]");
}

/// Known places may count from the end. Those that are evenly spaced become slices (simplify).
TEST(OnnxImport, KnownPlaces) {
  struct Case {
    std::vector<int64_t> shape, places;
    std::vector<double> expected;
  };
  const Case cases[] = {{{}, {2}, {2}},
                        {{}, {-1}, {3}},
                        {{2}, {1, 3}, {1, 3}},
                        {{2}, {-2, -1}, {2, 3}},
                        {{2, 2}, {0, 1, 2, 3}, {0, 1, 2, 3}},
                        {{3}, {0, 1, 3}, {0, 1, 3}},
                        {{2}, {3, 1}, {3, 1}}};
  for (const Case& each : cases) {
    const std::vector<WrittenSize> open(each.shape.size(), WrittenSize(""));
    const WrittenGraph graph = {{{"Gather", {"x", "i"}, {"y"}}},
                                {value_info("x", kFloats, {4})},
                                {value_info("y", kFloats, open)},
                                {raw_tensor("i", kInts, each.shape, bytes_of(each.places))}};
    const std::string bytes = model_of(written(graph));
    EXPECT_EQ(numbers(run(import(bytes), counting({4}))), each.expected);
  }
}

// Inputs that decide what is built ----------------------------------------------------------------

WrittenGraph reshaped_as_told() {
  return {{{"Reshape", {"x", "shape"}, {"y"}, {}, "", "reshape"}},
          {value_info("x", kFloats, {6}), value_info("shape", kInts, {2})},
          {value_info("y", kFloats, {"", ""})}};
}

TEST(OnnxImport, DataThatDecidesAShapeIsRefusedWithTheRemedy) {
  EXPECT_EQ(refusal(model_of(written(reshaped_as_told()))),
            "reshape: Reshape: `shape` depends on the data of the input `shape`, but must be known "
            "when the model is compiled; if the input is always the same, fix it: --fix "
            "shape=NUMBER or --fix shape=FILE.npy");
}

TEST(OnnxImport, AFixedInputIsAConstant) {
  ImportOptions options;
  Tensor shape({DType::i64, {2}});
  shape.set_int(0, 2);
  shape.set_int(1, 3);
  options.fixed.emplace("shape", shape);
  const std::string bytes = model_of(written(reshaped_as_told()));
  const Imported model = import(bytes, options);
  EXPECT_EQ(model.graph.inputs().size(), 1U);
  EXPECT_EQ(to_string(model.graph.outputs()[0].value->type()), "f32[2,3]");
}

TEST(OnnxImport, AFixedInputMustFit) {
  const std::string bytes = model_of(written(reshaped_as_told()));
  ImportOptions options;
  options.fixed.emplace("shape", Tensor({DType::f32, {2}}));
  EXPECT_EQ(refusal(bytes, options),
            "model.onnx: --fix shape: f32[2] does not fit the input, which is int64 with 1 axes");
  ImportOptions other;
  other.fixed.emplace("z", 1.0);
  EXPECT_EQ(refusal(bytes, other), "model.onnx: --fix z: the model has no such input");
}

// Graphs in nodes, and functions ------------------------------------------------------------------

WrittenGraph branching() {
  auto branch = [](const std::string& op) {
    return written(WrittenGraph{{{op, {"x"}, {"r"}}}, {}, {value_info("r", kFloats, {3})}});
  };
  return {{{"Greater", {"rate", "limit"}, {"high"}},
           {"If",
            {"high"},
            {"y"},
            {body("then_branch", branch("Neg")), body("else_branch", branch("Abs"))}}},
          {value_info("x", kFloats, {3}), value_info("rate", kInts, {})},
          {value_info("y", kFloats, {3})},
          {raw_tensor("limit", kInts, {}, bytes_of(std::vector<int64_t>{9000}))}};
}

TEST(OnnxImport, ABranchIsTakenWhenTheModelIsCompiled) {
  const std::string bytes = model_of(written(branching()));
  for (const auto& [rate, expected] : {std::pair{16000.0, -2.0}, {8000.0, 2.0}}) {
    ImportOptions options;
    options.fixed.emplace("rate", rate);
    EXPECT_EQ(numbers(run(import(bytes, options), counting({3})))[2], expected);
  }
}

TEST(OnnxImport, AFunctionIsPutInItsPlace) {
  const WrittenFunction function = {
      "mine",
      "Shifted",
      {"a", "b"},
      {"c"},
      {{"Add", {"a", "b"}, {"t"}},
       {"LeakyRelu", {"t"}, {"u"}},
       {"Concat", {"u", "u"}, {"c"}, {reference("axis", "where", 2)}}}};
  WrittenGraph graph = {{{"Shifted", {"x", "x"}, {"y"}, {integer("where", 1)}, "mine"}},
                        {value_info("x", kFloats, {1, 2})},
                        {value_info("y", kFloats, {1, 4})}};
  const std::string bytes = model_of(written(graph), 17, {function});
  EXPECT_EQ(numbers(run(import(bytes), counting({1, 2}))), (std::vector<double>{0, 2, 0, 2}));
}

TEST(OnnxImport, AFunctionThatCallsItselfIsRefused) {
  const WrittenFunction function = {
      "mine", "Loop", {"a"}, {"b"}, {{"Loop", {"a"}, {"b"}, {}, "mine"}}};
  WrittenGraph graph = unary("Loop");
  graph.nodes[0].domain = "mine";
  EXPECT_EQ(refusal(model_of(written(graph), 17, {function})),
            "model.onnx: functions and graphs call each other more than 64 deep");
}

// Bad input ---------------------------------------------------------------------------------------

TEST(OnnxImport, UnsupportedOpsAreNamedAtOnce) {
  const WrittenGraph graph = {{{"Foo", {"x"}, {"a"}, {}, "", "first"},
                               {"Foo", {"a"}, {"b"}},
                               {"Bar", {"b"}, {"y"}, {}, "com.example", "last"}},
                              {value_info("x", kFloats, {2, 3})},
                              {value_info("y", kFloats, {2, 3})}};
  EXPECT_EQ(refusal(model_of(written(graph))),
            "model.onnx: 2 unsupported ops (opset 17): Foo at first and 1 more; com.example.Bar at "
            "last");
}

TEST(OnnxImport, OpsetsThatAreUnknownAreRefused) {
  for (const int64_t version : {1, 99})
    EXPECT_EQ(refusal(model_of(written(unary("Relu")), version)),
              fmt::format("model.onnx: the model is of opset {}; layline reads 6 to {} "
                          "(onnx.version_converter converts models to another opset)",
                          version, kNewestOpset));
}

TEST(OnnxImport, AModelSaysWhichOpsetItIsOf) {
  std::string model;
  protozero::pbf_writer writer(model);
  writer.add_int64(1, 8);
  writer.add_message(7, written(unary("Relu")));
  EXPECT_EQ(refusal(model),
            "model.onnx: its nodes are of ONNX's own ops, but it does not say of which opset");
}

TEST(OnnxImport, WhatIsUsedMustBeDefinedBefore) {
  const WrittenGraph cyclic = {
      {{"Add", {"x", "b"}, {"a"}, {}, "", "first"}, {"Relu", {"a"}, {"b"}}},
      {value_info("x", kFloats, {2})},
      {value_info("b", kFloats, {2})}};
  EXPECT_EQ(refusal(model_of(written(cyclic))), "model.onnx: no node before first defines `b`");
  WrittenGraph graph = unary("Relu");
  graph.outputs = {value_info("z", kFloats, {2, 3})};
  EXPECT_EQ(refusal(model_of(written(graph))),
            "model.onnx: no node before the model's end defines `z`");
  graph = unary("Relu");
  graph.nodes.push_back(graph.nodes[0]);
  EXPECT_EQ(refusal(model_of(written(graph))), "model.onnx: `y` is defined twice");
}

TEST(OnnxImport, ShapesThatContradictAreRefused) {
  WrittenGraph graph = unary("Relu");
  graph.outputs = {value_info("y", kFloats, {2, 4})};
  EXPECT_EQ(refusal(model_of(written(graph))),
            "model.onnx: the model records float [2,4] for the output `y`, but its nodes give "
            "f32[2,3]");
}

TEST(OnnxImport, SizesThatWereRecordedForAnotherBatchAreNot) {
  WrittenGraph graph = unary("Relu");
  graph.inputs = {value_info("x", kFloats, {"batch", 3})};
  graph.outputs = {value_info("y", kFloats, {1, 3})};
  ImportOptions options;
  options.sizes["batch"] = {4, 4, 1};
  const std::string bytes = model_of(written(graph));
  EXPECT_EQ(to_string(import(bytes, options).graph.outputs()[0].value->type()), "f32[4,3]");
}

TEST(OnnxImport, TypesThatNoGraphHoldsAreRefused) {
  WrittenGraph graph = unary("Relu");
  graph.inputs = {value_info("x", kTexts, {2})};
  EXPECT_EQ(refusal(model_of(written(graph))),
            "model.onnx: the input `x` is string, which layline does not support");
  graph.inputs = {value_info("x", kHuge, {2})};
  EXPECT_EQ(refusal(model_of(written(graph))),
            "model.onnx: the input `x` is uint64, which layline does not support");
}

TEST(OnnxImport, EveryPrefixIsAModelOrRefused) {
  const std::string whole = model_of(written(reshaped()));
  for (size_t size = 1; size < whole.size(); ++size)
    EXPECT_NE(refusal(whole.substr(0, size)), "nothing was thrown") << size;
}

TEST(OnnxImport, StoredTensorsMustBeWhole) {
  auto with = [](const std::string& tensor) {
    return model_of(written(WrittenGraph{{{"Add", {"x", "w"}, {"y"}}},
                                         {value_info("x", kFloats, {2})},
                                         {value_info("y", kFloats, {2})},
                                         {tensor}}));
  };
  const std::string start = "model.onnx: the stored tensor `w`: ";
  EXPECT_EQ(refusal(with(floats("w", {2}, {1}))),
            start + "it has 4 bytes, but its shape and type take 8");
  EXPECT_EQ(refusal(with(floats("w", {-1}, {}))), start + "its sizes are negative or too large");
  EXPECT_EQ(refusal(with(floats("w", {int64_t{1} << 62, 4}, {}))),
            start + "its sizes are negative or too large");
  EXPECT_EQ(refusal(with(raw_tensor("w", kTexts, {1}, ""))),
            start + "it is string, which layline does not support");
}

TEST(OnnxImport, GraphsNestOnlySoDeep) {
  std::string graph = written(unary("Relu"));
  for (int i = 0; i < 20; ++i)
    graph = written(WrittenGraph{{{"If", {"x"}, {"y"}, {body("then_branch", graph)}}}, {}, {}});
  EXPECT_EQ(refusal(model_of(graph)),
            "'model.onnx' is not an ONNX model: graphs are nested more than 16 deep");
}

// Elements in files beside the model --------------------------------------------------------------

class OnnxExternal : public testing::Test {
 protected:
  OnnxExternal() : folder_(fs::temp_directory_path() / fmt::format("layline-onnx-{}", ::getpid())) {
    fs::create_directories(folder_ / "inside");
    write("inside/weights.bin", bytes_of(std::vector<float>{0, 1, 2, 3}));
    write("outside.bin", bytes_of(std::vector<float>{0, 1, 2, 3}));
  }
  ~OnnxExternal() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  std::string import_with(const std::string& location, const std::string& offset,
                          const std::string& length) const {
    const WrittenGraph graph = {{{"Add", {"x", "w"}, {"y"}}},
                                {value_info("x", kFloats, {2})},
                                {value_info("y", kFloats, {2})},
                                {external_floats("w", {2}, location, offset, length)}};
    write("inside/model.onnx", model_of(written(graph)));
    std::string message = message_of([&] {
      const Imported model =
          import_model(MappedFile::open((folder_ / "inside/model.onnx").string()), {});
      EXPECT_EQ(numbers(run(model, counting({2}))), (std::vector<double>{1, 3}));
    });
    const std::string start = "the stored tensor `w`: ";
    const size_t found = message.find(start);
    return found == std::string::npos ? message : message.substr(found + start.size());
  }

  fs::path folder_;
};

TEST_F(OnnxExternal, IsReadInPlace) {
  EXPECT_EQ(import_with("weights.bin", "4", "8"), "nothing was thrown");
}

TEST_F(OnnxExternal, IsFoundBesideAModelInTheCurrentFolder) {
  EXPECT_EQ(import_with("weights.bin", "4", "8"), "nothing was thrown");
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "inside");
  const std::string message = message_of([] { import_model(MappedFile::open("model.onnx"), {}); });
  fs::current_path(before);
  EXPECT_EQ(message, "nothing was thrown");
}

TEST_F(OnnxExternal, StaysInTheFolder) {
  for (const char* location : {"../outside.bin", "a/../../outside.bin"})
    EXPECT_EQ(
        import_with(location, "", ""),
        fmt::format("its elements are in '{}', which is outside of the model's folder", location));
  EXPECT_EQ(import_with((folder_ / "outside.bin").string(), "", ""),
            fmt::format("its elements are in '{}', which is no file in the model's folder",
                        (folder_ / "outside.bin").string()));
  fs::create_symlink(folder_ / "outside.bin", folder_ / "inside/link.bin");
  EXPECT_EQ(import_with("link.bin", "", ""),
            "its elements are in 'link.bin', which is outside of the model's folder");
}

TEST_F(OnnxExternal, MustBeThereAndLongEnough) {
  EXPECT_NE(import_with("missing.bin", "", "").find("missing.bin"), std::string::npos);
  EXPECT_EQ(import_with("weights.bin", "12", "8"),
            "'weights.bin' has 16 bytes, which is too few for it");
  EXPECT_EQ(import_with("weights.bin", "100", ""),
            "'weights.bin' has 16 bytes, which is too few for it");
  EXPECT_EQ(import_with("weights.bin", "-4", "8"), "'-4' is no place in a file");
  EXPECT_EQ(import_with("weights.bin", "4", "4"), "it has 4 bytes, but its shape and type take 8");
}

TEST_F(OnnxExternal, NeedsAFile) {
  const WrittenGraph graph = {{{"Add", {"x", "w"}, {"y"}}},
                              {value_info("x", kFloats, {2})},
                              {value_info("y", kFloats, {2})},
                              {external_floats("w", {2}, "weights.bin", "4", "8")}};
  EXPECT_EQ(refusal(model_of(written(graph))),
            "model.onnx: the stored tensor `w`: its elements are in the file 'weights.bin'; give "
            "the model as a file");
}

}  // namespace
}  // namespace layline::onnx
