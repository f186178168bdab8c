// Random instances of every core op and random relayouts, for tests of laws that hold for all ops.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace layline {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int one_in) { return between(1, one_in) == 1; }
  void shuffle(auto& items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<size_t>(between(0, static_cast<int64_t>(i) - 1))]);
  }

 private:
  std::mt19937 engine_;
};

/// One node on graph inputs, and tensors for them: small integers, so that sums are exact.
struct OpInstance {
  std::unique_ptr<Graph> graph;
  Node* node = nullptr;
  std::vector<Tensor> operands;
};

class RandomOps {
 public:
  enum class Types { plain, some_quantised };
  explicit RandomOps(uint32_t seed, Types types = Types::plain) : random_(seed), types_(types) {}
  Random& random() { return random_; }

  int64_t size() {
    constexpr int64_t kSizes[] = {1, 1, 2, 3, 4, 6, 8};
    return kSizes[random_.between(0, std::size(kSizes) - 1)];
  }
  Shape shape(int64_t least_rank, int64_t greatest_rank) {
    Shape result(static_cast<size_t>(random_.between(least_rank, greatest_rank)));
    const bool equal = random_.chance(6);
    const int64_t same = random_.between(2, 3);
    for (Dim& dim : result) dim = equal ? same : size();
    while (element_count(result).value() > 200)
      result[static_cast<size_t>(random_.between(0, std::ssize(result) - 1))] = 2;
    return result;
  }

  /// Nullopt for an op that has no generator here.
  std::optional<OpInstance> instance(Op op) {
    if (is_elementwise(op)) return elementwise(op);
    switch (op) {
      case Op::expand: {
        const Shape to = shape(0, 4);
        return make(op, {{DType::f32, broadcastable_to(to)}}, ShapeAttrs{to});
      }
      case Op::slice:
        return slice();
      case Op::counted_slice:
        return counted_slice();
      case Op::concat:
        return concat();
      case Op::pad:
        return pad();
      case Op::roll: {
        const Shape x = shape(1, 4);
        RollAttrs attrs{axes(x), {}};
        for (size_t i = 0; i < attrs.axes.size(); ++i)
          attrs.shifts.push_back(random_.between(-3, 7));
        return make(op, {{DType::f32, x}}, attrs);
      }
      case Op::gather:
        return gather();
      case Op::gather_elements:
        return gather_elements();
      case Op::causal_attention:
        return causal_attention();
      case Op::scan:
        return scan();
      case Op::scatter:
        return scatter();
      case Op::scatter_elements:
      case Op::scatter_add:
        return scatter_elements(op);
      case Op::grid_sample:
        return grid_sample();
      case Op::linear: {
        const Shape x = shape(1, 4);
        const int64_t n = size();
        std::vector<TensorType> types = {{DType::f32, x}, {DType::f32, {n, x.back()}}};
        if (random_.chance(2)) types.push_back({DType::f32, {n}});
        return make(op, types, LinearAttrs{});
      }
      case Op::matmul:
        return matmul();
      case Op::conv:
      case Op::conv_transpose:
        return convolution(op);
      case Op::max_pool:
      case Op::avg_pool: {
        const Shape x = image();
        const Ints ones(x.size() - 2, 1);
        PoolAttrs attrs{ones, ones, ones, Ints(ones.size(), 0), Ints(ones.size(), 0), false, {}};
        for (size_t i = 0; i < ones.size(); ++i) {
          attrs.kernel[i] = random_.between(1, x[i + 1].value());
          attrs.stride[i] = random_.between(1, 2);
          attrs.low[i] = random_.between(0, attrs.kernel[i] - 1);
        }
        return make(op, {{DType::f32, x}}, attrs);
      }
      case Op::resize: {
        const Shape x = {size(), size(), size(), size()};
        const auto mode = random_.chance(2) ? ResizeMode::nearest : ResizeMode::bilinear;
        return make(op, {{DType::f32, x}},
                    ResizeAttrs{{random_.between(1, 5), random_.between(1, 5)},
                                {0.5, 0.75},
                                mode,
                                random_.chance(2)});
      }
      case Op::normalize: {
        const Shape x = shape(1, 4);
        return make(op, {{DType::f32, x}}, NormalizeAttrs{axes(x), 0.5, random_.chance(2)});
      }
      case Op::choose_scale:
      case Op::choose_zero_point: {
        const Shape x = shape(1, 4);
        ChooseAttrs attrs{axes(x)};
        attrs.eps = 0.5;
        attrs.balanced = random_.chance(2);
        return make(op, {{DType::f32, x}}, attrs);
      }
      case Op::flip:
      case Op::reduce_sum:
      case Op::reduce_mean:
      case Op::reduce_max:
      case Op::reduce_min:
      case Op::reduce_prod:
      case Op::reduce_any:
      case Op::reduce_all: {
        const Shape x = shape(1, 4);
        const bool logical = op == Op::reduce_any || op == Op::reduce_all;
        return make(op, {{logical ? DType::boolean : DType::f32, x}}, AxesAttrs{axes(x)});
      }
      case Op::argmax:
      case Op::argmin:
      case Op::argsort:
      case Op::softmax:
      case Op::log_softmax:
      case Op::cumsum: {
        const Shape x = shape(1, 4);
        return make(op, {{DType::f32, x}}, AxisAttrs{axis(x)});
      }
      default:
        return std::nullopt;
    }
  }

