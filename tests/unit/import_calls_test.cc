// Calls that torch would not have recorded, or that layline does not take: each rule says in its
// own words what is wrong, before anything is computed from it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "../zip_writer.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "frontend/pt2/import.h"

namespace layline::pt2 {
namespace {

using Dims = std::vector<int64_t>;

/// Arguments as model.json has them.
std::string t(const std::string& name) {
  return fmt::format(R"({{"as_tensor":{{"name":"{}"}}}})", name);
}
std::string ts(const std::vector<std::string>& names) {
  std::vector<std::string> list;
  for (const std::string& name : names) list.push_back(fmt::format(R"({{"name":"{}"}})", name));
  return fmt::format(R"({{"as_tensors":[{}]}})", fmt::join(list, ","));
}
std::string i(int64_t number) { return fmt::format(R"({{"as_int":{}}})", number); }
std::string is(const Dims& numbers) {
  return fmt::format(R"({{"as_ints":[{}]}})", fmt::join(numbers, ","));
}
std::string f(double number) { return fmt::format(R"({{"as_float":{}}})", number); }
std::string b(bool flag) { return fmt::format(R"({{"as_bool":{}}})", flag); }
std::string s(const std::string& text) { return fmt::format(R"({{"as_string":"{}"}})", text); }

struct Refused {
  std::string op;
  std::vector<Dims> inputs;  // of the tensors x, y and z
  std::vector<std::pair<std::string, std::string>> arguments;
  std::string message;
};

std::string meta(const std::string& name, const Dims& dims) {
  std::vector<std::string> sizes, strides;
  for (const int64_t size : dims) {
    sizes.push_back(i(size));
    strides.push_back(i(1));
  }
  return fmt::format(
      R"("{}":{{"dtype":7,"sizes":[{}],"requires_grad":false,"device":{{"type":"cpu","index":null}},)"
      R"("strides":[{}],"storage_offset":{{"as_int":0}},"layout":7}})",
      name, fmt::join(sizes, ","), fmt::join(strides, ","));
}

/// A model of this one call.
std::string model_of(const Refused& call) {
  constexpr const char* kNames[] = {"x", "y", "z"};
  std::vector<std::string> metas = {meta("r", {1})}, inputs, specs, arguments;
  for (size_t n = 0; n < call.inputs.size(); ++n) {
    metas.push_back(meta(kNames[n], call.inputs[n]));
    inputs.push_back(t(kNames[n]));
    specs.push_back(fmt::format(R"({{"user_input":{{"arg":{}}}}})", inputs.back()));
  }
  for (const auto& [name, argument] : call.arguments)
    arguments.push_back(fmt::format(R"({{"name":"{}","arg":{},"kind":1}})", name, argument));
  const std::string result = t("r");
  return fmt::format(
      R"({{"graph_module":{{"graph":{{"inputs":[{0}],"outputs":[{1}],"nodes":[{{"target":"torch.ops.{2}",)"
      R"("inputs":[{3}],"outputs":[{1}],"metadata":{{}},"is_hop_single_tensor_return":null,"name":"r"}}],)"
      R"("tensor_values":{{{4}}},"sym_int_values":{{}},"sym_bool_values":{{}},"is_single_tensor_return":false,)"
      R"("custom_obj_values":{{}},"sym_float_values":{{}}}},"signature":{{"input_specs":[{5}],)"
      R"("output_specs":[{{"user_output":{{"arg":{1}}}}}]}},"module_call_graph":[],"metadata":{{}},)"
      R"("treespec_namedtuple_fields":{{}}}},"opset_version":{{"aten":10}},"range_constraints":{{}},)"
      R"("schema_version":{{"major":8,"minor":20}},"verifiers":["TRAINING"],"torch_version":"2.13.0",)"
      R"("guards_code":[]}})",
      fmt::join(inputs, ","), result, call.op, fmt::join(arguments, ","), fmt::join(metas, ","),
      fmt::join(specs, ","));
}

void PrintTo(const Refused& call, std::ostream* out) { *out << call.op << ": " << call.message; }

class RefusedCall : public testing::TestWithParam<Refused> {};

TEST_P(RefusedCall, SaysWhy) {
  ZipWriter zip;
  zip.add("m/archive_format", "pt2").add("m/byteorder", "little");
  zip.add("m/models/model.json", model_of(GetParam()));
  zip.add("m/data/weights/model_weights_config.json", R"({"config":{}})");
  zip.add("m/data/constants/model_constants_config.json", R"({"config":{}})");
  const TemporaryFile file(zip.finish());
  try {
    import_archive(MappedFile::open(file.path()));
    FAIL() << "imported";
  } catch (const UserError& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find(GetParam().op + ": " + GetParam().message), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

const std::vector<Refused> kCalls = {
    {"aten.relu.default", {{2}}, {{"self", i(3)}}, "argument `self` should be a tensor, but is"},
    {"aten.sum.dim_IntList",
     {{2, 3}},
     {{"self", t("x")}, {"dim", is({5})}},
     "argument `dim` names axis 5, but the tensor has 2 axes"},
    {"aten.softmax.int",
     {{2, 3}},
     {{"self", t("x")}, {"dim", i(-3)}},
     "argument `dim` is -3, but the tensor has 2 axes"},
    {"aten.glu.default",
     {{2, 3}},
     {{"self", t("x")}, {"dim", i(1)}},
     "halves an axis of 3 elements"},
    {"aten.conv2d.default",
     {{1, 2, 4, 4}, {2, 2}},
     {{"input", t("x")}, {"weight", t("y")}},
     "the weight should have 3 to 5 axes, but is f32[2,2]"},
    {"aten.conv2d.default",
     {{4, 4}, {2, 2, 3, 3}},
     {{"input", t("x")}, {"weight", t("y")}},
     "the input f32[4,4] does not fit the weight f32[2,2,3,3]"},
    {"aten.conv_transpose2d.input",
     {{1, 3, 4, 4}, {3, 2, 2, 2}},
     {{"input", t("x")}, {"weight", t("y")}, {"groups", i(2)}},
     "3 input channels do not divide into 2 groups"},
    {"aten.einsum.default",
     {{2, 3}},
     {{"equation", s("i1->i")}, {"tensors", ts({"x"})}},
     "`1` in the equation is not supported, only letters"},
    {"aten.einsum.default",
     {{2, 3}},
     {{"equation", s("ii->i")}, {"tensors", ts({"x"})}},
     "`i` is 2 and 3 in one operand"},
    {"aten.einsum.default",
     {{2, 2}},
     {{"equation", s("ij->ii")}, {"tensors", ts({"x"})}},
     "the result `ii` has a letter twice"},
    {"aten.einsum.default",
     {{2}},
     {{"equation", s("ij...->i")}, {"tensors", ts({"x"})}},
     "an ellipsis does not fit 1 axes"},
    {"aten.einsum.default",
     {{2, 3}},
     {{"equation", s("ij->k")}, {"tensors", ts({"x"})}},
     "no operand has the letter `k` of the result"},
    {"aten.einsum.default",
     {{2, 3}, {4, 5}},
     {{"equation", s("ij,jk->ik")}, {"tensors", ts({"x", "y"})}},
     "`j` is 3 in one operand and 4 in another"},
    {"aten.einsum.default",
     {{2, 3}},
     {{"equation", s("ij,jk->ik")}, {"tensors", ts({"x"})}},
     "the equation has 2 operands, 1 are given"},
    {"aten.einsum.default",
     {{2, 3}},
     {{"equation", s("i->i")}, {"tensors", ts({"x"})}},
     "`i` does not fit f32[2,3]"},
    {"aten.select.int",
     {{2, 3}},
     {{"self", t("x")}, {"dim", i(1)}, {"index", i(3)}},
     "selects element 3 of 3"},
    {"aten.narrow.default",
     {{5}},
     {{"self", t("x")}, {"dim", i(0)}, {"start", i(3)}, {"length", i(3)}},
     "takes 3 elements from 3 of 5"},
    {"aten.split_with_sizes.default",
     {{5}},
     {{"self", t("x")}, {"split_sizes", is({4, 4})}, {"dim", i(0)}},
     "cuts 4 elements from 4 of 5"},
    {"aten.batch_norm.default",
     {{2, 3}, {3}, {3}},
     {{"input", t("x")}, {"running_mean", t("y")}, {"running_var", t("z")}, {"training", b(true)}},
     "is in training mode or keeps no statistics; call model.eval() before the export"},
    {"aten.group_norm.default",
     {{2, 3, 4}},
     {{"input", t("x")}, {"num_groups", i(2)}},
     "3 channels do not divide into 2 groups"},
    {"aten.pad.default",
     {{4}},
     {{"self", t("x")}, {"pad", is({1, 1, 1, 1})}},
     "4 pad entries for a tensor with 1 axes"},
    {"aten.pad.default", {{4}}, {{"self", t("x")}, {"pad", is({-3, -3})}}, "crops 3 and 3 of 4"},
    {"aten.pad.default",
     {{4}},
     {{"self", t("x")}, {"pad", is({1, 1})}, {"mode", s("wrap")}},
     "unknown mode `wrap`"},
    {"aten.max_pool2d.default",
     {{4}},
     {{"self", t("x")}, {"kernel_size", is({2, 2})}},
     "the input should have 3 or 4 axes, but is f32[4]"},
    {"aten.avg_pool2d.default",
     {{1, 1, 8, 8}},
     {{"self", t("x")},
      {"kernel_size", is({2, 2})},
      {"stride", is({1, 1})},
      {"padding", is({2, 2})}},
     "padding should be at most half of kernel_size, but is 2 for 2"},
    {"aten.tensordot.default",
     {{2, 3}, {3, 2}},
     {{"self", t("x")}, {"other", t("y")}, {"dims_self", is({1})}, {"dims_other", is({0, 1})}},
     "contracts 1 axes with 2"},
    {"aten.view.default",
     {{2, 3}},
     {{"self", t("x")}, {"size", is({4, -1})}},
     "6 elements do not fit [4,1]"},
    {"aten.view.default",
     {{2, 3}},
     {{"self", t("x")}, {"size", is({4, 2})}},
     "6 elements do not fit [4,2]"},
    {"aten.permute.default",
     {{2, 3}},
     {{"self", t("x")}, {"dims", is({0})}},
     "permutes 1 of 2 axes"},
    {"aten.permute.default",
     {{2, 3}},
     {{"self", t("x")}, {"dims", is({0, 0})}},
     "`dims` names an axis twice"},
    {"aten.pixel_shuffle.default",
     {{1, 3, 2, 2}},
     {{"self", t("x")}, {"upscale_factor", i(2)}},
     "3 channels do not divide by 4"},
    {"aten.pixel_shuffle.default",
     {{4, 4}},
     {{"self", t("x")}, {"upscale_factor", i(2)}},
     "takes 3 axes or more, but the input is f32[4,4]"},
    {"aten.channel_shuffle.default",
     {{1, 3, 2, 2}},
     {{"self", t("x")}, {"groups", i(2)}},
     "3 channels do not divide by 2"},
    {"aten.unfold.default",
     {{8}},
     {{"self", t("x")}, {"dimension", i(0)}, {"size", i(9)}, {"step", i(1)}},
     "takes windows of 9 every 1 of 8"},
    {"aten.im2col.default",
     {{1, 1, 2, 2}},
     {{"self", t("x")},
      {"kernel_size", is({3, 3})},
      {"dilation", is({1, 1})},
      {"padding", is({0, 0})},
      {"stride", is({1, 1})}},
     "takes patches of 3 from an image of 2"},
    {"aten.diag_embed.default",
     {{2, 4}},
     {{"self", t("x")}, {"dim1", i(0)}, {"dim2", i(1)}, {"offset", i(0)}},
     "is supported for the last two axes only"},
    {"aten.affine_grid_generator.default",
     {{1, 2, 3}},
     {{"theta", t("x")}, {"size", is({1, 3, 4})}},
     "makes a grid of 3 axes; only images and volumes are supported"},
    {"aten.grid_sampler_2d.default",
     {{2, 4, 4}, {2, 3, 3, 2}},
     {{"input", t("x")}, {"grid", t("y")}, {"interpolation_mode", i(0)}, {"padding_mode", i(0)}},
     "reads f32[2,4,4] at the places f32[2,3,3,2]"},
    {"aten.as_strided.default",
     {{2, 3}},
     {{"self", t("x")}, {"size", is({2})}, {"stride", is({1, 1})}},
     "has 1 sizes and 2 strides"},
    {"aten.as_strided.default",
     {{2, 3}},
     {{"self", t("x")}, {"size", is({2, 2})}, {"stride", is({1, 1})}},
     "is supported only where it permutes a contiguous tensor"},
    {"aten.dropout.default",
     {{4}},
     {{"input", t("x")}, {"p", f(0.5)}, {"train", b(true)}},
     "is in training mode; call model.eval() before the export"},
};

INSTANTIATE_TEST_SUITE_P(Import, RefusedCall, testing::ValuesIn(kCalls));

}  // namespace
}  // namespace layline::pt2
