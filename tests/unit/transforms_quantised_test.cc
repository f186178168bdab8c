// Which ops run on integers, and above all which do not.
#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

class Quantised : public TestModel {
 public:
  Value* quantize(Value* x, float scale, int32_t zero_point, DType dtype = DType::i8) {
    return add(Op::quantize, {x}, QuantisationAttrs{per_tensor(dtype, scale, zero_point)});
  }
  Value* round_trip(Value* x, float scale = 0.05f, int32_t zero_point = 5) {
    return add(Op::dequantize, {quantize(x, scale, zero_point)});
  }
  /// Integers with one scale for each index of the first axis.
  Value* integer_weights(Shape shape, int32_t zero_point = 0, int64_t axis = 0) {
    Quantisation by{DType::i8, -128, 127, std::vector<int64_t>(shape.size(), 1), {}, {}};
    by.dims[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)].value();
    for (int64_t i = 0; i < by.dims[static_cast<size_t>(axis)]; ++i) {
      by.scales.push_back(0.01f * static_cast<float>(i + 1));
      if (zero_point != 0) by.zero_points.push_back(zero_point);
    }
    Tensor integers({DType::i8, shape, std::move(by)});
    for (int64_t i = 0; i < integers.count(); ++i) integers.set_int(i, (i * 37) % 200 - 100);
    return constant(integers);
  }
  Value* dequantize(Value* x) { return add(Op::dequantize, {x}); }
  Value* choose_and_quantise(Value* x, Ints axes, const Value* chosen_from = nullptr) {
    Value* from = chosen_from ? const_cast<Value*>(chosen_from) : x;
    ChooseAttrs attrs;
    attrs.axes = std::move(axes);
    attrs.eps = 1e-7;
    Value* scale = add(Op::choose_scale, {from}, attrs);
    Value* zero_point = add(Op::choose_zero_point, {from}, attrs);
    Value* integers = add(Op::quantize_by, {x, scale, zero_point}, IntegerAttrs{});
    return add(Op::dequantize_by, {integers, scale, zero_point});
  }
  /// To the last bit: rounding is not changed.
  void type() {
    const std::vector<Tensor> inputs = probes(built());
    const std::vector<Tensor> before = evaluate(built(), inputs);
    run({"type_quantised"});
    const std::vector<Tensor> after = evaluate(built(), inputs);
    for (size_t i = 0; i < before.size(); ++i)
      for (int64_t k = 0; k < before[i].count(); ++k)
        ASSERT_EQ(after[i].get(k), before[i].get(k)) << "output " << i << ", element " << k;
  }
  int quantised_ops() {
    int count = 0;
    for (const Node* node : built())
      count += is_quantised(*node) && !node->is(Op::constant) && !node->is(Op::quantize) &&
               !node->is(Op::dequantize);
    return count;
  }
  int dynamic_ops() {
    int count = 0;
    for (const Node* node : built()) count += is_dynamic(node->attributes());
    return count;
  }
  /// quantise_dynamically rounds anew, so only the graph's form is looked at.
  void run_dynamic() { run_pipeline(built(), {.stop_after = "quantise_dynamically"}); }
};

TEST(TypeQuantised, AConvWithReluKeepsItsClamp) {
  for (const int32_t zero_point : {-128, -7, 0}) {
    Quantised m;
    Value* x = m.to_channels_last(m.round_trip(m.input({1, 3, 5, 5})));
    Value* w = m.to_channels_last(m.dequantize(m.integer_weights({4, 3, 3, 3})));
    Value* y =
        m.add(Op::conv, {x, w, m.weights({4})}, ConvAttrs{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, {}});
    m.output(m.dequantize(m.quantize(m.relu(m.from_channels_last(y)), 0.03f, zero_point)));
    m.type();
    Node* conv = m.only(Op::conv);
    EXPECT_EQ(m.quantised_ops(), 3);  // and the two relayouts
    EXPECT_EQ(conv->attrs<ConvAttrs>().bounds.min, 0) << "the zero point is no clamp";
    EXPECT_TRUE(conv->result()->type().quantisation);
    EXPECT_EQ(m.count(Op::clamp), 0);
    m.run_all();
  }
}

TEST(TypeQuantised, WhatIsAlsoReadAsRealStaysReal) {
  Quantised m;
  Value* sum = m.add(Op::add, {m.round_trip(m.input({4})), m.round_trip(m.input({4}), 0.1f, 0)});
  m.output(m.round_trip(sum)).output(m.add(Op::tanh, {sum}));
  m.type();
  EXPECT_EQ(m.quantised_ops(), 0);
}

