// Ethos-U: what it cannot run is named, and what is rewritten for it gives the same numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "targets/tosa/accelerator.h"
#include "targets/tosa/lower.h"
#include "targets/tosa/npu_limits.h"
#include "targets/tosa/npu_transpose.h"
#include "targets/tosa/tosa_rules.h"
#include "transforms/pass.h"
#include "transforms/pipeline.h"

namespace layline::tosa {
namespace {

const Accelerator& u55() { return find_accelerator("ethos-u55-128"); }
const Accelerator& u65() { return find_accelerator("ethos-u65-512"); }
const Accelerator& u85() { return find_accelerator("ethos-u85-2048"); }

constexpr std::string_view kScale = "i8 in [-128,127] scale f32[] (0.05) zero i32[] (3)";
constexpr std::string_view kResult = "i8 in [-128,127] scale f32[] (0.4) zero i32[] (-9)";

/// A graph of one quantised op on the input, whose integers the boundary passes through.
Graph quantised(std::string_view shape, std::string op) {
  for (const auto& [name, text] : {std::pair("SAME", kScale), std::pair("OTHER", kResult)})
    for (size_t at; (at = op.find(name)) != std::string::npos;)
      op.replace(at, std::string_view(name).size(), text);
  return parse_graph(fmt::format(R"(graph "g" {{
    input "x" %f : f32[{}]
    %x = quantize(%f) {{ quantisation = {} }}
    {}
    %d = dequantize(%y)
    output "y" %d
  }})",
                                 shape, kScale, op),
                     "test");
}

/// A weight of small integers, with a scale for each output.
std::string weight(std::vector<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) bytes += fmt::format("{:02x}", (i * 37 + 11) % 23);
  std::vector<double> scales;
  for (int64_t o = 0; o < dims[0]; ++o) scales.push_back(0.01 * static_cast<double>(o + 1));
  std::vector<int64_t> table(dims.size(), 1);
  table[0] = dims[0];
  return fmt::format(
      "%w = constant() {{ data = i8[{}] 0x{}, quantisation = i8 in [-127,127] scale f32[{}] ({}) "
      "}}\n",
      fmt::join(dims, ","), bytes, fmt::join(table, ","), fmt::join(scales, ", "));
}

std::vector<Explanation> fit(Graph& graph, const Accelerator& accelerator) {
  const TargetRules target = rules(&accelerator);
  std::vector<Explanation> explanations;
  PassContext context("legalise", target, &explanations);
  target.legalise(graph, context);
  verify(graph);
  return explanations;
}

std::vector<CannotRun> cannot_run(Graph graph, const Accelerator& accelerator) {
  Report report;
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  lower(graphs, report, &accelerator);
  return report.cannot_run;
}

struct Case {
  std::string_view shape;
  std::string op;
};

std::string conv(std::vector<int64_t> filter, std::string_view stride, std::string_view pads,
                 int groups = 1) {
  const std::string_view ones = filter.size() == 5 ? "1,1,1" : "1,1";
  return weight(filter) +
         fmt::format(
             "%y = conv(%x, %w) {{ stride = [{}], dilation = [{}], low = [{}], high = [{}], "
             "groups = {}, quantisation = OTHER }}",
             stride, ones, pads, pads, groups);
}

std::string transposed(std::vector<int64_t> filter, std::string_view stride) {
  return weight(filter) +
         fmt::format(
             "%y = conv_transpose(%x, %w) {{ stride = [{}], dilation = [1,1], low = [1,0], high = "
             "[0,1], extra = [0,0], groups = 1, quantisation = OTHER }}",
             stride);
}