  /// A random order of the dims.
  Relayout permutation(const Shape& from) {
    Permutation order(from.size());
    std::iota(order.begin(), order.end(), 0);
    random_.shuffle(order);
    return Relayout::permute(from, order);
  }
  /// The same bytes in dims that are cut, merged and padded with unit dims at random.
  Relayout view(const Shape& from) { return Relayout::view(from, regrouped(digits_of(from))); }
  /// Digits of the dims in any order, read as any dims.
  Relayout digit_permutation(const Shape& from) {
    const Dims factors = digits_of(from);
    Permutation order(factors.size());
    std::iota(order.begin(), order.end(), 0);
    random_.shuffle(order);
    Dims moved;
    for (int i : order) moved.push_back(factors[static_cast<size_t>(i)]);
    return Relayout::from_factors(from, factors, order, regrouped(moved));
  }

  OpInstance make(Op op, std::vector<TensorType> types, Attributes attributes) {
    if (types_ == Types::some_quantised && random_.chance(4)) quantise(op, types, attributes);
    OpInstance instance{std::make_unique<Graph>("test"), nullptr, {}};
    std::vector<Value*> values;
    for (const TensorType& type : types) {
      values.push_back(instance.graph->add_input("x" + std::to_string(values.size()), type));
      Tensor tensor(type);
      for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_int(i, random_.between(-4, 4));
      instance.operands.push_back(std::move(tensor));
    }
    auto origin = std::make_shared<Origin>(Origin{std::string(name(op)), "", ""});
    instance.node = instance.graph->add(op, values, std::move(attributes), origin)->def();
    return instance;
  }

