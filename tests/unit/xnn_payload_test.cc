#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "pte_reader.h"
#include "targets/xnnpack/payload.h"

namespace layline::xnnpack {
namespace {

namespace fb = fb_xnnpack;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

PayloadValue fp32(std::vector<uint32_t> dims) { return {Datatype::kFp32, std::move(dims), {}, {}}; }

PayloadValue weight(std::vector<uint32_t> dims, std::string key) {
  uint64_t bytes = sizeof(float);
  for (uint32_t dim : dims) bytes *= dim;
  return {Datatype::kFp32, std::move(dims), PayloadConstant{std::move(key), bytes}, {}};
}

template <typename Vector>
auto elements(const Vector* vector) {
  return std::vector(vector->begin(), vector->end());
}

/// A graph with one input, one output and one node between them, read back.
template <typename MakeNode>
PayloadReader single(std::vector<uint32_t> in, std::vector<uint32_t> out, MakeNode make) {
  Payload graph;
  const ValueId x = graph.define_input(fp32(std::move(in)));
  const ValueId y = graph.define_output(fp32(std::move(out)));
  graph.add(make(graph, x, y));
  return PayloadReader(graph.serialize());
}

TEST(XnnPayload, HeaderAndExternals) {
  Payload graph;
  const ValueId a = graph.define_input(fp32({2, 3}));
  const ValueId b = graph.define_input(fp32({3}));
  const ValueId sum = graph.define_value(fp32({2, 3}));
  const ValueId y = graph.define_output(fp32({2, 3}));
  graph.add(Binary{BinaryKind::kAdd, a, b, sum, Range{0, kInfinity}});
  graph.add(Unary{UnaryKind::kTanh, sum, y}, 7);
  EXPECT_EQ(graph.num_inputs(), 2u);
  EXPECT_EQ(graph.num_outputs(), 1u);

  const PayloadReader payload(graph.serialize());
  EXPECT_EQ(read_at<uint32_t>(payload.bytes(), 0), 0u);
  EXPECT_EQ(read_at<uint16_t>(payload.bytes(), 8), 30u);
  EXPECT_EQ(payload.flatbuffer_offset(), 32u);
  EXPECT_EQ(payload.constants_size(), 0u);
  EXPECT_GE(payload.constants_offset(), 32 + payload.flatbuffer_size());
  EXPECT_LE(payload.constants_offset(), payload.bytes().size());

  EXPECT_EQ(payload.graph().version()->str(), "0");
  EXPECT_EQ(payload.graph().num_externs(), 3u);
  EXPECT_EQ(elements(payload.graph().input_ids()), (std::vector<uint32_t>{a, b}));
  EXPECT_EQ(elements(payload.graph().output_ids()), (std::vector<uint32_t>{y}));
  const std::vector<uint32_t> flags{1, 1, 0, 2}, externals{0, 1, kNoValue, 2};
  for (uint32_t id = 0; id < 4; ++id) {
    const auto* value = payload.value(id).xvalue_union_as_XNNTensorValue();
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(value->id_out(), id);
    EXPECT_EQ(value->flags(), flags[id]);
    EXPECT_EQ(value->external_id(), externals[id]);
    EXPECT_EQ(value->constant_buffer_idx(), 0u);
  }
  EXPECT_EQ(payload.node(0).xnode_union_type(), fb::XNodeUnion::XNNAdd);
  EXPECT_EQ(payload.node(0).output_min_max()->output_min(), 0.0f);
  EXPECT_EQ(payload.node(0).output_min_max()->output_max(), kInfinity);
  EXPECT_EQ(payload.node(1).output_min_max(), nullptr);
  EXPECT_EQ(payload.node(1).debug_handle(), 7u);
  EXPECT_EQ(graph.serialize(), payload.bytes());
}

TEST(XnnPayload, ConstantsAreNamedDataOncePerKey) {
  Payload graph;
  const ValueId x = graph.define_input(fp32({2, 4}));
  const ValueId filter = graph.define_value(weight({4, 4}, "w"));
  const ValueId bias = graph.define_value(weight({4}, "b"));
  const ValueId addend = graph.define_value(weight({4}, "b"));
  const ValueId h = graph.define_value(fp32({2, 4}));
  const ValueId y = graph.define_output(fp32({2, 4}));
  graph.add(FullyConnected{x, filter, bias, h, true, Range{-1, 1}});
  graph.add(Binary{BinaryKind::kSubtract, h, addend, y, {}});
  const PayloadReader payload(graph.serialize());

  const auto* constants = payload.graph().constant_data();
  ASSERT_EQ(constants->size(), 3u);
  EXPECT_EQ(constants->Get(0)->named_key(), nullptr);
  EXPECT_EQ(constants->Get(1)->named_key()->str(), "w");
  EXPECT_EQ(constants->Get(1)->offset(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(constants->Get(1)->size(), 64u);
  EXPECT_EQ(constants->Get(2)->named_key()->str(), "b");
  const auto index = [&](ValueId id) {
    return payload.value(id).xvalue_union_as_XNNTensorValue()->constant_buffer_idx();
  };
  EXPECT_EQ(index(filter), 1u);
  EXPECT_EQ(index(bias), 2u);
  EXPECT_EQ(index(addend), 2u);

  const auto* node = payload.node(0).xnode_union_as_XNNFullyConnected();
  EXPECT_EQ(node->input1_id(), x);
  EXPECT_EQ(node->filter_id(), filter);
  EXPECT_EQ(node->bias_id(), bias);
  EXPECT_EQ(node->output_id(), h);
  EXPECT_EQ(node->flags(), 1u);
}

TEST(XnnPayload, UnaryKinds) {
  const std::vector<std::pair<UnaryKind, fb::XNodeUnion>> kinds{
      {UnaryKind::kAbs, fb::XNodeUnion::XNNAbs},
      {UnaryKind::kCeiling, fb::XNodeUnion::XNNCeiling},
      {UnaryKind::kConvert, fb::XNodeUnion::XNNConvert},
      {UnaryKind::kCopy, fb::XNodeUnion::XNNCopy},
      {UnaryKind::kCos, fb::XNodeUnion::XNNCos},
      {UnaryKind::kExp, fb::XNodeUnion::XNNExp},
      {UnaryKind::kFloor, fb::XNodeUnion::XNNFloor},
      {UnaryKind::kGelu, fb::XNodeUnion::XNNGelu},
      {UnaryKind::kHardswish, fb::XNodeUnion::XNNHardswish},
      {UnaryKind::kLog, fb::XNodeUnion::XNNLog},
      {UnaryKind::kNegate, fb::XNodeUnion::XNNNegate},
      {UnaryKind::kReciprocalSquareRoot, fb::XNodeUnion::XNNReciprocalSquareRoot},
      {UnaryKind::kSigmoid, fb::XNodeUnion::XNNSigmoid},
      {UnaryKind::kSin, fb::XNodeUnion::XNNSin},
      {UnaryKind::kSoftmax, fb::XNodeUnion::XNNSoftmax},
      {UnaryKind::kSquare, fb::XNodeUnion::XNNSquare},
      {UnaryKind::kSquareRoot, fb::XNodeUnion::XNNSquareRoot},
      {UnaryKind::kTanh, fb::XNodeUnion::XNNTanh},
  };
  for (const auto& [kind, serialised] : kinds) {
    const PayloadReader payload = single({4}, {4}, [kind = kind](Payload&, ValueId x, ValueId y) {
      return Unary{kind, x, y};
    });
    EXPECT_EQ(payload.node().xnode_union_type(), serialised);
    const auto* node = static_cast<const fb::_XNNNode1x1*>(payload.node().xnode_union());
    EXPECT_EQ(node->input_id(), 0u);
    EXPECT_EQ(node->output_id(), 1u);
    EXPECT_EQ(node->flags(), 0u);
  }
}

TEST(XnnPayload, ActivationsWithParameters) {
  const PayloadReader clamp = single({4}, {4}, [](Payload&, ValueId x, ValueId y) {
    return Clamp{x, y, {-1, 6}};
  });
  EXPECT_NE(clamp.node().xnode_union_as_XNNClamp(), nullptr);
  EXPECT_EQ(clamp.node().output_min_max()->output_max(), 6.0f);
  const PayloadReader leaky = single({4}, {4}, [](Payload&, ValueId x, ValueId y) {
    return LeakyRelu{x, y, 0.25f};
  });
  EXPECT_EQ(leaky.node().xnode_union_as_XNNLeakyReLU()->negative_slope(), 0.25f);
  const PayloadReader elu = single({4}, {4}, [](Payload&, ValueId x, ValueId y) {
    return Elu{x, y, 1.5f};
  });
  EXPECT_EQ(elu.node().xnode_union_as_XNNELU()->alpha(), 1.5f);
}

TEST(XnnPayload, BinaryKinds) {
  const std::vector<std::pair<BinaryKind, fb::XNodeUnion>> kinds{
      {BinaryKind::kAdd, fb::XNodeUnion::XNNAdd},
      {BinaryKind::kSubtract, fb::XNodeUnion::XNNSubtract},
      {BinaryKind::kMultiply, fb::XNodeUnion::XNNMultiply},
      {BinaryKind::kDivide, fb::XNodeUnion::XNNDiv},
      {BinaryKind::kMinimum, fb::XNodeUnion::XNNMinimum},
      {BinaryKind::kMaximum, fb::XNodeUnion::XNNMaximum},
      {BinaryKind::kPRelu, fb::XNodeUnion::XNNPReLU},
  };
  for (const auto& [kind, serialised] : kinds) {
    const PayloadReader payload = single({4}, {4}, [kind = kind](Payload& g, ValueId x, ValueId y) {
      return Binary{kind, x, g.define_value(weight({4}, "k")), y, {}};
    });
    EXPECT_EQ(payload.node().xnode_union_type(), serialised);
    const auto* node = static_cast<const fb::_XNNNode2x1*>(payload.node().xnode_union());
    EXPECT_EQ(node->input1_id(), 0u);
    EXPECT_EQ(node->input2_id(), 2u);
    EXPECT_EQ(node->output_id(), 1u);
    EXPECT_EQ(node->flags(), 0u);
  }
}

TEST(XnnPayload, Convolutions) {
  const PayloadReader conv =
      single({1, 8, 9, 4}, {1, 4, 4, 6}, [](Payload& g, ValueId x, ValueId y) {
        const ValueId filter = g.define_value(weight({6, 3, 5, 2}, "w"));
        const ValueId bias = g.define_value(weight({6}, "b"));
        return Conv{x, filter, bias, y, {1, 2, 3, 4}, {3, 5}, {2, 3}, {1, 2}, 2, 2, 3, Range{0, 6}};
      });
  const auto* node = conv.node().xnode_union_as_XNNConv2d();
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->padding_top(), 1u);
  EXPECT_EQ(node->padding_right(), 2u);
  EXPECT_EQ(node->padding_bottom(), 3u);
  EXPECT_EQ(node->padding_left(), 4u);
  EXPECT_EQ(node->kernel_height(), 3u);
  EXPECT_EQ(node->kernel_width(), 5u);
  EXPECT_EQ(node->subsampling_height(), 2u);
  EXPECT_EQ(node->subsampling_width(), 3u);
  EXPECT_EQ(node->dilation_height(), 1u);
  EXPECT_EQ(node->dilation_width(), 2u);
  EXPECT_EQ(node->groups(), 2u);
  EXPECT_EQ(node->group_input_channels(), 2u);
  EXPECT_EQ(node->group_output_channels(), 3u);
  EXPECT_EQ(node->input1_id(), 0u);
  EXPECT_EQ(node->filter_id(), 2u);
  EXPECT_EQ(node->bias_id(), 3u);
  EXPECT_EQ(node->output_id(), 1u);

  const PayloadReader depthwise =
      single({1, 8, 8, 4}, {1, 6, 6, 8}, [](Payload& g, ValueId x, ValueId y) {
        const ValueId filter = g.define_value(weight({1, 3, 3, 8}, "w"));
        return DepthwiseConv{x, filter, kNoValue, y, {}, {3, 3}, {1, 1}, {1, 1}, 4, 2, {}};
      });
  node = depthwise.node().xnode_union_as_XNNDepthwiseConv2d();
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->bias_id(), kNoValue);
  EXPECT_EQ(node->groups(), 4u);
  EXPECT_EQ(node->group_output_channels() / node->group_input_channels(), 2u);
  EXPECT_EQ(node->adjustment_height(), 0u);
  EXPECT_EQ(node->adjustment_width(), 0u);

  const PayloadReader transposed =
      single({1, 5, 5, 4}, {1, 10, 11, 6}, [](Payload& g, ValueId x, ValueId y) {
        const ValueId filter = g.define_value(weight({6, 3, 3, 4}, "w"));
        return ConvTranspose{x, filter, kNoValue, y, {1, 1, 1, 1}, {3, 3}, {2, 2}, {1, 1}, {0, 1},
                             1, 4,      6,        {}};
      });
  node = transposed.node().xnode_union_as_XNNConvTranspose2d();
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->adjustment_height(), 0u);
  EXPECT_EQ(node->adjustment_width(), 1u);
}

TEST(XnnPayload, Pools) {
  const PayloadReader max = single({1, 8, 8, 4}, {1, 4, 4, 4}, [](Payload&, ValueId x, ValueId y) {
    return MaxPool{x, y, {1, 0, 1, 0}, {3, 2}, {2, 1}, {1, 2}, Range{0, kInfinity}};
  });
  const auto* node = max.node().xnode_union_as_XNNMaxPooling2d();
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->pooling_height(), 3u);
  EXPECT_EQ(node->pooling_width(), 2u);
  EXPECT_EQ(node->stride_height(), 2u);
  EXPECT_EQ(node->stride_width(), 1u);
  EXPECT_EQ(node->dilation_width(), 2u);
  EXPECT_EQ(node->padding_top(), 1u);
  EXPECT_NE(max.node().output_min_max(), nullptr);