TEST(TypeQuantised, ARealOperandKeepsAnOpReal) {
  Quantised m;
  m.output(m.round_trip(m.add(Op::add, {m.round_trip(m.input({4})), m.input({4})})));
  m.type();
  EXPECT_EQ(m.quantised_ops(), 0);
}

TEST(TypeQuantised, MovementKeepsOneScale) {
  Quantised m;
  Value* x = m.round_trip(m.input({2, 4}));
  m.output(m.round_trip(m.concat({x, x}, 1)));            // the same scale
  m.output(m.round_trip(m.concat({x, x}, 0), 0.07f, 5));  // another
  m.output(m.round_trip(m.concat({x, m.round_trip(m.input({2, 4}), 0.07f)}, 0)));
  m.type();
  EXPECT_EQ(m.quantised_ops(), 1);
}

TEST(TypeQuantised, IndicesAreNoNumbers) {
  Quantised m;
  Value* x = m.round_trip(m.input({2, 4}));
  Tensor indices({DType::i64, {3}});
  indices.set_int(0, 1);
  Value* places = m.constant(indices);
  m.output(m.round_trip(m.add(Op::gather, {x, places}, AxisAttrs{1})));            // the same scale
  m.output(m.round_trip(m.add(Op::gather, {x, places}, AxisAttrs{0}), 0.07f, 5));  // another
  m.type();
  EXPECT_EQ(m.quantised_ops(), 1);
}

TEST(TypeQuantised, MatricesOfActivationsHaveAnyScaleAndMaximaAreRoundedApart) {
  Quantised m;
  Value* x = m.round_trip(m.input({2, 4}));
  Value* y = m.round_trip(m.input({4, 3}), 0.02f, 1);
  m.output(m.round_trip(m.add(Op::matmul, {x, y}, MatmulAttrs{}), 0.2f, -3));
  m.output(m.round_trip(m.add(Op::reduce_max, {x}, AxesAttrs{{1}})));           // the same scale
  m.output(m.round_trip(m.add(Op::reduce_max, {x}, AxesAttrs{{0}}), 0.2f, 5));  // another
  m.type();
  EXPECT_EQ(m.quantised_ops(), 3);
}

TEST(TypeQuantised, TheNumberThatIsPaddedWithIsRounded) {
  Quantised m;
  Value* x = m.round_trip(m.input({2, 4}));
  m.output(m.round_trip(m.add(Op::pad, {x}, PadAttrs{{1, 0}, {0, 0}, PadMode::constant, 0})));
  m.output(m.round_trip(m.add(Op::pad, {x}, PadAttrs{{1, 0}, {0, 0}, PadMode::constant, 0.03})));
  m.type();
  EXPECT_EQ(m.quantised_ops(), 2);
}

/// A maximum has its operand's scale, and is rounded to another one apart.
TEST(TypeQuantised, AMaximumKeepsTheScaleOfItsOperand) {
  for (const float scale : {0.05f, 0.2f}) {
    Quantised m;
    Value* x = m.round_trip(m.input({2, 4}));
    m.output(m.round_trip(m.add(Op::reduce_max, {x}, AxesAttrs{{1}}), scale));
    m.type();
    const Node* maximum = m.only(Op::reduce_max);
    EXPECT_EQ(maximum->result()->type().quantisation, maximum->operand(0)->type().quantisation);
    EXPECT_EQ(m.count(Op::quantize), scale == 0.05f ? 1 : 2);
  }
}

TEST(TypeQuantised, WhatIsPaddedWithIsANumberOfTheScale) {
  Quantised m;
  Value* x = m.round_trip(m.input({2, 4}), 0.5f);
  m.output(
      m.round_trip(m.add(Op::pad, {x}, PadAttrs{{1, 0}, {0, 0}, PadMode::constant, 0.7}), 0.5f));
  m.type();
  EXPECT_EQ(m.only(Op::pad)->attrs<PadAttrs>().value, 0.5);
}

TEST(TypeQuantised, TheSameScaleTwiceNeedsNoClamp) {
  Quantised m;
  m.output(m.round_trip(m.round_trip(m.input({4}))));
  m.type();
  EXPECT_EQ(m.count(Op::quantize), 1);
  EXPECT_EQ(m.count(Op::clamp), 0);
}

