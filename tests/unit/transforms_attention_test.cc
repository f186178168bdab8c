// Passes that bring attention to the form that runs fastest: recognise_attention, fold_scale,
// fold_repeats. What must be left alone is tested as much as what must be found.
#include <gtest/gtest.h>

#include <functional>

#include "transforms_testing.h"

namespace layline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kScale = 0.3;

/// softmax(q k^T) v over a fused projection of [2, 5, 6] to 2 heads of width 3.
class AttentionModel : public TestModel {
 public:
  AttentionModel() {
    Value* x = input({2, 5, 6});
    Value* qkv = add(Op::linear, {x, weights({18, 6}), weights({18})}, LinearAttrs{});
    static constexpr int kHeadsFirst[] = {2, 0, 3, 1, 4};
    fused = permute(view(qkv, {2, 5, 3, 2, 3}), kHeadsFirst);
    q = part(0);
    k = part(1);
    v = part(2);
  }
  Value* part(int64_t i) { return view(slice(fused, 0, i, 1), {2, 2, 5, 3}); }
  Value* times(Value* x, double factor) { return add(Op::mul, {x, number(factor)}); }
  Value* scores(Value* a, Value* b) { return add(Op::matmul, {a, b}, MatmulAttrs{true}); }
  Value* softmax(Value* x, int64_t axis = 3) { return add(Op::softmax, {x}, AxisAttrs{axis}); }
  Value* mixed(Value* x) { return add(Op::matmul, {x, v}, MatmulAttrs{}); }
  Value* filled(const Shape& shape, double value) {
    Tensor tensor({DType::f32, shape});
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, value);
    return constant_tensor(tensor);
  }
  Value* constant_tensor(const Tensor& tensor) {
    return constant(Constant::owned(tensor.dtype(), tensor.type().shape,
                                    {tensor.bytes().begin(), tensor.bytes().end()}));
  }
  /// Row i sees keys 0 to i, and row `blind` none.
  Value* causal(int64_t blind = -1) {
    Tensor tensor({DType::boolean, {5, 5}});
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j <= i; ++j) tensor.set_int(i * 5 + j, i != blind);
    return constant_tensor(tensor);
  }
  int scalings() const { return count(Op::mul) + count(Op::div); }

  Value *fused, *q, *k, *v;
};

using Form = std::function<Value*(AttentionModel&)>;

/// Where frameworks and people put the scale; each gives the scores.
const std::vector<std::pair<const char*, Form>> kForms = {
    {"on q", [](AttentionModel& m) { return m.scores(m.times(m.q, kScale), m.k); }},
    {"q divided",
     [](AttentionModel& m) {
       return m.scores(m.add(Op::div, {m.q, m.number(1 / kScale)}), m.k);
     }},
    {"on k", [](AttentionModel& m) { return m.scores(m.q, m.times(m.k, kScale)); }},
    {"split",
     [](AttentionModel& m) { return m.scores(m.times(m.q, 0.5), m.times(m.k, kScale / 0.5)); }},
    {"on the scores", [](AttentionModel& m) { return m.times(m.scores(m.q, m.k), kScale); }},
    {"scores divided",
     [](AttentionModel& m) {
       return m.add(Op::div, {m.scores(m.q, m.k), m.number(1 / kScale)});
     }},
    {"a filled tensor",
     [](AttentionModel& m) {
       return m.add(Op::mul, {m.filled({2, 2, 5, 5}, kScale), m.scores(m.q, m.k)});
     }},
    {"behind a view",
     [](AttentionModel& m) {
       Value* s = m.scores(m.view(m.q, {4, 5, 3}), m.view(m.k, {4, 5, 3}));
       return m.view(m.times(s, kScale), {2, 2, 5, 5});
     }},
    {"before a permute",
     [](AttentionModel& m) {
       static constexpr int kSwap[] = {0, 1, 3, 2};
       Value* s = m.add(Op::matmul, {m.q, m.permute(m.times(m.k, kScale), kSwap)}, MatmulAttrs{});
       return s;
     }},
    {"behind a constant mask",
     [](AttentionModel& m) {
       return m.times(m.add(Op::add, {m.scores(m.q, m.k), m.weights({5, 5})}), kScale);
     }},
    {"before a mask",
     [](AttentionModel& m) {
       return m.add(Op::add, {m.times(m.scores(m.q, m.k), kScale), m.input({5, 5})});
     }},
    {"behind a hidden key",
     [](AttentionModel& m) {
       Value* s = m.add(Op::where, {m.causal(), m.scores(m.q, m.k), m.number(-kInfinity)});
       return m.times(s, kScale);
     }},
};

