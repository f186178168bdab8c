// What crosses the boundary of a model: inputs and outputs that are no tensors, weights, and
// buffers that the signature says it changes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <tuple>

#include "../zip_writer.h"
#include "base/error.h"
#include "frontend/pt2/import.h"
#include "frontend/pt2/weights.h"
#include "ir/evaluate.h"
#include "make_tensor.h"

namespace layline::pt2 {
namespace {

using Texts = std::vector<std::string>;

std::string tensor(const std::string& name) {
  return fmt::format(R"({{"as_tensor":{{"name":"{}"}}}})", name);
}
std::string user_input(const std::string& argument) {
  return fmt::format(R"({{"user_input":{{"arg":{}}}}})", argument);
}
std::string user_output(const std::string& argument) {
  return fmt::format(R"({{"user_output":{{"arg":{}}}}})", argument);
}
/// A parameter, buffer or tensor_constant `name`, called m.`name` in the file.
std::string stored(const std::string& kind, const std::string& name, bool persistent = true) {
  return fmt::format(R"({{"{0}":{{"arg":{{"name":"{1}"}},"{0}_name":"m.{1}","persistent":{2}}}}})",
                     kind, name, persistent);
}
/// A mutation of `target`, whose new value is `value`.
std::string changed(const std::string& kind, const std::string& member, const std::string& target,
                    const std::string& value) {
  return fmt::format(R"({{"{}":{{"arg":{{"name":"{}"}},"{}":"{}"}}}})", kind, value, member,
                     target);
}
std::string meta(int64_t size, int64_t offset = 0) {
  return fmt::format(
      R"({{"dtype":7,"sizes":[{{"as_int":{}}}],"requires_grad":false,"device":{{"type":"cpu"}},)"
      R"("strides":[{{"as_int":1}}],"storage_offset":{{"as_int":{}}},"layout":7}})",
      size, offset);
}
std::string call(const std::string& op, const std::string& input, const std::string& output) {
  return fmt::format(
      R"({{"target":"torch.ops.aten.{}.default","inputs":[{{"name":"self","arg":{},"kind":1}}],)"
      R"("outputs":[{}],"metadata":{{}}}})",
      op, tensor(input), tensor(output));
}

/// A model on vectors of two numbers; `weights` and `constants` are names with their files.
struct Parts {
  Texts input_specs = {user_input(tensor("x"))};
  Texts output_specs = {user_output(tensor("y"))};
  Texts nodes = {call("neg", "x", "y")};
  Texts tensors = {"x", "y", "z", "b", "c"};
  std::vector<std::pair<std::string, std::string>> weights, constants;
  int64_t stored_size = 2, offset = 0;
  Texts models = {"model"};
};

std::string config(const std::vector<std::pair<std::string, std::string>>& payloads, int64_t size,
                   int64_t offset) {
  Texts entries;
  for (const auto& [name, file] : payloads)
    entries.push_back(fmt::format(
        R"("m.{}":{{"path_name":"{}","is_param":false,"use_pickle":false,"tensor_meta":{}}})", name,
        file, meta(size, offset)));
  return fmt::format(R"({{"config":{{{}}}}})", fmt::join(entries, ","));
}

std::string archive_of(const Parts& parts) {
  Texts metas, inputs(parts.input_specs.size(), tensor("x")),
      outputs(parts.output_specs.size(), tensor("y"));
  for (const std::string& name : parts.tensors)
    metas.push_back(fmt::format(R"("{}":{})", name, meta(2)));
  const std::string model = fmt::format(
      R"({{"graph_module":{{"graph":{{"inputs":[{}],"outputs":[{}],"nodes":[{}],)"
      R"("tensor_values":{{{}}},"sym_int_values":{{}},"sym_bool_values":{{}}}},)"
      R"("signature":{{"input_specs":[{}],"output_specs":[{}]}}}},"opset_version":{{}},)"
      R"("range_constraints":{{}},"schema_version":{{"major":8,"minor":20}}}})",
      fmt::join(inputs, ","), fmt::join(outputs, ","), fmt::join(parts.nodes, ","),
      fmt::join(metas, ","), fmt::join(parts.input_specs, ","), fmt::join(parts.output_specs, ","));
  ZipWriter zip;
  zip.add("m/archive_format", "pt2").add("m/byteorder", "little");
  // The numbers 1 to 4, 3 to 6, and 5 to 8.
  const Tensor numbers = f32({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const std::string bytes(reinterpret_cast<const char*>(numbers.bytes().data()), 32);
  for (const char* folder : {"weights", "constants"})
    for (int i = 0; i < 3; ++i)
      zip.add(fmt::format("m/data/{}/w{}", folder, i),
              bytes.substr(static_cast<size_t>(i) * 8, 16));
  for (const std::string& name : parts.models) {
    zip.add(fmt::format("m/models/{}.json", name), model);
    zip.add(fmt::format("m/data/weights/{}_weights_config.json", name),
            config(parts.weights, parts.stored_size, parts.offset));
    zip.add(fmt::format("m/data/constants/{}_constants_config.json", name),
            config(parts.constants, parts.stored_size, parts.offset));
  }
  return zip.finish();
}

std::vector<ImportedMethod> import(const Parts& parts) {
  const TemporaryFile file(archive_of(parts));
  return import_archive(MappedFile::open(file.path()));
}

std::string refusal(const Parts& parts) {
  try {
    import(parts);
  } catch (const UserError& error) {
    return error.what();
  }
  return "imported";
}

/// All outputs and writes, one after the other; x is 10, 20.
std::vector<double> run(const Parts& parts) {
  const auto methods = import(parts);
  std::vector<Tensor> inputs;
  for (const GraphInput& input : methods[0].graph.inputs()) {
    if (input.value == nullptr) continue;
    inputs.push_back(input.is_state() ? tensor_of(*input.initial) : f32({2}, {10, 20}));
  }
  std::vector<double> numbers;
  for (const Tensor& output : evaluate(methods[0].graph, inputs))
    for (int64_t i = 0; i < output.count(); ++i) numbers.push_back(output.get(i));
  return numbers;
}

#define EXPECT_CONTAINS(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

using Numbers = std::vector<double>;

TEST(ImportSignature, WhatIsFixedAtExport) {
  Parts parts;
  parts.input_specs = {user_input(tensor("x")),
                       R"({"constant_input":{"name":"n","value":{"as_none":true}}})",
                       R"({"constant_input":{"name":"i","value":{"as_int":3}}})",
                       user_input(R"({"as_float":1.5})"),
                       user_input(R"({"as_bool":true})"),
                       R"({"constant_input":{"name":"s","value":{"as_string":"sum"}}})",
                       R"({"token":{"arg":{"name":"t"}}})"};
  parts.output_specs = {user_output(R"({"as_int":7})"), user_output(tensor("y")),
                        R"({"token":{"arg":{"name":"t"}}})"};
  const auto methods = import(parts);
  const auto& inputs = methods[0].graph.inputs();
  ASSERT_EQ(inputs.size(), 6u);
  EXPECT_NE(inputs[0].value, nullptr);
  EXPECT_EQ(inputs[1].fixed, FixedValue{});
  EXPECT_EQ(inputs[2].fixed, FixedValue{int64_t{3}});
  EXPECT_EQ(inputs[2].name, "i");
  EXPECT_EQ(inputs[3].fixed, FixedValue{1.5});
  EXPECT_EQ(inputs[4].fixed, FixedValue{true});
  EXPECT_EQ(inputs[5].fixed, FixedValue{std::string("sum")});
  const auto& outputs = methods[0].graph.outputs();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].fixed, FixedValue{int64_t{7}});
  EXPECT_EQ(outputs[0].name, "output_0");
  EXPECT_EQ(outputs[1].name, "y");

  parts.input_specs[1] = user_input(R"({"as_ints":[1]})");
  EXPECT_CONTAINS(refusal(parts),
                  "of the model is as_ints; only tensors, and numbers fixed at export, can cross");
  parts.input_specs[1] = R"({"custom_obj":{"arg":{"name":"o","class_fqn":"C"},)"
                         R"("custom_obj_name":"o"}})";
  EXPECT_CONTAINS(refusal(parts), "the input o is a custom object, which layline cannot run");
}

TEST(ImportSignature, NamesAreThoseOfOneTensor) {
  Parts parts;
  parts.input_specs = {user_input(tensor("x")), user_input(tensor("x"))};
  EXPECT_CONTAINS(refusal(parts), "`x` is defined twice");
  parts.input_specs = {stored("buffer", "b"), stored("parameter", "b")};
  EXPECT_CONTAINS(refusal(parts), "`b` is defined twice");
  parts = {};
  parts.input_specs = {user_input(tensor("x")), stored("buffer", "y")};
  EXPECT_CONTAINS(refusal(parts), "`y` is defined twice");
  parts = {};
  parts.output_specs = {user_output(tensor("z"))};
  EXPECT_CONTAINS(refusal(parts), "the output `z` is not defined by any node");
  parts = {};
  parts.tensors = {"y"};
  EXPECT_CONTAINS(refusal(parts), "the model records no dtype and shape for `x`");
}

/// One method is called "forward", as the runtime expects; several keep their names.
TEST(ImportSignature, MethodsHaveTheNamesOfModels) {
  Parts parts;
  EXPECT_EQ(import(parts)[0].graph.name(), "forward");
  parts.models = {"encode", "decode"};
  const auto methods = import(parts);
  ASSERT_EQ(methods.size(), 2u);
  EXPECT_EQ(methods[0].graph.name(), "encode");
  EXPECT_EQ(methods[1].graph.name(), "decode");
}

TEST(ImportSignature, StoredTensorsComeFromTheirFolder) {
  Parts parts;
  parts.input_specs = {stored("buffer", "b")};
  parts.nodes = {call("neg", "b", "y")};
  parts.weights = {{"b", "w0"}};
  parts.constants = {{"b", "w1"}};
  EXPECT_EQ(run(parts), (Numbers{-1, -2}));
  parts.input_specs = {stored("buffer", "b", false)};
  EXPECT_EQ(run(parts), (Numbers{-3, -4}));
  parts.input_specs = {stored("parameter", "b", false)};
  EXPECT_EQ(run(parts), (Numbers{-1, -2}));
  parts.input_specs = {stored("tensor_constant", "b")};
  EXPECT_EQ(run(parts), (Numbers{-3, -4}));
  parts.offset = 2;
  EXPECT_EQ(run(parts), (Numbers{-5, -6}));
  parts.offset = 0;
  // One that is an output and nothing else.
  parts.output_specs = {user_output(tensor("b"))};
  EXPECT_EQ(run(parts), (Numbers{3, 4}));
  parts.constants = {};
  EXPECT_CONTAINS(refusal(parts), "no data for 'm.b'");
  parts.constants = {{"b", "w1"}};
  parts.stored_size = 1;
  EXPECT_CONTAINS(refusal(parts), "the weight m.b is f32[1], but the model records f32[2]");
  // What nothing reads is not looked at.
  parts.nodes = {};
  parts.input_specs = {user_input(tensor("x")), stored("tensor_constant", "b")};
  parts.output_specs = {user_output(tensor("x"))};
  EXPECT_EQ(run(parts), (Numbers{10, 20}));
}

/// The axes from the outermost in memory on, those of one element first; none where there are gaps
/// or elements that are shared.
TEST(ImportSignature, OrdersOfStoredTensors) {
  const std::vector<std::tuple<Ints, Ints, std::optional<std::vector<int>>>> tensors = {
      {{}, {}, {{}}},
      {{2, 3}, {3, 1}, {{0, 1}}},
      {{2, 3}, {1, 2}, {{1, 0}}},
      {{2, 3}, {4, 1}, std::nullopt},
      {{2, 3}, {1, 3}, std::nullopt},
      {{2, 2}, {0, 1}, std::nullopt},
      {{2, 2}, {1, 1}, std::nullopt},
      {{2}, {2}, std::nullopt},
      {{1, 1}, {3, 9}, {{0, 1}}},
      {{2, 1, 3}, {3, 99, 1}, {{1, 0, 2}}},
      {{2, 1, 3}, {1, 0, 2}, {{1, 2, 0}}},
      {{3, 1, 2, 1}, {2, 5, 1, 9}, {{1, 3, 0, 2}}},
  };
  for (const auto& [sizes, strides, order] : tensors)
    EXPECT_EQ(dense_order(sizes, strides), order) << fmt::format("{} {}", sizes, strides);
}

/// y = -x; z = -y; the buffer b, or the input x, becomes z.
Parts mutation(const std::string& output) {
  Parts parts;
  parts.input_specs = {user_input(tensor("x")), stored("buffer", "b"), stored("buffer", "c")};
  parts.nodes = {call("neg", "x", "y"), call("abs", "y", "z")};
  parts.output_specs = {output, user_output(tensor("y"))};
  parts.weights = {{"b", "w0"}, {"c", "w1"}};
  return parts;
}

TEST(ImportSignature, ChangesThatTheSignatureLists) {
  const std::string of_buffer = changed("buffer_mutation", "buffer_name", "m.b", "z");
  Parts parts = mutation(of_buffer);
  EXPECT_EQ(run(parts), (Numbers{-10, -20, 10, 20}));
  const auto methods = import(parts);
  ASSERT_EQ(methods[0].graph.inputs().size(), 2u);
  EXPECT_TRUE(methods[0].graph.inputs()[1].is_state());
  EXPECT_EQ(methods[0].graph.inputs()[1].name, "m.b");
  EXPECT_EQ(methods[0].graph.outputs().back().writes, 1u);

  parts = mutation(changed("user_input_mutation", "user_input_name", "x", "z"));
  EXPECT_EQ(run(parts), (Numbers{-10, -20, 10, 20}));
  EXPECT_EQ(import(parts)[0].graph.outputs().back().writes, 0u);
  // A buffer of which the new value is the old one is not written.
  EXPECT_EQ(run(mutation(changed("buffer_mutation", "buffer_name", "m.b", "b"))),
            (Numbers{-10, -20}));

  EXPECT_CONTAINS(refusal(mutation(changed("buffer_mutation", "buffer_name", "q", "z"))),
                  "the model changes the buffer `q`, which it does not have");
  EXPECT_CONTAINS(refusal(mutation(changed("user_input_mutation", "user_input_name", "q", "z"))),
                  "the model changes `q`, which it does not have");
  EXPECT_CONTAINS(refusal(mutation(changed("parameter_mutation", "parameter_name", "m.b", "z"))),
                  "the model changes `m.b` when it runs, which layline does not support");
  EXPECT_CONTAINS(refusal(mutation(R"({"loss_output":{"arg":{"name":"y"}}})")),
                  "when it runs, which layline does not support; return the new value instead");
  parts = mutation(of_buffer);
  parts.input_specs[1] = stored("parameter", "b");
  EXPECT_CONTAINS(refusal(parts), "the model changes its parameter `m.b`; make it a buffer");
}

/// Two buffers in one storage would have to change together.
TEST(ImportSignature, ABufferThatChangesHasMemoryOfItsOwn) {
  Parts parts = mutation(changed("buffer_mutation", "buffer_name", "m.b", "z"));
  parts.weights = {{"b", "w0"}, {"c", "w0"}};
  EXPECT_EQ(run(parts), (Numbers{-10, -20, 10, 20}));  // nothing reads c
  parts.nodes.push_back(call("abs", "c", "d"));
  parts.tensors.push_back("d");
  EXPECT_EQ(run(parts), (Numbers{-10, -20, 10, 20}));  // nothing reads what reads c
  parts.output_specs.push_back(user_output(tensor("d")));
  EXPECT_CONTAINS(
      refusal(parts),
      "the model changes the buffer `m.b`, whose memory it shares with `m.c`; clone one");
  parts.weights = {{"b", "w0"}, {"c", "w1"}};
  EXPECT_EQ(import(parts)[0].graph.outputs().size(), 3u);
  parts.weights = {{"b", "w0"}};
  EXPECT_CONTAINS(refusal(parts), "no data for 'm.c'");
}

TEST(ImportSignature, NamesDefinedTwice) {
  Parts parts;
  parts.nodes.push_back(call("abs", "x", "y"));
  EXPECT_CONTAINS(refusal(parts), "`y` is defined twice");
}

/// Checks that torch.export leaves in a graph compute nothing, and neither do sizes.
TEST(ImportSignature, GuardsAndSizesArePassedOver) {
  Parts parts;
  for (const char* guard :
       {"_assert_scalar.default", "_assert_tensor_metadata.default", "_assert_async.default",
        "_assert_async.msg", "sym_constrain_range.default", "sym_constrain_range_for_size.default"})
    parts.nodes.push_back(fmt::format(
        R"({{"target":"torch.ops.aten.{}","inputs":[],"outputs":[],"metadata":{{}}}})", guard));
  for (const char* kind : {"as_sym_int", "as_sym_bool", "as_sym_float"})
    parts.nodes.push_back(fmt::format(
        R"({{"target":"_operator.add","inputs":[],"outputs":[{{"{}":{{"as_name":"k"}}}}],)"
        R"("metadata":{{}}}})",
        kind));
  EXPECT_EQ(run(parts), (Numbers{-10, -20}));
  const auto with = [&parts](const std::string& node) {
    Parts more = parts;
    more.nodes.push_back(node);
    return refusal(more);
  };
  EXPECT_CONTAINS(with(R"({"target":"_operator.add","inputs":[],"outputs":[{"as_none":true},)"
                       R"({"as_tensors":[]},{"as_tensor":{"name":"z"}},)"
                       R"({"as_sym_int":{"as_name":"k"}}],"metadata":{}})"),
                  "1 unsupported op: _operator.add at z");
  // A number that is read from a tensor is none of them.
  parts.nodes.push_back(R"({"target":"torch.ops.aten.item.default","inputs":[],"name":"n",)"
                        R"("outputs":[{"as_sym_int":{"as_name":"k"}}],"metadata":{}})");
  EXPECT_EQ(run(parts), (Numbers{-10, -20}));  // nothing reads it
  const std::string reads = R"({"name":"self","arg":)" + tensor("x") +
                            R"(},{"name":"alpha","arg":{"as_sym_int":{"as_name":"k"}}})";
  const std::string node = R"({"target":"torch.ops.aten.elu_.default","inputs":[)" + reads +
                           R"(],"outputs":[)" + tensor("z") + R"(],"metadata":{}})";
  EXPECT_CONTAINS(with(node), "aten.item.default: argument `self` is missing");
  parts.nodes.pop_back();
  EXPECT_CONTAINS(with(node), "argument `alpha`: unknown size `k`");
}

}  // namespace
}  // namespace layline::pt2