TEST(TypeQuantised, WeightsThatNoKernelTakesStayReal) {
  for (const bool zero_points : {true, false}) {
    Quantised m;
    Value* w = zero_points ? m.integer_weights({4, 3}, 2) : m.integer_weights({4, 3}, 0, 1);
    m.output(m.round_trip(
        m.add(Op::linear, {m.round_trip(m.input({2, 3})), m.dequantize(w)}, LinearAttrs{})));
    m.type();
    EXPECT_FALSE(m.only(Op::linear)->result()->type().quantisation);
  }
}

TEST(TypeQuantised, RoundingAgainToAnotherScaleStays) {
  Quantised m;
  m.output(m.round_trip(m.round_trip(m.input({4})), 0.06f, 5));
  m.output(m.round_trip(m.round_trip(m.input({4}), 0.06f, 2), 0.06f, 2));  // says nothing new
  m.type();
  EXPECT_EQ(m.count(Op::quantize), 3);
}

TEST(TypeQuantised, UnsignedIsSignedWhereNobodyLooks) {
  Quantised m;
  Value* x = m.quantize(m.input({4}), 0.05f, 130, DType::u8);
  Value* seen = m.quantize(m.input({4}), 0.05f, 130, DType::u8);
  m.output(m.dequantize(x))
      .output(m.dequantize(seen))
      .output(m.add(Op::reinterpret, {seen}, QuantisationAttrs{}));
  m.type();
  int signed_count = 0;
  for (const Node* node : m.built())
    signed_count += node->is(Op::quantize) && node->result()->dtype() == DType::i8;
  EXPECT_EQ(signed_count, 1);
}

TEST(TypeQuantised, ChannelsFollowTheWeight) {
  Quantised m;
  // A weight whose channels are its second axis, transposed before it is used.
  Value* w = m.permute(m.dequantize(m.integer_weights({3, 4}, 0, 1)), std::vector<int>{1, 0});
  m.output(m.round_trip(m.add(Op::linear, {m.round_trip(m.input({2, 3})), w}, LinearAttrs{})));
  m.type();
  Node* linear = m.only(Op::linear);
  EXPECT_TRUE(linear->result()->type().quantisation);
  EXPECT_EQ(linear->operand(1)->type().quantisation->dims, (std::vector<int64_t>{4, 1}));
}

TEST(FoldConstants, WhatIsComputedFromDequantisedConstants) {
  Quantised m;
  Value* x = m.input({1, 4});
  Value* integers = m.quantize(m.weights({6, 4}), 0.02f, 3);
  Value* real = m.dequantize(integers);
  Value* sum = m.add(Op::add, {m.slice(real, 0, 0, 3), m.slice(real, 0, 3, 3)});
  m.output(m.add(Op::mul, {x, sum})).run({"fold_constants"});
  EXPECT_EQ(m.work(), 1);
  EXPECT_EQ(m.count(Op::dequantize), 0);
}

TEST(FoldConstants, WeightsStayIntegers) {
  Quantised m;
  Value* x = m.round_trip(m.input({5, 6}));
  Value* all = m.dequantize(m.quantize(m.weights({8, 6}), 0.02f, 0));
  Value* y = m.add(Op::linear, {x, m.slice(all, 0, 2, 4)}, LinearAttrs{});
  m.output(m.round_trip(y)).run({"fold_constants"});
  EXPECT_EQ(m.count(Op::slice), 0);
  const Node* weight = m.only(Op::linear)->operand(1)->def();
  ASSERT_TRUE(weight->is(Op::dequantize));
  EXPECT_TRUE(stored_constant(weight->operand(0)));
}

TEST(QuantiseDynamically, TheWholeTensorsScaleMayBeEachRows) {
  Quantised m;
  Value* x = m.input({2, 5, 6});
  Value* rows = m.view(m.choose_and_quantise(x, {0, 1, 2}), {10, 6});
  m.output(m.add(Op::linear, {rows, m.dequantize(m.integer_weights({4, 6}))}, LinearAttrs{}));
  m.run_dynamic();
  EXPECT_EQ(m.dynamic_ops(), 1);
  EXPECT_EQ(m.count(Op::choose_scale), 0);
}

TEST(QuantiseDynamically, RowsMustStayRows) {
  for (const bool kept : {true, false}) {
    Quantised m;
    Value* x = m.choose_and_quantise(m.input({4, 6}), {1});
    Value* rows =
        kept ? m.view(x, {2, 2, 6}) : m.permute(m.view(x, {4, 2, 3}), std::vector<int>{1, 0, 2});
    if (!kept) rows = m.view(rows, {4, 6});
    m.output(m.add(Op::linear, {rows, m.dequantize(m.integer_weights({4, 6}))}, LinearAttrs{}));
    m.run_dynamic();
    EXPECT_EQ(m.dynamic_ops(), kept);
  }
}