/// Each does not run on U55 as it stands, or strides further than it does, and is rewritten.
std::vector<Case> rewritten() {
  return {
      {"1,16,16,3", conv({4, 4, 4, 3}, "4,4", "0,0")},         // patches: views
      {"2,17,18,3", conv({4, 7, 7, 3}, "4,4", "3,3")},         // windows that overlap
      {"1,21,21,2", conv({3, 3, 3, 2}, "5,5", "1,1")},         // and that leave out
      {"1,16,9,2", conv({3, 5, 3, 2}, "4,1", "2,1")},          // rows only
      {"1,9,16,2", conv({3, 3, 5, 2}, "2,6", "1,0")},          // columns only
      {"1,13,16,4", conv({4, 4, 4, 1}, "4,5", "1,1", 4)},      // depthwise
      {"1,6,5,8", conv({6, 3, 3, 4}, "1,2", "1,1", 2)},        // groups of few channels
      {"1,5,6,6,2", conv({3, 3, 3, 3, 2}, "1,1,1", "1,1,1")},  // volumes
      {"1,6,6,6,2", conv({3, 2, 3, 3, 2}, "2,2,1", "0,1,0")},  // with strides
      {"1,4,5,3", transposed({2, 3, 3, 3}, "3,3")},            //
      {"1,4,5,3", transposed({2, 4, 4, 3}, "1,2")},            //
      {"2,3,4", "%y = flip(%x) { axes = [0,2] }"},             // channels
      {"2,9,4",                                                // known places
       "%i = constant() { data = i32[5] (1, 2, 3, 8, 0) }\n%y = gather(%x, %i) { axis = 1 }"},
      {"2,3,65537",
       "%y = relayout(%x) { relayout = [2,3,65537] (2,3,65537)->(0,2,1) [2,65537,3] }"},
  };
}

std::vector<Tensor> random_input(const Graph& graph) {
  Tensor x(graph.inputs()[0].value->type());
  std::mt19937 random(1);
  std::uniform_real_distribution<double> real(-6, 6);
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, real(random));
  return {x};
}

TEST(TosaNpu, NamesAreVelasAndOthersAreRefusedWithTheList) {
  EXPECT_FALSE(u55().is_u85);
  EXPECT_FALSE(u65().is_u85);
  EXPECT_TRUE(u85().is_u85);
  try {
    find_accelerator("ethos-u55");
    FAIL();
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("`ethos-u55`"), std::string::npos) << message;
    EXPECT_NE(message.find("ethos-u55-32, "), std::string::npos) << message;
    EXPECT_NE(message.find("ethos-u85-2048"), std::string::npos) << message;
  }
}

TEST(TosaNpu, WhatIsRewrittenGivesTheSameIntegersAndRuns) {
  for (const Case& instance : rewritten()) {
    SCOPED_TRACE(instance.op);
    Graph graph = quantised(instance.shape, instance.op);
    const std::vector<Tensor> inputs = random_input(graph);
    const Tensor before = evaluate(graph, inputs)[0];
    EXPECT_FALSE(fit(graph, u55()).empty()) << "nothing is explained";
    const Tensor after = evaluate(graph, inputs)[0];
    ASSERT_EQ(before.type(), after.type());
    for (int64_t i = 0; i < before.count(); ++i) ASSERT_EQ(before.get(i), after.get(i)) << i;
    for (const Node* node : graph)
      if (node->is(Op::conv)) {
        EXPECT_LE(std::ranges::max(node->attrs<ConvAttrs>().stride), kNpuStride);
      }
    for (const CannotRun& problem : cannot_run(std::move(graph), u55()))
      ADD_FAILURE() << problem.node << ": " << problem.why;
  }
}

TEST(TosaNpu, NothingIsRewrittenTwice) {
  for (const Case& instance : rewritten()) {
    Graph graph = quantised(instance.shape, instance.op);
    fit(graph, u65());
    EXPECT_TRUE(fit(graph, u65()).empty()) << instance.op;
  }
}

TEST(TosaNpu, PatchesAreConvolvedWithoutMovingAnything) {
  Graph graph = quantised("1,16,16,3", conv({4, 4, 4, 3}, "4,4", "0,0"));
  fit(graph, u85());
  for (const Node* node : graph) {
    if (node->is(Op::relayout)) {
      EXPECT_TRUE(node->attrs<RelayoutAttrs>().relayout.is_view());
    }
    EXPECT_FALSE(node->is(Op::slice) || node->is(Op::concat) || node->is(Op::pad));
  }
}

