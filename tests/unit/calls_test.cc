// Calls of torch's ops give the numbers that torch documents for them: tests/calls.
#include "../calls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/error.h"
#include "frontend/pt2/import.h"
#include "ir/evaluate.h"
#include "ir/verify.h"

namespace layline {
namespace {

const std::filesystem::path kFolder = LAYLINE_TEST_DATA "/../calls";

/// Of a tensor with dims `order` of it at places 0, 1 ...: as it lies in memory; or back.
Tensor reordered(const Tensor& tensor, const std::vector<int>& order, bool back) {
  if (order.empty()) return tensor;
  std::vector<int64_t> steps(order.size());
  Shape shape(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t to = back ? static_cast<size_t>(order[i]) : i;
    const size_t from = back ? i : static_cast<size_t>(order[i]);
    shape[to] = tensor.dims()[from];
    steps[to] = 1;
    for (size_t behind = from + 1; behind < order.size(); ++behind)
      steps[to] *= tensor.dims()[behind];
  }
  Tensor result({tensor.dtype(), shape});
  for (int64_t i = 0; i < result.count(); ++i) {
    int64_t rest = i, place = 0;
    for (size_t a = order.size(); a-- > 0;) {
      place += rest % result.dims()[a] * steps[a];
      rest /= result.dims()[a];
    }
    result.set(i, tensor.get(place));
  }
  return result;
}

/// Floats to six digits, which is what their text has; all else exactly.
void expect_elements(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(to_string(actual.type()), to_string(expected.type()));
  for (int64_t i = 0; i < actual.count(); ++i) {
    const double a = actual.get(i), e = expected.get(i);
    const double tolerance =
        is_float(actual.dtype()) && std::isfinite(e) ? 1e-6 * std::max(1.0, std::abs(e)) : 0;
    EXPECT_TRUE(a == e || (std::isnan(a) && std::isnan(e)) || std::abs(a - e) <= tolerance)
        << "element " << i << " is " << a << ", expected " << e;
  }
}

void run(const calls::Case& given) {
  const TemporaryFile file(given.archive);
  std::vector<pt2::ImportedMethod> methods;
  try {
    methods = pt2::import_archive(MappedFile::open(file.path()));
  } catch (const UserError& error) {
    const std::string said = error.what();
    ASSERT_TRUE(given.refused) << said;
    if (given.refused->ends_with('$'))
      EXPECT_TRUE(said.ends_with(given.refused->substr(0, given.refused->size() - 1))) << said;
    else
      EXPECT_NE(said.find(*given.refused), std::string::npos) << said;
    // The place is named once, however deep the error came from.
    EXPECT_EQ(said.find("torch.ops."), said.rfind("torch.ops.")) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    return;
  }
  ASSERT_FALSE(given.refused) << "imported";
  const Graph& graph = methods[0].graph;
  verify(graph);
  for (const Node* node : graph)
    EXPECT_FALSE(given.without.contains(std::string(name(node->op())))) << name(node->op());
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs())
    EXPECT_TRUE(!input.is_state() || given.writes.contains(input.name)) << input.name;
  for (const GraphInput& input : graph.inputs())
    inputs.push_back(input.is_state()
                         ? tensor_of(*input.initial)
                         : reordered(calls::value_of(given.inputs.at(input.name), given.where),
                                     input.dim_order, false));
  const std::vector<Tensor> outputs = evaluate(graph, inputs);
  ASSERT_EQ(outputs.size(), graph.outputs().size());
  ASSERT_EQ(outputs.size(), given.outputs.size() + given.writes.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    SCOPED_TRACE(fmt::format("output {}", i));
    if (!output.writes) {
      expect_elements(reordered(outputs[i], output.dim_order, true), given.outputs.at(i));
      continue;
    }
    const GraphInput& changed = graph.inputs()[*output.writes];
    Tensor expected(outputs[i].type());
    const calls::Numbers& numbers = given.writes.at(changed.name);
    ASSERT_EQ(static_cast<size_t>(expected.count()), numbers.size());
    for (int64_t k = 0; k < expected.count(); ++k) expected.set(k, numbers[static_cast<size_t>(k)]);
    expect_elements(outputs[i], expected);
  }
}

class Calls : public testing::TestWithParam<std::string> {};

TEST_P(Calls, GiveTheirNumbers) {
  const auto cases = calls::read(kFolder / (GetParam() + ".calls"));
  EXPECT_FALSE(cases.empty());
  for (const calls::Case& given : cases) {
    SCOPED_TRACE(given.where + " " + given.op);
    try {
      run(given);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Calls, testing::ValuesIn(calls::files(kFolder)),
                         [](const auto& file) { return file.param; });

pt2::ImportedMethod imported(const std::string& text) {
  std::istringstream stream(text);
  const TemporaryFile file(calls::read(stream, "text").at(0).archive);
  return std::move(pt2::import_archive(MappedFile::open(file.path())).at(0));
}

/// Channels last only where the strides say so and do not say "contiguous" as well.
TEST(CallOrders, InputsLieAsTheyAreRecorded) {
  const std::vector<std::pair<std::string, bool>> inputs = {
      {"f32[2,3,2,2]", false},
      {"f32[2,3,2,2]<12,1,6,3>", true},
      {"f32[2,3,2,2]<13,1,6,3>", false},  // with gaps between the images
      {"f32[2,3,2,2]<12,1,7,3>", false},  // between rows
      {"f32[2,3,2,2]<12,1,6,4>", false},  // between pixels
      {"f32[2,3,2,2]<12,2,6,3>", false},  // between channels
      {"f32[2,3,2,2]<12,1,3,6>", false},  // columns before rows
      {"f32[1,3,1,2]<99,1,77,3>", true},  // strides of single elements say nothing
      {"f32[2,3,1,1]<3,1,3,3>", false},   // one is as good as the other
      {"f32[2,1,2,2]<4,1,2,1>", false},
      {"f32[2,3,2]<6,1,3>", false},
      {"f32[2,3,2,2,2]<24,1,12,6,3>", true},
      {"f32[2,3,2,2,2]<25,1,12,6,3>", false},
      {"f32[2,3,2,2,2,2]<48,1,24,12,6,3>", false},
      {"f32[s1,3,2,2]<12,1,6,3>", false},  // of a size that is not known
  };
  for (const auto& [tensor, channels_last] : inputs) {
    const auto method = imported(fmt::format("aten.sum.default self=x:{} -> f32[]{{0}}\n", tensor));
    const std::vector<int>& order = method.graph.inputs()[0].dim_order;
    EXPECT_EQ(order.back(), channels_last ? 1 : std::ssize(order) - 1) << tensor;
  }
}

/// The model's own permutes are counted, not those around channels-first ops, and no views.
TEST(CallOrders, PermutesOfTheModelAreCounted) {
  const auto permutes = [](const std::string& node) {
    return imported("aten.relu.default self=x:f32[1,2,3,3] -> y:f32[1,2,3,3]\n" + node)
        .permutes_in_model;
  };
  EXPECT_EQ(permutes("aten.neg.default self=%y -> f32[1,2,3,3]{0*18}\n"), 0);
  EXPECT_EQ(permutes("aten.permute.default self=%y dims=[0,2,3,1] -> f32[1,3,3,2]{0*18}\n"), 1);
  EXPECT_EQ(permutes("aten.view.default self=%y size=[18] -> f32[18]{0*18}\n"), 0);
  EXPECT_EQ(permutes("aten.permute.default self=%y dims=[1,0,2,3] -> f32[2,1,3,3]{0*18}\n"), 0);
  EXPECT_EQ(permutes("aten.max_pool2d.default self=%y kernel_size=[3] -> f32[1,2,1,1]{0*2}\n"), 0);
}

}  // namespace
}  // namespace layline