TEST(QuantiseDynamically, LeavesWhatIsNotThePattern) {
  const auto linear = [](Quantised& m, Value* x, Value* w) {
    m.output(m.add(Op::linear, {x, m.dequantize(w)}, LinearAttrs{}));
    m.run_dynamic();
    return m.dynamic_ops();
  };
  {
    Quantised m;  // the scale of another tensor
    Value* other = m.input({4, 6});
    EXPECT_EQ(
        linear(m, m.choose_and_quantise(m.input({4, 6}), {0, 1}, other), m.integer_weights({4, 6})),
        0);
  }
  {
    Quantised m;  // a scale for each column: less than a row
    EXPECT_EQ(linear(m, m.choose_and_quantise(m.input({4, 6}), {0}), m.integer_weights({4, 6})), 0);
  }
  {
    Quantised m;  // weights that are not around 0
    EXPECT_EQ(
        linear(m, m.choose_and_quantise(m.input({4, 6}), {0, 1}), m.integer_weights({4, 6}, 3)), 0);
  }
  {
    Quantised m;  // depthwise
    Value* x = m.choose_and_quantise(m.input({1, 5, 5, 4}), {0, 1, 2, 3});
    m.output(m.add(Op::conv, {x, m.dequantize(m.integer_weights({4, 3, 3, 1}))},
                   ConvAttrs{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 4, {}}));
    m.run_dynamic();
    EXPECT_EQ(m.dynamic_ops(), 0);
  }
}

TEST(QuantiseDynamically, AConvOfOnePixelIsALinear) {
  Quantised m;
  Value* x = m.choose_and_quantise(m.input({1, 5, 5, 4}), {0, 1, 2, 3});
  m.output(m.add(Op::conv, {x, m.dequantize(m.integer_weights({3, 1, 1, 4}))},
                 ConvAttrs{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}}));
  m.output(m.add(Op::conv, {x, m.dequantize(m.integer_weights({3, 1, 1, 4}))},
                 ConvAttrs{{2, 2}, {1, 1}, {0, 0}, {0, 0}, 1, {}}));
  m.run_dynamic();
  EXPECT_EQ(m.dynamic_ops(), 2);
  EXPECT_EQ(m.count(Op::linear), 1);
}

TEST(SliceQuantised, WhatIsOnlyCutIsCutFromIntegers) {
  for (const bool read_whole : {false, true}) {
    Quantised m;
    Value* x = m.round_trip(m.input({2, 6}));
    m.output(m.add(Op::tanh, {m.slice(x, 1, 0, 2)}));
    m.output(m.round_trip(m.slice(x, 1, 2, 4), 0.07f));  // to another scale
    if (read_whole) m.output(m.add(Op::tanh, {x}));
    m.run({"slice_quantised"});
    EXPECT_EQ(m.quantised_ops(), read_whole ? 0 : 2);
    EXPECT_EQ(m.count(Op::slice), 2);
    EXPECT_EQ(m.count(Op::dequantize), read_whole ? 2 : 3);
  }
}