int count_of(const Graph& graph, Op op) {
  int count = 0;
  for (const Node* node : graph) count += node->is(op);
  return count;
}

TEST(TosaNpu, GroupsThatAreReadAtOnceAreConvolvedAtOnce) {
  Graph few = quantised("1,6,6,16", conv({16, 3, 3, 4}, "1,1", "1,1", 4));
  fit(few, u85());
  EXPECT_EQ(count_of(few, Op::conv), 1);
  EXPECT_EQ(count_of(few, Op::slice), 0);
  Graph many = quantised("1,6,6,16", conv({20, 3, 3, 4}, "1,1", "1,1", 4));
  fit(many, u85());
  EXPECT_EQ(count_of(many, Op::conv), 4);
  Graph depthwise = quantised("1,6,6,8", conv({8, 3, 3, 1}, "1,1", "1,1", 8));
  EXPECT_TRUE(fit(depthwise, u85()).empty());
  Graph none = quantised("1,6,6,8", R"(
    %w = constant() { data = i8[0,1,1,4] splat 1,
                      quantisation = i8 in [-127,127] scale f32[] (0.02) }
    %y = conv(%x, %w) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0], groups = 2,
                        quantisation = OTHER })");
  fit(none, u85());  // is refused later, as empty
  EXPECT_EQ(none.outputs()[0].value->shape(), (Shape{1, 6, 6, 0}));
}

/// Two groups of 10 channels, and a shuffle of them.
Graph shuffled() {
  std::string op = conv({20, 1, 1, 10}, "1,1", "0,0", 2);
  op.replace(op.find("%y"), 2, "%c");
  op += "\n%y = relayout(%c) { relayout = [1,4,4,20] (16,2,10)->(0,2,1) [1,4,4,20] }";
  return quantised("1,4,4,20", op);
}

TEST(TosaNpu, SingleChannelsAreNotInterleaved) {
  const auto interleaved = [](const Accelerator* accelerator) {
    Graph graph = shuffled();
    run_pipeline(graph, {.target = rules(accelerator), .validate = true});
    bool found = false;
    for (const Node* node : graph)
      found = found || (node->is(Op::concat) && node->operand(0)->shape().back().is_one());
    return found;
  };
  EXPECT_TRUE(interleaved(nullptr))
      << "a concatenation is no TRANSPOSE, where cycles are not known";
  EXPECT_FALSE(interleaved(&u55()));
  EXPECT_FALSE(interleaved(&u85()));
}

struct Refusal {
  Case instance;
  std::string_view why;
  bool on_u85;
};

TEST(TosaNpu, WhatCannotRunIsNamedWithTheReason) {
  const Refusal refusals[] = {
      {{"1,12,12,4",
        "%y = avg_pool(%x) { kernel = [9,9], stride = [1,1], dilation = [1,1], low = [4,4], high = "
        "[4,4], count_padding = false, quantisation = SAME }"},
       "a padded average over 9x9, the most is 8x8",
       false},
      {{"1,2,70000", "%y = reduce_sum(%x) { axes = [1], quantisation = OTHER }"},
       "a sum along one axis with 1 elements outside and 70000 inside",
       false},
      {{"1,2,2,70000", conv({2, 1, 1, 70000}, "1,1", "0,0")},
       "70000 channels, the most are 65536",
       true},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.why);
    const auto found = cannot_run(quantised(refusal.instance.shape, refusal.instance.op), u55());
    ASSERT_EQ(found.size(), 1u);
    EXPECT_NE(found[0].why.find(refusal.why), std::string::npos) << found[0].why;
    EXPECT_EQ(found[0].value, "y");
    EXPECT_EQ(cannot_run(quantised(refusal.instance.shape, refusal.instance.op), u85()).empty(),
              !refusal.on_u85);
  }
}