TEST(RecogniseAttention, ScaleGoesIntoTheProjectionFromEverywhere) {
  for (const auto& [name, form] : kForms) {
    SCOPED_TRACE(name);
    AttentionModel m;
    m.output(m.mixed(m.softmax(form(m))));
    m.run({"recognise_attention", "fold_constants", "fold_relayouts", "fold_scale"});
    EXPECT_EQ(m.scalings(), 0);
    EXPECT_EQ(m.count(Op::softmax), 1);
  }
}

TEST(RecogniseAttention, IsDoneOnce) {
  for (const auto& [name, form] : kForms) {
    SCOPED_TRACE(name);
    AttentionModel m;
    m.output(m.mixed(m.softmax(form(m))));
    m.run({"recognise_attention", "fold_constants"});
    const std::string once = print(m.built());
    m.run({"recognise_attention"});
    EXPECT_EQ(print(m.built()), once);
  }
}

TEST(RecogniseAttention, WithoutProjectionTheScaleGoesWhereItIsCheapest) {
  TestModel m;
  Value* q = m.input({2, 5, 3});
  Value* k = m.input({2, 7, 3});
  Value* s = m.add(Op::matmul, {q, k}, MatmulAttrs{true});
  m.output(m.add(Op::softmax, {m.add(Op::mul, {s, m.number(kScale)})}, AxisAttrs{2}));
  m.run({"recognise_attention"});
  EXPECT_EQ(m.only(Op::mul)->operand(0), q);
}

TEST(RecogniseAttention, WideHeadsAreScaledByTheirScores) {
  TestModel m;
  Value* q = m.input({2, 5, 30});
  Value* k = m.input({2, 7, 30});
  Value* scaled = m.add(Op::mul, {q, m.number(kScale)});
  m.output(m.add(Op::softmax, {m.add(Op::matmul, {scaled, k}, MatmulAttrs{true})}, AxisAttrs{2}));
  m.run({"recognise_attention"});
  EXPECT_TRUE(m.only(Op::mul)->operand(0)->def()->is(Op::matmul));
}

/// What is said of softmax(q k^T / 2) with queries and keys of these shapes.
std::string place_of_scale(Shape q, Shape k, bool projected_q, bool projected_k) {
  TestModel m;
  const auto value = [&](const Shape& shape, bool projected) {
    Value* x = m.input(shape);
    return projected
               ? m.add(Op::linear, {x, m.weights({shape.back(), shape.back()})}, LinearAttrs{})
               : x;
  };
  Value* queries = value(q, projected_q);
  Value* keys = value(k, projected_k);
  // On both, so that it goes wherever it goes.
  Value* s = m.add(Op::matmul,
                   {m.add(Op::mul, {queries, m.number(2)}), m.add(Op::div, {keys, m.number(4)})},
                   MatmulAttrs{true});
  m.output(m.add(Op::softmax, {s}, AxisAttrs{2})).run({"recognise_attention"});
  EXPECT_EQ(m.explanations().size(), 1u);
  EXPECT_EQ(m.count(Op::mul) + m.count(Op::div), 1);
  const Node* scaling = m.only(Op::mul);
  EXPECT_EQ(tensor_of(*constant_of(scaling->operand(1))).get(0), 0.5);
  const Value* scaled = scaling->operand(0);
  EXPECT_NE(scaled == queries || scaled == keys, scaled->def() && scaled->def()->is(Op::matmul));
  return m.explanations().empty() ? "" : m.explanations()[0].text;
}

TEST(RecogniseAttention, TheScaleGoesToAProjectionOrWhatIsSmallest) {
  struct Case {
    Shape q, k;
    bool projected_q, projected_k;
    const char* place;
  };
  const Case cases[] = {
      {{1, 3, 2}, {1, 3, 2}, false, false, "queries"},
      {{1, 3, 2}, {1, 2, 2}, false, false, "keys"},
      {{1, 2, 2}, {1, 3, 2}, false, false, "queries"},
      {{1, 3, 4}, {1, 3, 4}, false, false, "scores"},   // 9 of 12
      {{1, 3, 3}, {1, 2, 3}, false, false, "keys"},     // as few as the scores
      {{1, 2, 3}, {1, 3, 3}, false, false, "queries"},  // as few as the scores
      {{1, 3, 4}, {1, 3, 4}, true, false, "queries"},
      {{1, 3, 4}, {1, 3, 4}, false, true, "keys"},
      {{1, 3, 4}, {1, 2, 4}, true, true, "queries"},
  };
  for (const Case& one : cases)
    EXPECT_EQ(place_of_scale(one.q, one.k, one.projected_q, one.projected_k),
              fmt::format("is attention, scaled by 0.5 on the {}", one.place));
}

