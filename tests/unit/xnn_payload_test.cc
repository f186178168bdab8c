#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "pte_reader.h"
#include "targets/xnnpack/payload.h"

namespace layline::xnn {
namespace {

namespace fb = fb_xnnpack;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Value fp32(std::vector<uint32_t> dims) { return {Datatype::kFp32, std::move(dims), {}, {}}; }

Value weight(std::vector<uint32_t> dims, std::string key) {
  uint64_t bytes = sizeof(float);
  for (uint32_t dim : dims) bytes *= dim;
  return {Datatype::kFp32, std::move(dims), Constant{std::move(key), bytes}, {}};
}

template <typename Vector>
auto elements(const Vector* vector) {
  return std::vector(vector->begin(), vector->end());
}

/// A graph with one input, one output and one node between them, read back.
template <typename MakeNode>
PayloadReader single(std::vector<uint32_t> in, std::vector<uint32_t> out, MakeNode make) {
  Graph graph;
  const ValueId x = graph.define_input(fp32(std::move(in)));
  const ValueId y = graph.define_output(fp32(std::move(out)));
  graph.add(make(graph, x, y));
  return PayloadReader(graph.serialize());
}

TEST(XnnPayload, HeaderAndExternals) {
  Graph graph;
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
  Graph graph;
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
    const PayloadReader payload = single({4}, {4}, [kind = kind](Graph&, ValueId x, ValueId y) {
      return Unary{kind, x, y};
    });
    EXPECT_EQ(payload.node().xnode_union_type(), serialised);
    const auto* node = static_cast<const fb::_XNNNode1x1*>(payload.node().xnode_union());
    EXPECT_EQ(node->input_id(), 0u);
    EXPECT_EQ(node->output_id(), 1u);
  }
}

TEST(XnnPayload, ActivationsWithParameters) {
  const PayloadReader clamp = single({4}, {4}, [](Graph&, ValueId x, ValueId y) {
    return Clamp{x, y, {-1, 6}};
  });
  EXPECT_NE(clamp.node().xnode_union_as_XNNClamp(), nullptr);
  EXPECT_EQ(clamp.node().output_min_max()->output_max(), 6.0f);
  const PayloadReader leaky = single({4}, {4}, [](Graph&, ValueId x, ValueId y) {
    return LeakyRelu{x, y, 0.25f};
  });
  EXPECT_EQ(leaky.node().xnode_union_as_XNNLeakyReLU()->negative_slope(), 0.25f);
  const PayloadReader elu = single({4}, {4}, [](Graph&, ValueId x, ValueId y) {
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
    const PayloadReader payload = single({4}, {4}, [kind = kind](Graph& g, ValueId x, ValueId y) {
      return Binary{kind, x, g.define_value(weight({4}, "k")), y, {}};
    });
    EXPECT_EQ(payload.node().xnode_union_type(), serialised);
    const auto* node = static_cast<const fb::_XNNNode2x1*>(payload.node().xnode_union());
    EXPECT_EQ(node->input1_id(), 0u);
    EXPECT_EQ(node->input2_id(), 2u);
    EXPECT_EQ(node->output_id(), 1u);
  }
}

TEST(XnnPayload, Convolutions) {
  const PayloadReader conv = single({1, 8, 9, 4}, {1, 4, 4, 6}, [](Graph& g, ValueId x, ValueId y) {
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
      single({1, 8, 8, 4}, {1, 6, 6, 8}, [](Graph& g, ValueId x, ValueId y) {
        const ValueId filter = g.define_value(weight({1, 3, 3, 8}, "w"));
        return DepthwiseConv{x, filter, kNoValue, y, {}, {3, 3}, {1, 1}, {1, 1}, 4, 2, {}};
      });
  node = depthwise.node().xnode_union_as_XNNDepthwiseConv2d();
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->bias_id(), kNoValue);
  EXPECT_EQ(node->groups(), 4u);
  EXPECT_EQ(node->group_output_channels() / node->group_input_channels(), 2u);

  const PayloadReader transposed =
      single({1, 5, 5, 4}, {1, 10, 11, 6}, [](Graph& g, ValueId x, ValueId y) {
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
  const PayloadReader max = single({1, 8, 8, 4}, {1, 4, 4, 4}, [](Graph&, ValueId x, ValueId y) {
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
      single({1, 8, 8, 4}, {1, 4, 4, 4}, [](Graph&, ValueId x, ValueId y) {
        return AvgPool{x, y, {}, {2, 2}, {2, 2}, {}};
      });
  EXPECT_EQ(average.node().xnode_union_as_XNNAvgPooling2d()->dilation_height(), 1u);

  for (bool keep : {true, false}) {
    const PayloadReader global = single({1, 8, 8, 4}, {1, 4}, [keep](Graph&, ValueId x, ValueId y) {
      return GlobalAvgPool{x, y, keep, {}};
    });
    EXPECT_EQ(global.node().xnode_union_as_XNNGlobalAvgPooling2d()->flags(), keep ? 64u : 0u);
  }

  const PayloadReader arg_max =
      single({1, 8, 8, 4}, {1, 4, 4, 4}, [](Graph& g, ValueId x, ValueId y) {
        const ValueId index = g.define_value({Datatype::kInt32, {1, 4, 4, 4}, {}, {}});
        return ArgMaxPool{x, y, index, {}, {2, 2}};
      });
  EXPECT_EQ(arg_max.node().xnode_union_as_XNNArgMaxPooling2d()->output_index_id(), 2u);
}

TEST(XnnPayload, Moves) {
  const PayloadReader transpose = single({2, 3, 4}, {4, 2, 3}, [](Graph&, ValueId x, ValueId y) {
    return Transpose{x, y, {2, 0, 1}};
  });
  EXPECT_EQ(elements(transpose.node().xnode_union_as_XNNStaticTranspose()->perm()),
            (std::vector<uint32_t>{2, 0, 1}));
  const PayloadReader reshape = single({2, 3, 4}, {6, 4}, [](Graph&, ValueId x, ValueId y) {
    return Reshape{x, y, {0, 4}};
  });
  EXPECT_EQ(elements(reshape.node().xnode_union_as_XNNStaticReshape()->new_shape()),
            (std::vector<uint32_t>{0, 4}));
  const PayloadReader slice = single({5, 4}, {2, 4}, [](Graph&, ValueId x, ValueId y) {
    return Slice{x, y, {1, 0}, {2, 4}};
  });
  EXPECT_EQ(elements(slice.node().xnode_union_as_XNNStaticSlice()->offsets()),
            (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(elements(slice.node().xnode_union_as_XNNStaticSlice()->sizes()),
            (std::vector<uint32_t>{2, 4}));
  const PayloadReader pad = single({5, 4}, {8, 4}, [](Graph&, ValueId x, ValueId y) {
    return ConstantPad{x, y, {1, 0}, {2, 0}, -1.5f};
  });
  EXPECT_EQ(elements(pad.node().xnode_union_as_XNNStaticConstantPad()->pre_paddings()),
            (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(pad.node().xnode_union_as_XNNStaticConstantPad()->padding_value(), -1.5f);
  const std::vector<std::pair<ResizeMode, uint32_t>> modes{
      {ResizeMode::kHalfPixel, 0}, {ResizeMode::kAlignCorners, 8}, {ResizeMode::kLegacy, 4}};
  for (const auto& [mode, flags] : modes) {
    const PayloadReader resize =
        single({1, 4, 4, 3}, {1, 8, 9, 3}, [mode = mode](Graph&, ValueId x, ValueId y) {
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
    Graph graph;
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
    EXPECT_EQ(node->input5_id(), count > 4 ? 4 : kNoValue);
    EXPECT_EQ(node->output_id(), count);
  }
}

TEST(XnnPayload, BatchMatMul) {
  for (bool transpose_b : {false, true}) {
    const PayloadReader payload =
        single({1, 4, 4}, {3, 4, 4}, [transpose_b](Graph& g, ValueId x, ValueId y) {
          return BatchMatMul{x, g.define_value(weight({3, 4, 4}, "w")), y, transpose_b};
        });
    EXPECT_EQ(payload.node().xnode_union_as_XNNBatchMatrixMultiply()->flags(), transpose_b);
  }
}

TEST(XnnPayload, QuantisedValues) {
  Graph graph;
  const ValueId x = graph.define_input(fp32({5, 64}));
  const ValueId y = graph.define_output(fp32({5, 8}));
  const ValueId rows = graph.define_value({Datatype::kQDInt8, {5, 64}, {}, PerTokenDynamic{1}});
  const ValueId filter = graph.define_value(
      {Datatype::kQBInt4, {8, 64}, Constant{"w", 256}, PerGroup{0, 32, Constant{"s", 32}}});
  const ValueId tensor = graph.define_value({Datatype::kQUInt8, {5, 8}, {}, PerTensor{0.5f, 128}});
  const ValueId other = graph.define_value(
      {Datatype::kQCInt8, {8, 64}, Constant{"v", 512}, PerChannel{0, Constant{"t", 32}}});
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
    Graph graph;
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
  refused("too many externals", [](Fixture& f) {
    f.graph.add(Unary{UnaryKind::kAbs, f.x, f.y});
    for (int i = 0; i < 4096; ++i)
      f.graph.add(Unary{UnaryKind::kAbs, f.x, f.graph.define_output(fp32({1, 8, 8, 4}))});
    f.graph.serialize();
  });
}

}  // namespace
}  // namespace layline::xnn