// Products on one value become one, and every row of the weights keeps its scale.
TEST(MergeQuantisedLinears, ScalesStandOneAfterTheOther) {
  Quantised m;
  Value* x = m.input({4, 6});
  const auto heads = [&](Value* weight) {
    Value* y = m.add(Op::linear, {x, weight, m.weights({4})}, LinearAttrs{{}, {}, true});
    m.output(m.permute(m.view(y, {4, 2, 2}), std::vector<int>{1, 0, 2}));
  };
  TargetRules rules;
  rules.orders.moves.call_ps = 1'000'000;
  m.on(rules);
  Tensor one_scale({DType::i8, {4, 6}, per_tensor(DType::i8, 0.07f, 0)});
  for (int64_t i = 0; i < one_scale.count(); ++i) one_scale.set_int(i, i - 9);
  heads(m.integer_weights({4, 6}));
  heads(m.integer_weights({4, 6}));
  heads(m.constant(one_scale));  // of another form: by itself
  heads(m.constant(one_scale));
  m.run({"fold_relayouts", "merge_linears"});
  std::vector<std::vector<float>> scales;
  for (const Node* node : m.built())
    if (node->is(Op::linear)) scales.push_back(node->operand(1)->type().quantisation->scales);
  const std::vector<float> each = {0.01f, 0.02f, 0.03f, 0.04f};
  std::vector<float> twice = each;
  twice.insert(twice.end(), each.begin(), each.end());
  ASSERT_EQ(scales.size(), 2u);
  for (size_t i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(scales[0][i], twice[i]);
  EXPECT_EQ(scales[1], std::vector<float>(8, 0.07f));
}

TEST(MergeQuantisedLinears, ResultsWithScalesOfTheirOwnStayApart) {
  for (const float other : {0.05f, 0.06f}) {
    Quantised m;
    TargetRules rules;
    rules.orders.moves.call_ps = 1'000'000;
    m.on(rules);
    Value* x = m.quantize(m.input({4, 6}), 0.05f, 3);
    for (const float scale : {0.05f, other}) {
      LinearAttrs attrs;
      attrs.quantisation = per_tensor(DType::i8, scale, 1);
      Value* y = m.add(Op::linear, {x, m.integer_weights({4, 6})}, attrs);
      y = m.permute(m.view(y, {4, 2, 2}), std::vector<int>{1, 0, 2});
      m.output(m.dequantize(y));
    }
    m.run({"fold_relayouts", "merge_linears"});
    EXPECT_EQ(m.count(Op::linear), other == 0.05f ? 1 : 2);
  }
}

/// On which depthwise products of integers are dear, and those of reals and conversions are cheap.
TargetRules slow_integers(int64_t convert_fs = 1) {
  TargetRules rules;
  rules.products = {.depthwise_fs = 1'000,
                    .integer_depthwise9_fs = 2'000,
                    .integer_depthwise25_fs = 1'000'000,
                    .convert_fs = convert_fs};
  rules.depthwise_places = {3, 4, 9, 25};
  return rules;
}

/// How many convolutions read integers once the pass has run.
int on_integers(int64_t kernel, int64_t groups, const TargetRules& target) {
  Quantised model;
  constexpr int64_t kChannels = 8;
  Value* x = model.quantize(model.input({1, 12, 12, kChannels}), 0.05f, 3);
  ConvAttrs attrs{{1, 1}, {1, 1}, {1, 1}, {1, 1}, groups, {0, 1.5}};
  attrs.quantisation = per_tensor(DType::i8, 0.02f, -7);
  Value* y = model.add(Op::conv,
                       {x, model.integer_weights({kChannels, kernel, kernel, kChannels / groups}),
                        model.weights({kChannels})},
                       attrs);
  model.output(model.dequantize(y));
  const std::vector<Tensor> inputs = probes(model.built());
  const Tensor before = evaluate(model.built(), inputs).at(0);
  model.on(target).run({"real_depthwise"});
  const Tensor after = evaluate(model.built(), inputs).at(0);
  for (int64_t k = 0; k < before.count(); ++k) EXPECT_EQ(after.get(k), before.get(k)) << k;
  return is_quantised(*model.only(Op::conv));
}

TEST(RealDepthwise, IsChosenByTheCosts) {
  EXPECT_EQ(on_integers(5, 8, slow_integers()), 0);
  EXPECT_EQ(on_integers(3, 8, slow_integers()), 0);
  EXPECT_EQ(on_integers(5, 8, slow_integers(1'000'000'000)), 1);  // converting costs more
  EXPECT_EQ(on_integers(3, 8, slow_integers(100'000)), 1);
  EXPECT_EQ(on_integers(5, 8, TargetRules{}), 1);  // nothing was measured
  EXPECT_EQ(on_integers(5, 1, slow_integers()), 1);
  EXPECT_EQ(on_integers(5, 4, slow_integers()), 1);
}

/// The runtime's kernels for single bytes are slow where rows are short, and a permute is as well
/// placed before the quantisation as after it.
TEST(PlaceLayouts, PermutesTheNumbersThatAreCheaperToMove) {
  const auto permuted = [](int64_t real_ps, int64_t byte_ps) {
    Quantised model;
    TargetRules rules;
    rules.orders.moves.transpose.write_ps = real_ps;
    rules.orders.moves.transpose_bytes.write_ps = byte_ps;
    Value* x = model.quantize(model.input({1, 3, 16, 16}), 0.05f, 3);
    model.output(model.to_channels_last(x));
    model.on(rules).run_all();
    EXPECT_EQ(model.moves(), 1);
    for (const Node* node : model.built())
      if (node->is(Op::relayout)) return node->result()->dtype();
    return DType::f64;
  };
  EXPECT_EQ(permuted(10, 1), DType::i8);
  EXPECT_EQ(permuted(1, 10), DType::f32);
}

}  // namespace
}  // namespace layline