TEST(RecogniseAttention, FactorsThatCancelOutAreDropped) {
  AttentionModel m;
  m.output(m.mixed(m.softmax(m.scores(m.times(m.q, 4), m.times(m.k, 0.25)))));
  m.run({"recognise_attention"});
  EXPECT_EQ(m.scalings(), 0);
}

// ---- what must stay ----

TEST(RecogniseAttention, ScaleThatIsNotConstantStays) {
  AttentionModel m;
  Value* s = m.add(Op::mul, {m.scores(m.q, m.k), m.input({})});
  m.output(m.mixed(m.softmax(s))).run({"recognise_attention", "fold_scale"});
  EXPECT_TRUE(m.only(Op::mul)->operand(0)->def()->is(Op::matmul));
}

TEST(RecogniseAttention, ScaleThatDiffersBetweenHeadsStays) {
  AttentionModel m;
  Value* s = m.add(Op::mul, {m.scores(m.q, m.k), m.weights({2, 1, 1})});
  m.output(m.mixed(m.softmax(s))).run({"recognise_attention", "fold_scale"});
  EXPECT_TRUE(m.only(Op::mul)->operand(0)->def()->is(Op::matmul));
}

TEST(RecogniseAttention, ScaledQueriesThatOthersReadStay) {
  AttentionModel m;
  Value* scaled = m.times(m.q, kScale);
  m.output(m.mixed(m.softmax(m.scores(scaled, m.k)))).output(scaled).output(m.q);
  m.run({"recognise_attention", "fold_scale"});
  EXPECT_EQ(m.scalings(), 1);
}

TEST(RecogniseAttention, ScaledScoresThatOthersReadStay) {
  AttentionModel m;
  Value* s = m.times(m.scores(m.q, m.k), kScale);
  m.output(m.mixed(m.softmax(m.add(Op::add, {s, m.weights({5})})))).output(s);
  m.run({"recognise_attention", "fold_scale"});
  EXPECT_TRUE(m.only(Op::mul)->operand(0)->def()->is(Op::matmul));
}

TEST(RecogniseAttention, ScaleBehindAMaskThatIsNotConstantStays) {
  AttentionModel m;
  Value* s = m.times(m.add(Op::add, {m.scores(m.q, m.k), m.input({5, 5})}), kScale);
  m.output(m.mixed(m.softmax(s))).run({"recognise_attention", "fold_scale"});
  EXPECT_TRUE(m.only(Op::mul)->operand(0)->def()->is(Op::add));
}

TEST(RecogniseAttention, NegativeScaleDoesNotPassAHiddenKey) {
  AttentionModel m;
  Value* s = m.add(Op::where, {m.causal(), m.scores(m.q, m.k), m.number(-kInfinity)});
  m.output(m.mixed(m.softmax(m.times(s, -kScale)))).run({"recognise_attention"});
  EXPECT_TRUE(m.only(Op::mul)->operand(0)->def()->is(Op::where) ||
              m.only(Op::mul)->operand(0)->def()->is(Op::minimum));
}

TEST(RecogniseAttention, SoftmaxAlongAnotherAxisIsNoAttention) {
  AttentionModel m;
  m.output(m.mixed(m.softmax(m.times(m.scores(m.q, m.k), kScale), 2)));
  m.run({"recognise_attention"});
  EXPECT_TRUE(m.only(Op::mul)->operand(0)->def()->is(Op::matmul));
  ASSERT_EQ(m.explanations().size(), 1u);
  EXPECT_NE(m.explanations()[0].text.find("not along the last axis"), std::string::npos);
}

// ---- masks ----