  const PayloadReader average =
      single({1, 8, 8, 4}, {1, 4, 4, 4}, [](Payload&, ValueId x, ValueId y) {
        return AvgPool{x, y, {}, {2, 2}, {2, 2}, {}};
      });
  EXPECT_EQ(average.node().xnode_union_as_XNNAvgPooling2d()->dilation_height(), 1u);
  EXPECT_EQ(average.node().xnode_union_as_XNNAvgPooling2d()->dilation_width(), 1u);

  for (bool keep : {true, false}) {
    const PayloadReader global =
        single({1, 8, 8, 4}, {1, 4}, [keep](Payload&, ValueId x, ValueId y) {
          return GlobalAvgPool{x, y, keep, {}};
        });
    EXPECT_EQ(global.node().xnode_union_as_XNNGlobalAvgPooling2d()->flags(), keep ? 64u : 0u);
  }

  const PayloadReader arg_max =
      single({1, 8, 8, 4}, {1, 4, 4, 4}, [](Payload& g, ValueId x, ValueId y) {
        const ValueId index = g.define_value({Datatype::kInt32, {1, 4, 4, 4}, {}, {}});
        return ArgMaxPool{x, y, index, {}, {2, 2}};
      });
  EXPECT_EQ(arg_max.node().xnode_union_as_XNNArgMaxPooling2d()->output_index_id(), 2u);
}