 private:
  /// Scales are powers of two, so that sums stay exact.
  Quantisation quantisation() {
    Quantisation result =
        per_tensor(DType::i8, 1.0f / static_cast<float>(1 << random_.between(0, 2)),
                   static_cast<int32_t>(random_.between(-3, 3)));
    return result;
  }
  /// One scale for each index of the first axis.
  Quantisation by_row(const Shape& shape) {
    Quantisation result = quantisation();
    result.zero_points.clear();
    result.scales.clear();
    result.dims.assign(shape.size(), 1);
    result.dims[0] = shape[0].value();
    for (int64_t i = 0; i < result.dims[0]; ++i)
      result.scales.push_back(1.0f / static_cast<float>(1 << random_.between(0, 3)));
    return result;
  }
  /// Gives an op that takes quantised operands such types.
  void quantise(Op op, std::vector<TensorType>& types, Attributes& attributes) {
    const bool movement = info(op).op_class == OpClass::movement;
    QuantisationRef* own = quantisation_of(attributes);
    if (is_dynamic(attributes) || (!movement && own == nullptr)) return;
    if (op == Op::quantize || op == Op::reinterpret) return;
    if (std::ranges::none_of(types, [](const TensorType& t) { return t.dtype == DType::f32; }))
      return;
    const bool contraction = info(op).op_class == OpClass::contraction && op != Op::matmul;
    const QuantisationRef shared = quantisation();
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i].dtype != DType::f32 || (contraction && i == 2)) continue;
      types[i].quantisation = movement                ? shared
                              : contraction && i == 1 ? QuantisationRef(by_row(types[i].shape))
                                                      : QuantisationRef(quantisation());
      types[i].dtype = DType::i8;
    }
    if (own && !movement && random_.chance(2)) *own = quantisation();
  }

  int64_t axis(const Shape& x) { return random_.between(0, std::ssize(x) - 1); }
  Ints axes(const Shape& x) {
    Ints result;
    for (int64_t a = 0; a < std::ssize(x); ++a)
      if (random_.chance(2)) result.push_back(a);
    return result;
  }
  Shape broadcastable_to(const Shape& to) {
    Shape result(to.begin() + random_.between(0, random_.chance(2) ? 0 : std::ssize(to)), to.end());
    for (Dim& dim : result)
      if (random_.chance(4)) dim = 1;
    return result;
  }
  Shape image() {
    Shape x = {size(), random_.between(1, 4)};
    if (random_.chance(2)) x.push_back(random_.between(1, 4));
    x.push_back(size());
    return x;
  }
  Dims digits_of(const Shape& from) {
    Dims result;
    for (const Dim& dim : from) {
      int64_t rest = dim.value();
      for (int64_t divisor = 2; divisor < rest; ++divisor) {
        if (rest % divisor != 0 || !random_.chance(2)) continue;
        result.push_back(divisor);
        rest /= divisor;
      }
      result.push_back(rest);
    }
    return result;
  }
  Shape regrouped(const Dims& digits) {
    Shape result;
    for (const Dim& digit : digits) {
      if (!result.empty() && random_.chance(3))
        result.back() = result.back() * digit;
      else
        result.push_back(digit);
      if (random_.chance(8)) result.push_back(1);
    }
    return result;
  }

  OpInstance elementwise(Op op) {
    const Shape to = shape(0, 4);
    const OpInfo& row = info(op);
    const bool logical = row.name.starts_with("logical");
    const bool integer = row.name.starts_with("bitwise") || row.name.ends_with("shift");
    std::vector<TensorType> types;
    for (int i = 0; i < row.min_operands; ++i)
      types.push_back({logical   ? DType::boolean
                       : integer ? DType::i32
                                 : DType::f32,
                       broadcastable_to(to)});
    if (op == Op::where) types[0].dtype = DType::boolean;
    if (op == Op::dequantize) types[0] = {DType::i8, to, quantisation()};
    if (op == Op::reinterpret) types[0] = {DType::i8, to, quantisation()};
    if (op == Op::quantize_by || op == Op::dequantize_by) {
      types[0] = {op == Op::quantize_by ? DType::f32 : DType::i8, to};
      types[2].dtype = DType::i64;
    }
    if (op == Op::prelu) types[0].shape = to;
    const Attributes known[] = {NoAttrs{},           BinaryAttrs{{-2, 6}},
                                ClampAttrs{{-2, 2}}, AlphaAttrs{0.5},
                                GeluAttrs{},         ConvertAttrs{DType::i32},
                                IntegerAttrs{},      QuantisationAttrs{quantisation()}};
    const auto* attributes = std::ranges::find(known, row.attributes, &Attributes::index);
    return make(op, types, attributes == std::end(known) ? known[0] : *attributes);
  }

  OpInstance slice() {
    const Shape x = shape(1, 4);
    SliceAttrs attrs;
    for (const Dim& dim : x) {
      const bool cut = random_.chance(2);
      const int64_t start = cut ? random_.between(0, dim.value() - 1) : 0;
      const int64_t step = cut && random_.chance(3) ? 2 : 1;
      attrs.start.push_back(start);
      attrs.step.push_back(step);
      const int64_t most = (dim.value() - start + step - 1) / step;
      attrs.size.push_back(cut ? random_.between(random_.chance(9) ? 0 : 1, most) : most);
    }
    return make(Op::slice, {{DType::f32, x}}, attrs);
  }
  OpInstance counted_slice() {
    const Shape x = shape(1, 4);
    CountedSliceAttrs attrs{axis(x), {}, {}};
    for (const Dim& dim : x) {
      attrs.start.push_back(random_.between(0, dim.value() - 1));
      attrs.size.push_back(random_.between(1, dim.value() - attrs.start.back()));
    }
    const int64_t count = attrs.size[static_cast<size_t>(attrs.axis)].value();
    OpInstance result = make(Op::counted_slice, {{DType::f32, x}, {DType::i64, {}}}, attrs);
    result.operands[1].set_int(0, count);
    return result;
  }
  OpInstance concat() {
    const Shape x = shape(1, 4);
    const int64_t along = axis(x);
    const bool equal = random_.chance(2);
    std::vector<TensorType> types = {{DType::f32, x}};
    for (int64_t i = random_.between(0, 2); i > 0; --i) {
      types.push_back(types[0]);
      if (!equal) types.back().shape[static_cast<size_t>(along)] = random_.chance(9) ? 0 : size();
    }
    return make(Op::concat, types, AxisAttrs{along});
  }
  OpInstance pad() {
    const Shape x = shape(1, 3);
    PadAttrs attrs{{}, {}, static_cast<PadMode>(random_.between(0, 3)), 9};
    for (const Dim& dim : x) {
      const int64_t most = attrs.mode == PadMode::constant ? 4 : dim.value() - 1;
      const bool padded = random_.chance(2);
      attrs.low.push_back(padded ? random_.between(0, most) : 0);
      attrs.high.push_back(padded ? random_.between(0, most) : 0);
    }
    return make(Op::pad, {{DType::f32, x}}, attrs);
  }
  void fill_indices(OpInstance& instance) {
    const auto along = static_cast<size_t>(instance.node->attrs<AxisAttrs>().axis);
    Tensor& indices = instance.operands[1];
    for (int64_t i = 0; i < indices.count(); ++i)
      indices.set_int(i, random_.between(0, instance.operands[0].dims()[along] - 1));
  }
  OpInstance gather() {
    const Shape data = shape(1, 4);
    OpInstance result =
        make(Op::gather, {{DType::f32, data}, {DType::i64, shape(0, 2)}}, AxisAttrs{axis(data)});
    fill_indices(result);
    return result;
  }
  OpInstance causal_attention() {
    const int64_t batch = random_.between(1, 2), features = random_.between(1, 3);
    const int64_t groups = random_.between(1, 2), heads = groups * random_.between(1, 2);
    const int64_t keys = random_.between(1, 4), queries = random_.between(1, keys);
    const TensorType cache{DType::f32, {batch, keys, groups, features}};
    OpInstance result =
        make(Op::causal_attention,
             {{DType::f32, {batch, queries, heads, features}}, cache, cache, {DType::i64, {}}},
             NoAttrs{});
    result.operands[3].set_int(0, random_.between(0, keys - queries));
    return result;
  }
  /// A running sum, and what is added to it.
  OpInstance scan() {
    const TensorType element{DType::f32, shape(0, 3)};
    TensorType sequence = element;
    sequence.shape.insert(sequence.shape.begin(), Dim(random_.between(1, 3)));
    auto body = std::make_shared<Graph>("step");
    Value* x = body->add_input("x", element);
    Value* sum = body->add_input("sum", element);
    Value* next = body->add(Op::add, {x, sum}, BinaryAttrs{}, nullptr);
    body->add_write(1, next);
    body->add_output("sums", next);
    body->add_output("old", sum);
    return make(Op::scan, {sequence, element},
                ScanAttrs{{std::move(body)}, random_.between(0, 2), random_.chance(2)});
  }
  /// Every place at most once: which of two updates comes last is a matter of order.
  OpInstance scatter() {
    const Shape data = shape(1, 4);
    const auto along = static_cast<size_t>(axis(data));
    Shape indices(data.size(), Dim(1)), updates = data;
    const int64_t length = data[along].value();
    indices[along] = updates[along] = random_.between(1, length);
    OpInstance result =
        make(Op::scatter, {{DType::f32, data}, {DType::i64, indices}, {DType::f32, updates}},
             AxisAttrs{static_cast<int64_t>(along)});
    for (int64_t i = 0; i < result.operands[1].count(); ++i)
      result.operands[1].set_int(i, length - 1 - i);
    return result;
  }
  /// Every place at most once along the axis: which of two updates comes last is a matter of order.
  OpInstance scatter_elements(Op op) {
    const Shape data = shape(1, 4);
    const int64_t along = axis(data);
    OpInstance result =
        make(op, {{DType::f32, data}, {DType::i64, data}, {DType::f32, data}}, AxisAttrs{along});
    Tensor& indices = result.operands[1];
    int64_t inner = 1, length = data[static_cast<size_t>(along)].value();
    for (size_t a = static_cast<size_t>(along) + 1; a < data.size(); ++a) inner *= data[a].value();
    for (int64_t i = 0; i < indices.count(); ++i)
      indices.set_int(i, length - 1 - i / inner % length);
    return result;
  }
  OpInstance grid_sample() {
    const Shape x = {size(), random_.between(1, 4), random_.between(1, 4), size()};
    return make(
        Op::grid_sample, {{DType::f32, x}, {DType::f32, {x[0], size(), size(), 2}}},
        GridSampleAttrs{random_.chance(2) ? ResizeMode::nearest : ResizeMode::bilinear,
                        static_cast<OutsideMode>(random_.between(0, 2)), random_.chance(2)});
  }
  OpInstance gather_elements() {
    const Shape data = shape(1, 4);
    const int64_t along = axis(data);
    Shape indices = data;
    for (Dim& dim : indices)
      if (random_.chance(4)) dim = random_.between(1, dim.value());
    indices[static_cast<size_t>(along)] = size();
    OpInstance result =
        make(Op::gather_elements, {{DType::f32, data}, {DType::i64, indices}}, AxisAttrs{along});
    fill_indices(result);
    return result;
  }
  OpInstance matmul() {
    const Shape batch = shape(0, 2);
    const int64_t m = size(), n = size(), k = size();
    const bool transposed = random_.chance(2);
    Shape a = broadcastable_to(batch), b = broadcastable_to(batch);
    a.insert(a.end(), {m, k});
    b.insert(b.end(), {transposed ? n : k, transposed ? k : n});
    return make(Op::matmul, {{DType::f32, a}, {DType::f32, b}}, MatmulAttrs{transposed});
  }
  OpInstance convolution(Op op) {
    const int64_t groups = random_.chance(2) ? random_.between(2, 4) : 1;
    Shape x = image();
    const Dim inputs = random_.between(1, 4), outputs = random_.between(1, 4) * groups;
    x.back() = inputs * groups;
    const size_t spatial = x.size() - 2;
    const Ints ones(spatial, 1), zeros(spatial, 0);
    Shape weight = {outputs};
    ConvAttrs conv{ones, ones, zeros, zeros, groups, {}};
    for (size_t i = 0; i < spatial; ++i) {
      weight.push_back(random_.between(1, x[i + 1].value()));
      conv.stride[i] = random_.between(1, 2);
      conv.low[i] = op == Op::conv ? random_.between(0, 2) : 0;
    }
    weight.push_back(inputs);
    std::vector<TensorType> types = {{DType::f32, x}, {DType::f32, weight}};
    if (random_.chance(2)) types.push_back({DType::f32, {outputs}});
    if (op == Op::conv) return make(op, types, conv);
    return make(op, types,
                ConvTransposeAttrs{conv.stride, conv.dilation, zeros, zeros, zeros, groups, {}});
  }

  Random random_;
  Types types_;
};

}  // namespace layline