TEST(RecogniseAttention, HiddenKeysAreABound) {
  for (const double low : {-kInfinity, -1e9, -1e4}) {
    AttentionModel m;
    Value* s = m.add(Op::where, {m.causal(), m.scores(m.q, m.k), m.number(low)});
    m.output(m.mixed(m.softmax(s))).run({"recognise_attention", "fold_constants"});
    EXPECT_EQ(m.count(Op::where), 0) << low;
    EXPECT_NE(constant_of(m.only(Op::minimum)->operand(1)), nullptr) << low;
  }
}

TEST(RecogniseAttention, AChoiceOfOrdinaryNumbersIsNoMask) {
  AttentionModel m;
  Value* s = m.add(Op::where, {m.causal(), m.scores(m.q, m.k), m.number(-3)});
  m.output(m.mixed(m.softmax(s))).run({"recognise_attention"});
  EXPECT_EQ(m.count(Op::minimum), 0);
}

/// The bound of the scores has the low number where the condition has it, and infinity elsewhere.
TEST(RecogniseAttention, ABoundIsOneOfTwoNumbers) {
  for (const bool low_first : {false, true}) {
    AttentionModel m;
    Value* s = m.scores(m.q, m.k);
    Value* low = m.number(-1e9);
    s = low_first ? m.add(Op::where, {m.causal(), low, s}) : m.add(Op::where, {m.causal(), s, low});
    m.output(m.softmax(s)).run({"recognise_attention", "fold_constants"});
    const Node* minimum = m.only(Op::minimum);
    EXPECT_TRUE(minimum->operand(0)->def()->is(Op::matmul));
    const Tensor bound = tensor_of(*constant_of(minimum->operand(1)));
    ASSERT_EQ(bound.type().shape, (Shape{5, 5}));
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 5; ++j)
        EXPECT_EQ(bound.get(i * 5 + j), (j <= i) == low_first ? -1e9 : kInfinity);
  }
}

TEST(RecogniseAttention, AConditionAsLargeAsTheScoresStaysAChoice) {
  AttentionModel m;
  Value* seen = m.input({2, 2, 5, 5}, DType::boolean);
  Value* s = m.add(Op::where, {seen, m.scores(m.q, m.k), m.number(-1e9)});
  m.output(m.mixed(m.softmax(s))).run({"recognise_attention"});
  EXPECT_EQ(m.count(Op::where), 1);
}

// ---- guards ----

/// Zeros for rows that see no key, as torch's own decomposition writes it, or in short.
Value* guarded(AttentionModel& m, Value* s, bool shortly = false) {
  Value* hidden = m.add(Op::equal, {s, m.number(-kInfinity)});
  const AxesAttrs keys{{3}};
  Value* all = shortly ? m.add(Op::reduce_all, {hidden}, keys)
                       : m.add(Op::logical_not,
                               {m.add(Op::reduce_any, {m.add(Op::logical_not, {hidden})}, keys)});
  return m.add(Op::where, {all, m.filled({2, 2, 5, 5}, 0), m.softmax(s)});
}

TEST(RecogniseAttention, GuardGoesWhereEveryRowSeesAKey) {
  for (const bool shortly : {false, true}) {
    AttentionModel m;
    m.output(m.mixed(guarded(m, m.scores(m.q, m.k), shortly))).run({"recognise_attention"});
    EXPECT_EQ(m.count(Op::where) + m.count(Op::equal), 0) << shortly;
  }
  AttentionModel m;
  Value* mask = m.add(Op::where, {m.causal(), m.number(0), m.number(-kInfinity)});
  Value* s = m.add(Op::add, {m.scores(m.q, m.k), mask});
  m.output(m.mixed(guarded(m, s))).run({"fold_constants", "recognise_attention"});
  EXPECT_EQ(m.count(Op::where) + m.count(Op::equal), 0);
}

TEST(RecogniseAttention, GuardIsTakenFromAMaskThatMayHideARow) {
  for (const bool shortly : {false, true})
    for (const bool added : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", shortly, added));
      AttentionModel m;
      Value* seen = m.input({2, 1, 5, 5}, DType::boolean);
      Value* low = m.number(-kInfinity);
      Value* s = m.scores(m.q, m.k);
      s = added ? m.add(Op::add, {s, m.add(Op::where, {seen, m.number(0), low})})
                : m.add(Op::where, {seen, s, low});
      m.output(m.mixed(guarded(m, s, shortly))).run({"recognise_attention"});
      EXPECT_EQ(m.count(Op::equal), 0);
      // The rows are tested on the mask, which has one head.
      const Shape expected = {2, 1, 5, 1};
      EXPECT_EQ(m.only(Op::reduce_any)->result()->shape(), expected);
      EXPECT_EQ(m.count(Op::mul), 1);
    }
}