TEST(XnnPayload, Moves) {
  const PayloadReader transpose = single({2, 3, 4}, {4, 2, 3}, [](Payload&, ValueId x, ValueId y) {
    return Transpose{x, y, {2, 0, 1}};
  });
  EXPECT_EQ(elements(transpose.node().xnode_union_as_XNNStaticTranspose()->perm()),
            (std::vector<uint32_t>{2, 0, 1}));
  const PayloadReader reshape = single({2, 3, 4}, {6, 4}, [](Payload&, ValueId x, ValueId y) {
    return Reshape{x, y, {0, 4}};
  });
  EXPECT_EQ(elements(reshape.node().xnode_union_as_XNNStaticReshape()->new_shape()),
            (std::vector<uint32_t>{0, 4}));
  const PayloadReader slice = single({5, 4}, {2, 4}, [](Payload&, ValueId x, ValueId y) {
    return Slice{x, y, {1, 0}, {2, 4}};
  });
  EXPECT_EQ(elements(slice.node().xnode_union_as_XNNStaticSlice()->offsets()),
            (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(elements(slice.node().xnode_union_as_XNNStaticSlice()->sizes()),
            (std::vector<uint32_t>{2, 4}));
  const PayloadReader pad = single({5, 4}, {8, 4}, [](Payload&, ValueId x, ValueId y) {
    return ConstantPad{x, y, {1, 0}, {2, 0}, -1.5f};
  });
  EXPECT_EQ(elements(pad.node().xnode_union_as_XNNStaticConstantPad()->pre_paddings()),
            (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(pad.node().xnode_union_as_XNNStaticConstantPad()->padding_value(), -1.5f);
  const std::vector<std::pair<ResizeAlignment, uint32_t>> modes{{ResizeAlignment::kHalfPixel, 0},
                                                                {ResizeAlignment::kAlignCorners, 8},
                                                                {ResizeAlignment::kLegacy, 4}};
  for (const auto& [mode, flags] : modes) {
    const PayloadReader resize =
        single({1, 4, 4, 3}, {1, 8, 9, 3}, [mode = mode](Payload&, ValueId x, ValueId y) {
          return ResizeBilinear{x, y, {8, 9}, mode};
        });
    const auto* node = resize.node().xnode_union_as_XNNStaticResizeBilinear2D();
    EXPECT_EQ(node->new_height(), 8u);
    EXPECT_EQ(node->new_width(), 9u);
    EXPECT_EQ(node->flags(), flags);
  }
}

TEST(XnnPayload, Concatenations) {
  const std::vector<fb::XNodeUnion> kinds{
      fb::XNodeUnion::XNNConcatenate2, fb::XNodeUnion::XNNConcatenate3,
      fb::XNodeUnion::XNNConcatenate4, fb::XNodeUnion::XNNConcatenate5};
  for (uint32_t count = 2; count <= 5; ++count) {
    Payload graph;
    std::vector<ValueId> inputs;
    for (uint32_t i = 0; i < count; ++i) inputs.push_back(graph.define_input(fp32({2, 3})));
    const ValueId y = graph.define_output(fp32({2, 3 * count}));
    graph.add(Concatenate{inputs, y, 1});
    const PayloadReader payload(graph.serialize());
    EXPECT_EQ(payload.node().xnode_union_type(), kinds[count - 2]);
    const auto* node = static_cast<const fb::_XNNCat*>(payload.node().xnode_union());
    EXPECT_EQ(node->axis(), 1u);
    EXPECT_EQ(node->input2_id(), 1u);
    EXPECT_EQ(node->input3_id(), count > 2 ? 2 : kNoValue);
    EXPECT_EQ(node->input4_id(), count > 3 ? 3 : kNoValue);
    EXPECT_EQ(node->input5_id(), count > 4 ? 4 : kNoValue);
    EXPECT_EQ(node->input1_id(), 0u);
    EXPECT_EQ(node->output_id(), count);
    EXPECT_EQ(node->flags(), 0u);
  }
}

TEST(XnnPayload, BatchMatMul) {
  for (bool transpose_b : {false, true}) {
    const PayloadReader payload =
        single({1, 4, 4}, {3, 4, 4}, [transpose_b](Payload& g, ValueId x, ValueId y) {
          return BatchMatMul{x, g.define_value(weight({3, 4, 4}, "w")), y, transpose_b};
        });
    const auto* node = payload.node().xnode_union_as_XNNBatchMatrixMultiply();
    EXPECT_EQ(node->flags(), transpose_b);
    EXPECT_EQ(node->input1_id(), 0u);
    EXPECT_EQ(node->input2_id(), 2u);
    EXPECT_EQ(node->output_id(), 1u);
  }
}

TEST(XnnPayload, QuantisedValues) {
  Payload graph;
  const ValueId x = graph.define_input(fp32({5, 64}));
  const ValueId y = graph.define_output(fp32({5, 8}));
  const ValueId rows = graph.define_value({Datatype::kQDInt8, {5, 64}, {}, PerTokenDynamic{1}});
  const ValueId filter = graph.define_value({Datatype::kQBInt4,
                                             {8, 64},
                                             PayloadConstant{"w", 256},
                                             PerGroup{0, 32, PayloadConstant{"s", 32}}});
  const ValueId tensor = graph.define_value({Datatype::kQUInt8, {5, 8}, {}, PerTensor{0.5f, 128}});
  const ValueId other = graph.define_value({Datatype::kQCInt8,
                                            {8, 64},
                                            PayloadConstant{"v", 512},
                                            PerChannel{0, PayloadConstant{"t", 32}}});
  graph.add(Unary{UnaryKind::kConvert, x, rows});
  graph.add(FullyConnected{rows, filter, kNoValue, y, false, {}});
  graph.add(Unary{UnaryKind::kConvert, y, tensor});
  const PayloadReader payload(graph.serialize());

  const auto quantised = [&](ValueId id) {
    return payload.value(id).xvalue_union_as_XNNQuantizedTensorValue();
  };
  EXPECT_EQ(quantised(rows)->tensor_value()->datatype(), fb::XNNDatatype::xnn_datatype_qdint8);
  EXPECT_EQ(quantised(rows)->quant_params_as_PerTokenDynamicQuant()->num_nonbatch_dims(), 1);
  const auto* group = quantised(filter)->quant_params_as_PerChannelGroupQuant();
  EXPECT_EQ(group->group_size(), 32);
  EXPECT_EQ(group->num_scales(), 16u);
  EXPECT_EQ(payload.graph().constant_data()->Get(group->scale_buffer_idx())->named_key()->str(),
            "s");
  EXPECT_EQ(quantised(tensor)->quant_params_as_PerTensorQuant()->scale(), 0.5f);
  EXPECT_EQ(quantised(tensor)->quant_params_as_PerTensorQuant()->zero_point(), 128);
  const auto* channel = quantised(other)->quant_params_as_PerChannelQuant();
  EXPECT_EQ(channel->num_scales(), 8u);
  EXPECT_NE(channel->scale_buffer_idx(), 0u);
  EXPECT_NE(channel->scale(), nullptr);  // the runtime reads it before it looks at the index
}

TEST(XnnPayload, RefusesWhatTheRuntimeWould) {
  struct Fixture {
    Payload graph;
    ValueId x = graph.define_input(fp32({1, 8, 8, 4}));
    ValueId w = graph.define_value(weight({4, 3, 3, 4}, "w"));
    ValueId k = graph.define_value(weight({4}, "k"));
    ValueId y = graph.define_output(fp32({1, 8, 8, 4}));
  };
  const auto refused = [](const char* what, auto use) {
    Fixture f;
    EXPECT_THROW(use(f), InternalError) << what;
  };
  refused("no such value", [](Fixture& f) { f.graph.add(Unary{UnaryKind::kAbs, 99, f.y}); });
  refused("read before written", [](Fixture& f) {
    f.graph.add(Unary{UnaryKind::kAbs, f.y, f.graph.define_value(fp32({1}))});
  });
  refused("written twice", [](Fixture& f) {
    f.graph.add(Unary{UnaryKind::kAbs, f.x, f.y});
    f.graph.add(Unary{UnaryKind::kAbs, f.x, f.y});
  });
  refused("a written input", [](Fixture& f) { f.graph.add(Unary{UnaryKind::kAbs, f.x, f.x}); });
  refused("never written", [](Fixture& f) { f.graph.serialize(); });
  refused("input after output", [](Fixture& f) { f.graph.define_input(fp32({1})); });
  refused("rank 7", [](Fixture& f) { f.graph.define_value(fp32(std::vector<uint32_t>(7, 1))); });
  refused("quantisation missing", [](Fixture& f) {
    f.graph.define_value({Datatype::kQInt8, {1}, {}, {}});
  });
  refused("quantisation of another kind", [](Fixture& f) {
    f.graph.define_value({Datatype::kQInt8, {1}, {}, PerTokenDynamic{1}});
  });
  refused("range ignored", [](Fixture& f) {
    f.graph.add(Binary{BinaryKind::kMaximum, f.x, f.k, f.y, Range{0, 1}});
  });
  refused("empty range", [](Fixture& f) {
    f.graph.add(Binary{BinaryKind::kAdd, f.x, f.k, f.y, Range{1, 1}});
  });
  refused("NaN range", [](Fixture& f) { f.graph.add(Clamp{f.x, f.y, {NAN, 1}}); });
  refused("filter of other dims", [](Fixture& f) {
    f.graph.add(Conv{f.x, f.w, kNoValue, f.y, {}, {5, 5}, {1, 1}, {1, 1}, 1, 4, 4, {}});
  });
  refused("weight that is an operand, too", [](Fixture& f) {
    const ValueId h = f.graph.define_value(fp32({1, 8, 8, 4}));
    f.graph.add(Conv{f.x, f.w, f.k, h, {1, 1, 1, 1}, {3, 3}, {1, 1}, {1, 1}, 1, 4, 4, {}});
    f.graph.add(Binary{BinaryKind::kAdd, h, f.k, f.y, {}});
    f.graph.serialize();
  });
  refused("no permutation", [](Fixture& f) { f.graph.add(Transpose{f.x, f.y, {0, 1, 1, 2}}); });
  refused("two inferred dims", [](Fixture& f) { f.graph.add(Reshape{f.x, f.y, {0, 0, 4}}); });
  refused("slice of another rank", [](Fixture& f) {
    f.graph.add(Slice{f.x, f.y, {0, 0}, {1, 1}});
  });
  refused("one-part concatenation", [](Fixture& f) { f.graph.add(Concatenate{{f.x}, f.y, 0}); });
}

/// One input, and as many outputs as are asked for.
size_t serialised_bytes(size_t outputs) {
  Payload graph;
  const ValueId x = graph.define_input(fp32({2}));
  for (size_t i = 0; i < outputs; ++i)
    graph.add(Unary{UnaryKind::kAbs, x, graph.define_output(fp32({2}))});
  return graph.serialize().size();
}

TEST(XnnPayload, TakesAsManyExternalsAsTheRuntime) {
  EXPECT_GT(serialised_bytes(kMaxExternals - 1), 0u);
  EXPECT_THROW(serialised_bytes(kMaxExternals), InternalError);
}

/// A node on an image, some constants and a result, none of them of the wrong kind.
struct Places {
  Payload graph;
  ValueId image = graph.define_input(fp32({1, 8, 8, 4}));
  ValueId row = graph.define_input(fp32({4}));
  ValueId scalar = graph.define_input(fp32({}));
  ValueId filter = graph.define_value(weight({4, 3, 2, 4}, "f"));
  ValueId depthwise = graph.define_value(weight({1, 3, 2, 8}, "d"));
  ValueId matrix = graph.define_value(weight({3, 4}, "m"));
  ValueId half = graph.define_value({Datatype::kFp16, {4, 3, 2, 4}, PayloadConstant{"h", 192}, {}});
  ValueId indices = graph.define_value({Datatype::kInt32, {1, 4, 4, 4}, {}, {}});
  ValueId y = graph.define_output(fp32({1, 8, 8, 4}));
  ValueId z = graph.define_output(fp32({1}));
};

struct NodeCase {
  std::string what;
  bool taken;
  std::function<PayloadNode(const Places&)> make;
};

/// Nodes in pairs: what is taken, and what differs from it by as little as possible.
void expect_nodes(const std::vector<NodeCase>& cases) {
  for (const NodeCase& c : cases) {
    Places places;
    const auto add = [&] { places.graph.add(c.make(places)); };
    if (c.taken)
      EXPECT_NO_THROW(add()) << c.what;
    else
      EXPECT_THROW(add(), InternalError) << c.what;
  }
}

TEST(XnnPayload, WindowsThatTheRuntimeTakes) {
  struct Window {
    Pair kernel = {3, 2}, stride = {2, 2}, dilation = {1, 1};
    uint32_t groups = 1, inputs = 4, outputs = 4;
    Pair adjustment = {1, 1};
    std::optional<Range> range = std::nullopt;
  };
  const auto conv = [](Window w, ValueId Places::*in = &Places::image,
                       ValueId Places::*filter = &Places::filter) {
    return [=](const Places& p) -> PayloadNode {
      return Conv{p.*in,    p.*filter,  kNoValue, p.y,      {},        w.kernel,
                  w.stride, w.dilation, w.groups, w.inputs, w.outputs, w.range};
    };
  };
  const auto depthwise = [](Window w) {
    return [=](const Places& p) -> PayloadNode {
      return DepthwiseConv{p.image,  p.depthwise, kNoValue, p.y,       {},     w.kernel,
                           w.stride, w.dilation,  w.groups, w.outputs, w.range};
    };
  };
  const auto transposed = [](Window w, ValueId Places::*filter = &Places::filter) {
    return [=](const Places& p) -> PayloadNode {
      return ConvTranspose{p.image,  p.*filter, kNoValue,   p.y,          {},
                           w.kernel, w.stride,  w.dilation, w.adjustment, w.groups,
                           w.inputs, w.outputs, w.range};
    };
  };
  const auto max_pool = [](Window w, ValueId Places::*in = &Places::image) {
    return [=](const Places& p) -> PayloadNode {
      return MaxPool{p.*in, p.y, {}, w.kernel, w.stride, w.dilation, w.range};
    };
  };
  const auto avg_pool = [](Window w) {
    return [=](const Places& p) -> PayloadNode {
      return AvgPool{p.image, p.y, {}, w.kernel, w.stride, w.range};
    };
  };
  const auto arg_max = [](ValueId Places::*in, ValueId Places::*indices) {
    return [=](const Places& p) -> PayloadNode {
      return ArgMaxPool{p.*in, p.y, p.*indices, {}, {2, 2}};
    };
  };
  const Range empty{1, 1};
  expect_nodes({
      {"a convolution", true, conv({})},
      {"of no image", false, conv({}, &Places::row)},
      {"by what is not constant", false, conv({}, &Places::image, &Places::image)},
      {"of no height", false, conv({.kernel = {0, 2}})},
      {"of no width", false, conv({.kernel = {3, 0}})},
      {"without a stride", false, conv({.stride = {0, 1}})},
      {"without a stride in width", false, conv({.stride = {1, 0}})},
      {"without a dilation", false, conv({.dilation = {0, 1}})},
      {"without a dilation in width", false, conv({.dilation = {1, 0}})},
      {"without groups", false, conv({.groups = 0})},
      {"in other groups", false, conv({.groups = 2})},
      {"to fewer outputs", false, conv({.outputs = 2})},
      {"from fewer inputs", false, conv({.inputs = 2})},
      {"by a wider filter", false, conv({.kernel = {3, 3}})},
      {"by a higher filter", false, conv({.kernel = {2, 2}})},
      {"to no number", false, conv({.range = empty})},
      {"of each channel alone", true, depthwise({.groups = 4, .outputs = 2})},
      {"of more channels", false, depthwise({.groups = 4, .outputs = 4})},
      {"of each channel alone, to no number", false,
       depthwise({.groups = 4, .outputs = 2, .range = empty})},
      {"transposed", true, transposed({})},
      {"transposed, in other groups", false, transposed({.groups = 2})},
      {"transposed, of half floats", false, transposed({}, &Places::half)},
      {"extended by its stride", false, transposed({.adjustment = {2, 1}})},
      {"extended by its stride in width", false, transposed({.adjustment = {1, 2}})},
      {"a pool", true, max_pool({})},
      {"a pool of no image", false, max_pool({}, &Places::row)},
      {"a pool without a stride", false, max_pool({.stride = {1, 0}})},
      {"a pool of nothing", false, max_pool({.kernel = {0, 2}})},
      {"a pool without a dilation", false, max_pool({.dilation = {1, 0}})},
      {"a pool to no number", false, max_pool({.range = empty})},
      {"an average", true, avg_pool({})},
      {"an average of nothing", false, avg_pool({.kernel = {2, 0}})},
      {"an average to no number", false, avg_pool({.range = empty})},
      {"where the greatest are", true, arg_max(&Places::image, &Places::indices)},
      {"where the greatest of no image are", false, arg_max(&Places::row, &Places::indices)},
      {"where they are, as real numbers", false, arg_max(&Places::image, &Places::z)},
  });
}

TEST(XnnPayload, OtherNodesThatTheRuntimeTakes) {
  using Ids = std::vector<ValueId>;
  using Sizes = std::vector<uint32_t>;
  const auto transposed = [](Sizes order) {
    return [=](const Places& p) -> PayloadNode { return Transpose{p.image, p.y, order}; };
  };
  const auto reshaped = [](Sizes shape) {
    return [=](const Places& p) -> PayloadNode { return Reshape{p.image, p.y, shape}; };
  };
  const auto sliced = [](Sizes offsets, Sizes sizes) {
    return [=](const Places& p) -> PayloadNode { return Slice{p.image, p.y, offsets, sizes}; };
  };
  const auto padded = [](Sizes before, Sizes after) {
    return [=](const Places& p) -> PayloadNode {
      return ConstantPad{p.image, p.y, before, after, 0};
    };
  };
  const auto resized = [](ValueId Places::*in, Pair size) {
    return [=](const Places& p) -> PayloadNode {
      return ResizeBilinear{p.*in, p.y, size, ResizeAlignment::kHalfPixel};
    };
  };
  const auto joined = [](size_t parts, uint32_t axis) {
    return [=](const Places& p) -> PayloadNode {
      return Concatenate{Ids(parts, p.image), p.y, axis};
    };
  };
  const auto product = [](ValueId Places::*a, ValueId Places::*b) {
    return [=](const Places& p) -> PayloadNode { return BatchMatMul{p.*a, p.*b, p.y, false}; };
  };
  const auto connected = [](ValueId Places::*in, ValueId Places::*filter,
                            std::optional<Range> range = std::nullopt) {
    return [=](const Places& p) -> PayloadNode {
      return FullyConnected{p.*in, p.*filter, kNoValue, p.y, false, range};
    };
  };
  const auto averaged = [](ValueId Places::*in, std::optional<Range> range = std::nullopt) {
    return [=](const Places& p) -> PayloadNode { return GlobalAvgPool{p.*in, p.y, true, range}; };
  };
  const auto combined = [](BinaryKind kind, std::optional<Range> range) {
    return [=](const Places& p) -> PayloadNode { return Binary{kind, p.image, p.row, p.y, range}; };
  };
  const auto clamped = [](Range range) {
    return [=](const Places& p) -> PayloadNode { return Clamp{p.image, p.y, range}; };
  };
  const auto sloped = [](float slope) {
    return [=](const Places& p) -> PayloadNode { return LeakyRelu{p.image, p.y, slope}; };
  };
  const auto exponential = [](float alpha) {
    return [=](const Places& p) -> PayloadNode { return Elu{p.image, p.y, alpha}; };
  };
  const Range some{0, 1}, empty{1, 1};
  expect_nodes({
      {"a transpose", true, transposed({3, 1, 2, 0})},
      {"a transpose of fewer axes", false, transposed({1, 0})},
      {"a transpose without the first axis", false, transposed({1, 1, 2, 3})},
      {"a transpose to an axis that is not there", false, transposed({0, 1, 2, 4})},
      {"six axes", true, reshaped({1, 1, 1, 8, 8, 4})},
      {"seven axes", false, reshaped({1, 1, 1, 1, 8, 8, 4})},
      {"one size to be found", true, reshaped({0, 4})},
      {"two sizes to be found", false, reshaped({0, 0})},
      {"a slice", true, sliced({0, 1, 0, 0}, {1, 2, 0, 4})},
      {"a slice of nothing", false, sliced({0, 1, 1, 0}, {1, 2, 0, 4})},
      {"a slice of nothing from the first axis", false, sliced({1, 0, 0, 0}, {0, 2, 1, 4})},
      {"fewer offsets", false, sliced({0, 1}, {1, 2, 1, 4})},
      {"fewer sizes", false, sliced({0, 1, 0, 0}, {1, 2})},
      {"padding", true, padded({0, 1, 0, 0}, {0, 0, 1, 0})},
      {"padding before fewer axes", false, padded({0, 1}, {0, 0, 1, 0})},
      {"padding behind fewer axes", false, padded({0, 1, 0, 0}, {0, 0})},
      {"an image of another size", true, resized(&Places::image, {4, 4})},
      {"an image of no height", false, resized(&Places::image, {0, 4})},
      {"an image of no width", false, resized(&Places::image, {4, 0})},
      {"a row of another size", false, resized(&Places::row, {4, 4})},
      {"one part", false, joined(1, 0)},
      {"two parts", true, joined(2, 3)},
      {"five parts", true, joined(5, 0)},
      {"six parts", false, joined(6, 0)},
      {"along an axis that is not there", false, joined(2, 4)},
      {"a product", true, product(&Places::image, &Places::matrix)},
      {"a product of a row", false, product(&Places::row, &Places::matrix)},
      {"a product with a row", false, product(&Places::image, &Places::row)},
      {"rows times weights", true, connected(&Places::row, &Places::matrix)},
      {"a number times weights", false, connected(&Places::scalar, &Places::matrix)},
      {"rows times an image", false, connected(&Places::row, &Places::filter)},
      {"rows times weights, to no number", false, connected(&Places::row, &Places::matrix, empty)},
      {"a mean", true, averaged(&Places::image)},
      {"a mean of a row", false, averaged(&Places::row)},
      {"a mean to no number", false, averaged(&Places::image, empty)},
      {"a sum in a range", true, combined(BinaryKind::kAdd, some)},
      {"a sum to no number", false, combined(BinaryKind::kAdd, empty)},
      {"the least", true, combined(BinaryKind::kMinimum, std::nullopt)},
      {"the least in a range", false, combined(BinaryKind::kMinimum, some)},
      {"the greatest in a range", false, combined(BinaryKind::kMaximum, some)},
      {"a PReLU in a range", false, combined(BinaryKind::kPRelu, some)},
      {"a clamp to one number", true, clamped(empty)},
      {"a clamp to none", false, clamped({1, 0})},
      {"a slope", true, sloped(-2)},
      {"a slope without end", false, sloped(kInfinity)},
      {"no slope at all", false, sloped(NAN)},
      {"an exponential", true, exponential(2)},
      {"an exponential without end", false, exponential(-kInfinity)},
  });
}

TEST(XnnPayload, ValuesThatTheRuntimeTakes) {
  const PayloadConstant data{"w", 4};
  const PerTensor tensor{0.5f, 0};
  const PerChannel channel{0, {"s", 4}};
  const PerGroup group{0, 32, {"s", 2}};
  const PerTokenDynamic token{1};
  const std::vector<PayloadQuantisation> all = {std::monostate(), tensor, channel, group, token};
  // The only quantisation that goes with each datatype, as an index into those above.
  const std::pair<Datatype, size_t> own[] = {
      {Datatype::kFp32, 0},   {Datatype::kFp16, 0},   {Datatype::kInt32, 0},
      {Datatype::kBf16, 0},   {Datatype::kQInt8, 1},  {Datatype::kQUInt8, 1},
      {Datatype::kQInt32, 1}, {Datatype::kQCInt8, 2}, {Datatype::kQCInt32, 2},
      {Datatype::kQCInt4, 2}, {Datatype::kQBInt4, 3}, {Datatype::kQDInt8, 4}};
  for (const auto& [datatype, index] : own) {
    for (size_t i = 0; i < all.size(); ++i) {
      Payload graph;
      const auto define = [&] { graph.define_value({datatype, {1}, {}, all[i]}); };
      if (i == index)
        EXPECT_NO_THROW(define()) << static_cast<int>(datatype);
      else
        EXPECT_THROW(define(), InternalError) << static_cast<int>(datatype) << " as " << i;
    }
  }
  Payload graph;
  EXPECT_NO_THROW(graph.define_value(fp32({1, 1, 1, 1, 1, 1})));
  EXPECT_THROW(graph.define_value({Datatype::kQDInt8, {1}, data, token}), InternalError);
  EXPECT_THROW(graph.define_input(weight({1}, "w")), InternalError);
  EXPECT_THROW(graph.define_output(weight({1}, "w")), InternalError);
  EXPECT_THROW(graph.value(99), InternalError);
}

/// Two readers of a constant, of one kind or of both.
TEST(XnnPayload, AConstantIsPackedOrReadAsItIs) {
  const auto serialised = [](bool packed, bool read) {
    Payload graph;
    const ValueId x = graph.define_input(fp32({2, 4}));
    const ValueId w = graph.define_value(weight({4, 4}, "w"));
    const ValueId bias = graph.define_value(weight({4}, "b"));
    const ValueId y = graph.define_output(fp32({2, 4})), z = graph.define_output(fp32({2, 4}));
    const ValueId other = graph.define_value(weight({4}, "o"));
    graph.add(FullyConnected{x, w, packed ? bias : other, y, false, {}});
    graph.add(Binary{BinaryKind::kAdd, x, read ? bias : x, z, {}});
    return graph.serialize().size();
  };
  EXPECT_GT(serialised(true, false), 0u);
  EXPECT_GT(serialised(false, true), 0u);
  EXPECT_THROW(serialised(true, true), InternalError);
}

/// All of one input and one output begin with the same fields, if not at the same places.
TEST(XnnPayload, NodesReadTheirInputsAndWriteTheirOutputs) {
  const auto ids = [](const auto* node) { return std::pair(node->input_id(), node->output_id()); };
  const auto of = [](auto make) { return single({1, 8, 8, 4}, {1, 8, 8, 4}, make); };
  const std::pair<ValueId, ValueId> expected{0, 1};
  const auto x = [&](auto node) {
    return of([node](Payload&, ValueId in, ValueId out) mutable {
      node.input = in;
      node.output = out;
      return node;
    });
  };
  EXPECT_EQ(ids(x(Clamp{0, 0, {0, 1}}).node().xnode_union_as_XNNClamp()), expected);
  EXPECT_EQ(ids(x(LeakyRelu{0, 0, 1}).node().xnode_union_as_XNNLeakyReLU()), expected);
  EXPECT_EQ(ids(x(Elu{0, 0, 1}).node().xnode_union_as_XNNELU()), expected);
  EXPECT_EQ(ids(x(GlobalAvgPool{0, 0, true, {}}).node().xnode_union_as_XNNGlobalAvgPooling2d()),
            expected);
  EXPECT_EQ(ids(x(Transpose{0, 0, {0, 2, 1, 3}}).node().xnode_union_as_XNNStaticTranspose()),
            expected);
  EXPECT_EQ(ids(x(Reshape{0, 0, {1, 64, 4}}).node().xnode_union_as_XNNStaticReshape()), expected);
  EXPECT_EQ(ids(x(Slice{0, 0, {0, 0, 0, 0}, {1, 1, 1, 1}}).node().xnode_union_as_XNNStaticSlice()),
            expected);
  EXPECT_EQ(ids(x(ConstantPad{0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}, 0})
                    .node()
                    .xnode_union_as_XNNStaticConstantPad()),
            expected);
  EXPECT_EQ(ids(x(ResizeBilinear{0, 0, {4, 4}, ResizeAlignment::kHalfPixel})
                    .node()
                    .xnode_union_as_XNNStaticResizeBilinear2D()),
            expected);
  EXPECT_EQ(
      ids(x(MaxPool{0, 0, {}, {2, 2}, {1, 1}, {1, 1}, {}}).node().xnode_union_as_XNNMaxPooling2d()),
      expected);
}

TEST(XnnPayload, ArgMaxPoolsHaveTheirPadding) {
  const PayloadReader payload =
      single({1, 8, 8, 4}, {1, 4, 4, 4}, [](Payload& g, ValueId x, ValueId y) {
        const ValueId index = g.define_value({Datatype::kInt32, {1, 4, 4, 4}, {}, {}});
        return ArgMaxPool{x, y, index, {1, 2, 3, 4}, {5, 6}};
      });
  const auto* node = payload.node().xnode_union_as_XNNArgMaxPooling2d();
  EXPECT_EQ(node->padding_top(), 1u);
  EXPECT_EQ(node->padding_right(), 2u);
  EXPECT_EQ(node->padding_bottom(), 3u);
  EXPECT_EQ(node->padding_left(), 4u);
  EXPECT_EQ(node->pooling_height(), 5u);
  EXPECT_EQ(node->pooling_width(), 6u);
  EXPECT_EQ(node->input_id(), 0u);
  EXPECT_EQ(node->output_value_id(), 1u);
}

/// Inputs are counted first, then outputs.
TEST(XnnPayload, OutputsAreNumberedBehindTheInputs) {
  Payload graph;
  const ValueId x = graph.define_input(fp32({2}));
  const ValueId y = graph.define_output(fp32({2})), z = graph.define_output(fp32({2}));
  graph.add(Unary{UnaryKind::kAbs, x, y});
  graph.add(Unary{UnaryKind::kAbs, x, z});
  const PayloadReader payload(graph.serialize());
  const auto external = [&](ValueId id) {
    return payload.value(id).xvalue_union_as_XNNTensorValue()->external_id();
  };
  EXPECT_EQ(external(x), 0u);
  EXPECT_EQ(external(y), 1u);
  EXPECT_EQ(external(z), 2u);
}

/// Inline constants would be found behind the flatbuffer, at a multiple of 16.
TEST(XnnPayload, TheEndIsPadded) {
  for (uint32_t rank = 1; rank <= 6; ++rank) {
    const std::vector<uint32_t> dims(rank, 2);
    const PayloadReader payload = single(dims, dims, [](Payload&, ValueId x, ValueId y) {
      return Elu{x, y, 1};
    });
    const uint32_t end = 32 + payload.flatbuffer_size();
    EXPECT_EQ(payload.constants_offset(), (end + 15) / 16 * 16);
    EXPECT_EQ(payload.bytes().size(), payload.constants_offset());
  }
}

}  // namespace
}  // namespace layline::xnnpack