TEST(TosaNpu, WhatAnNpuHasNoOperatorForIsToldOnceForEachNode) {
  const auto graph = [] {
    return parse_graph(R"(graph "g" {
      input "a" %a : i32[4]
      input "b" %b : i32[4]
      %c = less(%a, %b)
      %y = where(%c, %a, %b)
      %q = floor_div(%y, %b)
      output "q" %q
    })",
                       "test");
  };
  std::vector<std::string> nodes;
  for (const CannotRun& problem : cannot_run(graph(), u55())) nodes.push_back(problem.value);
  EXPECT_EQ(nodes, (std::vector<std::string>{"c", "y", "q"}));
  EXPECT_TRUE(cannot_run(graph(), u85()).empty());
}

TEST(TosaNpu, AfterSumsOf48BitsTheRightNodeIsNamed) {
  const auto found = cannot_run(parse_graph(R"(graph "g" {
    input "x" %x : f32[1,2,4]
    input "z" %z : f32[1,4,3]
    %q = quantize(%x) { quantisation = i16 in [-32767,32767] scale f32[] (0.5) zero i32[] (0) }
    %r = quantize(%z) { quantisation = i16 in [-32767,32767] scale f32[] (0.5) zero i32[] (0) }
    %w = constant() { data = i8[4,4] splat 3, quantisation = i8 in [-127,127] scale f32[4,1] (1, 1, 1, 1) }
    %l = linear(%q, %w) { quantisation = i16 in [-32767,32767] scale f32[] (2) zero i32[] (0) }
    %m = matmul(%l, %r) { quantisation = i16 in [-32767,32767] scale f32[] (9) zero i32[] (0) }
    %y = dequantize(%m)
    output "y" %y
  })",
                                            "test"),
                                u55());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].value, "m");
  EXPECT_NE(found[0].why.find("8-bit"), std::string::npos) << found[0].why;
}

/// Vela's report of supported operators has tables of 8 bits only for U55 and U65, and yet
/// Vela 5.1.0 compiles those of 16 (scripts/vela-check).
TEST(TosaNpu, TablesOf8And16BitsRunOnAll) {
  for (const std::string_view scale : {"i8 in [-128,127] scale f32[] (0.05) zero i32[] (3)",
                                       "i16 in [-32767,32767] scale f32[] (0.0002) zero i32[] (0)"})
    for (const Accelerator* accelerator : {&u55(), &u65(), &u85()}) {
      Report report;
      std::vector<Graph> graphs;
      graphs.push_back(parse_graph(fmt::format(R"(graph "g" {{
        input "x" %x : f32[4,64]
        %q = quantize(%x) {{ quantisation = {0} }}
        %d = dequantize(%q)
        %s = sigmoid(%d)
        %r = quantize(%s) {{ quantisation = {0} }}
        %y = dequantize(%r)
        output "y" %y
      }})",
                                               scale),
                                   "test"));
      const Program program = lower(graphs, report, accelerator);
      EXPECT_TRUE(std::ranges::any_of(program.operators, [](const Operator& op) {
        return op.op() == fb::Op::TABLE;
      })) << scale;
      for (const CannotRun& problem : report.cannot_run) ADD_FAILURE() << problem.why;
    }
}

TEST(TosaNpu, ImagesGrowOnU55WithoutInterpolation) {
  const auto problems = [](std::string_view mode, int size, const Accelerator& accelerator) {
    return cannot_run(
        quantised("1,4,4,8", fmt::format("%e = dequantize(%x)\n"
                                         "%r = resize(%e) {{ size = [{0},{0}], step "
                                         "= [{1},{1}]{2} }}\n"
                                         "%y = quantize(%r) {{ quantisation = SAME }}",
                                         size, 4.0 / size, mode)),
        accelerator);
  };
  constexpr std::string_view kNearest = ", mode = nearest";
  EXPECT_TRUE(problems(kNearest, 8, u55()).empty());
  EXPECT_EQ(problems(kNearest, 12, u55()).size(), 1u);
  ASSERT_EQ(problems("", 8, u65()).size(), 1u);
  EXPECT_NE(problems("", 8, u65())[0].why.find("interpolate"), std::string::npos);
  EXPECT_TRUE(problems("", 8, u85()).empty());
  EXPECT_TRUE(problems(kNearest, 12, u85()).empty());
}