/// The validator allows for softmax of very low numbers whatever it gives: rows that are hidden are
/// looked at by themselves.
TEST(RecogniseAttention, ARowWithoutKeysStaysZero) {
  const char* masks[] = {
      "%m = constant() { data = bool[2,3] (0,0,0,1,0,1) }\n%s = where(%m, %t, %low)",
      "%m = constant() { data = bool[2,3] (1,1,1,0,1,0) }\n%s = where(%m, %low, %t)",
      "%m = constant() { data = bool[2,3] (0,0,0,1,0,1) }\n%n = where(%m, %zero, %low)\n"
      "%s = add(%t, %n)",
      "%m = constant() { data = bool[2,3] (1,1,1,0,1,0) }\n%n = where(%m, %low, %zero)\n"
      "%s = add(%n, %t)",
      "%n = constant() { data = f32[2,3] (-inf,-inf,-inf,0,-inf,0) }\n%s = add(%t, %n)",
  };
  for (const char* mask : masks) {
    SCOPED_TRACE(mask);
    Graph graph = parse_graph(fmt::format(R"(graph "g" {{
      input "x" %x : f32[2,3]
      %low = constant() {{ data = f32[] (-inf) }}
      %zero = constant() {{ data = f32[] (0) }}
      %t = tanh(%x)
      {}
      %weights = softmax(%s) {{ axis = 1 }}
      %hidden = equal(%s, %low)
      %rows = reduce_all(%hidden) {{ axes = [1] }}
      %y = where(%rows, %zero, %weights)
      output "y" %y
    }})",
                                          mask),
                              "test");
    const TargetRules rules;
    PassContext context("recognise_attention", rules, nullptr);
    const auto pass = std::ranges::find(all_passes(), "recognise_attention", &Pass::name);
    EXPECT_TRUE(pass->run(graph, context));
    // The second row has two keys of the same score.
    const Tensor zeros({DType::f32, {2, 3}});
    const Tensor y = evaluate(graph, std::span(&zeros, 1)).at(0);
    const double expected[] = {0, 0, 0, 0.5, 0, 0.5};
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(y.get(i), expected[i]) << i;
  }
}

TEST(RecogniseAttention, AMaskBeforeWhichTheScaleStandsIsNotScaled) {
  AttentionModel m;
  Value* mask = m.weights({5, 5});
  m.output(m.softmax(m.add(Op::add, {m.times(m.scores(m.q, m.k), kScale), mask})));
  m.run({"recognise_attention"});
  EXPECT_EQ(m.scalings(), 1);
  EXPECT_EQ(m.only(Op::add)->operand(1), mask);
}

TEST(RecogniseAttention, GuardIsTakenFromAnAddedMaskOfNumbers) {
  AttentionModel m;
  Value* s = m.add(Op::add, {m.scores(m.q, m.k), m.input({2, 1, 5, 5})});
  m.output(m.mixed(guarded(m, s))).run({"recognise_attention"});
  EXPECT_EQ(m.count(Op::equal), 0);
  EXPECT_EQ(m.count(Op::greater), 1);
}

TEST(RecogniseAttention, AConstantMaskThatHidesARowKeepsItsGuard) {
  AttentionModel m;
  Value* mask = m.add(Op::where, {m.causal(1), m.number(0), m.number(-kInfinity)});
  Value* s = m.add(Op::add, {m.scores(m.q, m.k), mask});
  m.output(m.mixed(guarded(m, s)));
  m.run({"fold_constants", "recognise_attention", "fold_constants"});
  // Zero for the hidden row and one elsewhere, times the probabilities.
  const Constant* keep = constant_of(m.only(Op::mul)->operand(1));
  ASSERT_NE(keep, nullptr);
  const Tensor rows = tensor_of(*keep);
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(rows.get(i), i != 1);
}

TEST(RecogniseAttention, GuardOfScoresThatMayBeInfiniteStays) {
  AttentionModel m;
  Value* s = m.add(Op::add, {m.input({2, 2, 5, 5}), m.input({5, 5})});
  m.output(m.mixed(guarded(m, s))).run({"recognise_attention"});
  EXPECT_EQ(m.count(Op::equal), 1);
  EXPECT_EQ(m.count(Op::where), 1);
}

TEST(RecogniseAttention, GuardOfOtherScoresStays) {
  AttentionModel m;
  Value* s = m.add(Op::add, {m.scores(m.q, m.k), m.input({5, 5})});
  Value* other = m.input({2, 2, 5, 5});
  Value* hidden = m.add(Op::equal, {other, m.number(-kInfinity)});
  Value* all = m.add(Op::reduce_all, {hidden}, AxesAttrs{{3}});
  m.output(m.add(Op::where, {all, m.number(0), m.softmax(s)})).run({"recognise_attention"});
  EXPECT_EQ(m.count(Op::where), 1);
}

// ---- fold_scale ----

TEST(FoldScale, OnlyTheRowsOfTheQueriesAreScaled) {
  AttentionModel m;
  const Constant before =
      *constant_of(m.fused->def()->operand(0)->def()->operand(0)->def()->operand(1));
  m.output(m.times(m.q, 2)).output(m.k).output(m.v).run({"fold_scale"});
  EXPECT_EQ(m.scalings(), 0);
  const Tensor old = tensor_of(before);
  const Tensor weight = tensor_of(*constant_of(m.only(Op::linear)->operand(1)));
  for (int64_t i = 0; i < weight.count(); ++i)
    EXPECT_EQ(weight.get(i), old.get(i) * (i < 36 ? 2 : 1)) << i;
}

TEST(FoldScale, ThroughRotaryEmbeddings) {
  AttentionModel m;
  Value* low = m.slice(m.q, 3, 0, 1);
  Value* high = m.slice(m.q, 3, 1, 2);
  Value* turned = m.concat({m.add(Op::neg, {high}), low}, 3);
  Value* y = m.add(
      Op::add, {m.add(Op::mul, {m.q, m.input({5, 3})}), m.add(Op::mul, {turned, m.input({5, 3})})});
  m.output(m.times(y, kScale)).output(m.k).run({"fold_scale"});
  EXPECT_EQ(m.count(Op::mul), 2);
}

TEST(FoldScale, OfTwoProjectionsThatAreJoined) {
  TestModel m;
  Value* x = m.input({5, 6});
  Value* a = m.add(Op::linear, {x, m.weights({4, 6})}, LinearAttrs{});
  Value* b = m.conv(m.input({1, 1, 3, 6}), 4);
  Value* y = m.concat({a, m.view(b, {3, 4})}, 0);
  m.output(m.add(Op::mul, {y, m.number(kScale)})).run({"fold_scale"});
  EXPECT_EQ(m.count(Op::mul), 0);
}

TEST(FoldScale, WhatOthersReadStays) {
  const std::function<void(AttentionModel&)> readers[] = {
      [](AttentionModel& m) { m.output(m.q); },
      [](AttentionModel& m) { m.output(m.fused); },
      [](AttentionModel& m) { m.output(m.add(Op::neg, {m.fused})); },
      [](AttentionModel& m) { m.output(m.slice(m.fused, 0, 0, 2)); },
      [](AttentionModel& m) { m.output(m.slice(m.fused, 3, 1, 2)); },  // rows of all channels
  };
  for (const auto& read : readers) {
    AttentionModel m;
    m.output(m.times(m.q, kScale));
    read(m);
    m.run({"fold_scale"});
    EXPECT_EQ(m.count(Op::mul), 1);
  }
}

TEST(FoldScale, WhatDoesNotScaleStays) {
  const Form forms[] = {
      [](AttentionModel& m) { return m.relu(m.q); },
      [](AttentionModel& m) {
        return m.add(Op::mul, {m.q, m.q});
      },
      [](AttentionModel& m) {
        return m.add(Op::mul, {m.q, m.add(Op::sigmoid, {m.q})});
      },
      [](AttentionModel& m) {
        return m.add(Op::add, {m.q, m.number(1)});
      },
      [](AttentionModel& m) {
        return m.add(Op::add, {m.q, m.input({2, 2, 5, 3})});
      },
      [](AttentionModel& m) {
        return m.add(Op::div, {m.number(1), m.q});
      },
  };
  for (const auto& form : forms) {
    AttentionModel m;
    m.output(m.times(form(m), kScale));
    const std::string before = print(m.built());
    m.run({"fold_scale"});
    EXPECT_EQ(print(m.built()), before);
  }
}