TEST(TosaNpu, FloatsRunOnNone) {
  for (const Accelerator* accelerator : {&u55(), &u65(), &u85()}) {
    const auto found = cannot_run(parse_graph(R"(graph "g" {
      input "x" %x : f32[4]
      %y = exp(%x)
      output "y" %y
    })",
                                              "test"),
                                  *accelerator);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_NE(found[0].why.find("quantise the model"), std::string::npos);
  }
}

TEST(TosaNpu, TransposesHaveLimitsOnU55) {
  EXPECT_TRUE(can_transpose({3, 65536}, 1, u55()));
  EXPECT_FALSE(can_transpose({3, 65537}, 1, u55()));
  EXPECT_TRUE(can_transpose({3, 65537}, 1, u85()));
  EXPECT_FALSE(can_transpose({3, 20000}, 4, u55()));
  EXPECT_TRUE(can_transpose({300, 300, 300}, 1, u55()));
  EXPECT_FALSE(can_transpose({2, 3, 300, 300}, 1, u55()));
  EXPECT_TRUE(can_transpose({2, 3, 224, 224}, 1, u55()));
}

TEST(TosaNpu, AFormOfATransposeMovesTheSame) {
  for (const Relayout& relayout :
       {Relayout::permute({1, 3, 512, 512}, std::vector<int>{0, 2, 3, 1}),
        Relayout::permute({2, 3, 4, 5}, std::vector<int>{3, 1, 0, 2}),
        Relayout::permute({3, 262144}, std::vector<int>{1, 0}),
        Relayout::permute({1, 3, 224, 224}, std::vector<int>{0, 2, 3, 1})})
    for (const Accelerator* accelerator : {&u55(), &u65(), &u85()}) {
      const auto form = npu_transpose(relayout, 1, *accelerator);
      ASSERT_TRUE(form);
      EXPECT_TRUE(Relayout::permute(form->dims, form->perm).moves_like(relayout));
    }
  EXPECT_FALSE(npu_transpose(Relayout::permute({3, 65537}, std::vector<int>{1, 0}), 1, u55()));
}

TEST(TosaNpu, LongRowsAreTransposedInShortOnesOnU85) {
  const auto form = [](const Shape& shape, const std::vector<int>& perm, size_t bytes,
                       const Accelerator& accelerator) {
    return static_dims(npu_transpose(Relayout::permute(shape, perm), bytes, accelerator)->dims);
  };
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(form({3, 50176}, {1, 0}, 1, u85()), (Sizes{3, 784, 64}));
  EXPECT_EQ(form({1, 3, 50176}, {0, 2, 1}, 2, u85()), (Sizes{3, 784, 64}));
  EXPECT_EQ(form({3, 50176}, {1, 0}, 1, find_accelerator("ethos-u85-128")), (Sizes{3, 1568, 32}));
  EXPECT_EQ(form({3, 1280}, {1, 0}, 1, u85()), (Sizes{3, 40, 32}));
  EXPECT_EQ(form({3, 22500}, {1, 0}, 1, u85()), (Sizes{3, 150, 150}));
  EXPECT_EQ(form({196, 192}, {1, 0}, 1, u85()), (Sizes{196, 192}));
  EXPECT_EQ(form({1, 3, 224, 224}, {0, 2, 3, 1}, 1, u85()), (Sizes{1, 3, 224, 224}));
  EXPECT_EQ(form({1, 7, 7, 512}, {0, 3, 1, 2}, 1, u85()), (Sizes{1, 7, 7, 512}));
  EXPECT_EQ(form({3, 50176}, {1, 0}, 1, u65()), (Sizes{3, 50176}));
}

}  // namespace
}  // namespace layline::tosa