TEST(FoldScale, AWeightThatTwoOpsShareStays) {
  TestModel m;
  Value* x = m.input({5, 6});
  Value* weight = m.weights({4, 6});
  Value* a = m.add(Op::linear, {x, weight}, LinearAttrs{});
  Value* b = m.add(Op::linear, {m.relu(x), weight}, LinearAttrs{});
  m.output(m.add(Op::mul, {a, m.number(kScale)})).output(b).run({"fold_scale"});
  EXPECT_EQ(m.count(Op::mul), 1);
}

TEST(FoldScale, ZeroAndInfinityStay) {
  for (const double factor : {0.0, kInfinity, 1e300}) {
    AttentionModel m;
    m.output(m.add(Op::mul, {m.q, m.number(factor)}));
    const std::string before = print(m.built());
    m.run({"fold_scale"});
    EXPECT_EQ(print(m.built()), before);
  }
}

// ---- fold_repeats ----

/// [2, 4, 5, 3] queries by [2, 2, 7, 3] keys that serve two heads each.
TEST(FoldRepeats, RepeatedKeysAreMultipliedOnce) {
  static constexpr int kSwap[] = {0, 1, 3, 2};
  const std::function<Value*(TestModel&, Value*, Value*)> forms[] = {
      [](TestModel& m, Value* q, Value* k) {
        Value* more = m.view(m.expand(m.view(k, {2, 2, 1, 7, 3}), {2, 2, 2, 7, 3}), {2, 4, 7, 3});
        return m.add(Op::matmul, {q, more}, MatmulAttrs{true});
      },
      [](TestModel& m, Value* q, Value* k) {
        Value* more = m.view(m.expand(m.view(k, {2, 2, 1, 7, 3}), {2, 2, 2, 7, 3}), {2, 4, 7, 3});
        return m.add(Op::matmul, {q, m.permute(more, kSwap)}, MatmulAttrs{});
      },
      [](TestModel& m, Value* q, Value* k) {
        Value* y = m.add(Op::matmul, {m.view(q, {2, 2, 2, 5, 3}), m.view(k, {2, 2, 1, 7, 3})},
                         MatmulAttrs{true});
        return m.view(y, {2, 4, 5, 7});
      },
  };
  for (const auto& form : forms) {
    TestModel m;
    m.output(form(m, m.input({2, 4, 5, 3}), m.input({2, 2, 7, 3})));
    m.run({"fold_relayouts", "fold_repeats", "fold_relayouts"});
    EXPECT_EQ(m.count(Op::expand), 0);
    const Shape expected = {2, 2, 10, 3};
    EXPECT_EQ(m.only(Op::matmul)->operand(0)->shape(), expected);
  }
}

TEST(FoldRepeats, RepetitionThatIsNotInnermostStays) {
  // Heads 0 1 0 1 instead of 0 0 1 1: neighbouring heads have different keys.
  TestModel m;
  Value* k = m.view(m.input({2, 2, 7, 3}), {2, 1, 2, 7, 3});
  Value* more = m.view(m.expand(k, {2, 2, 2, 7, 3}), {2, 4, 7, 3});
  m.output(m.add(Op::matmul, {m.input({2, 4, 5, 3}), more}, MatmulAttrs{true}));
  m.run({"fold_repeats"});
  EXPECT_EQ(m.count(Op::expand), 1);
}

TEST(FoldRepeats, RepetitionAlongOtherAxesStays) {
  TestModel m;
  Value* rows = m.expand(m.input({2, 1, 3}), {2, 7, 3});
  m.output(m.add(Op::matmul, {m.input({2, 5, 3}), rows}, MatmulAttrs{true}));
  m.run({"fold_repeats"});
  EXPECT_EQ(m.count(Op::expand), 1);
}

TEST(RecogniseAttention, AProductThatOthersReadIsNotScaledForThem) {
  TestModel model;
  Value* q = model.input({2, 4, 8});
  Value* k = model.input({2, 4, 8});
  Value* scores = model.add(Op::matmul, {q, k}, MatmulAttrs{true});
  Value* scaled = model.add(Op::mul, {scores, model.number(0.25)});
  model.output(model.add(Op::softmax, {scaled}, AxisAttrs{2}));
  model.output(model.add(Op::neg, {scores}));
  model.run({"recognise_attention"});
  EXPECT_EQ(model.count(Op::mul), 1);
}

}  // namespace
}  // namespace layline
