// Random graphs, for properties that hold of all of them. Sizes are small and repeat, so that axes
// which are mistaken for each other still type-check; relayouts are frequent and often undo each
// other, as in exported models.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/tensor.h"

namespace layline {

class RandomGraph {
 public:
  /// The seed decides everything; `ops` is how many steps are tried.
  RandomGraph(uint32_t seed, int ops) : random_(seed), graph_("random"), build_(graph_, nullptr) {
    for (int64_t i = between(1, 3); i > 0; --i) {
      Value* x = graph_.add_input(fmt::format("x{}", i), {DType::f32, random_shape()});
      add(x, {.bound = 1, .exact = true});
    }
    for (int i = 0; i < ops; ++i) step();
    for (int64_t i = between(0, 2); i > 0; --i) output(pick());
    // Whatever nobody reads, so that little of the graph is dead.
    for (Value* value : values_)
      if (value->uses().empty() && value->output_uses() == 0 && value->def() != nullptr)
        output(value);
    if (graph_.outputs().empty()) output(values_.back());
  }

  Graph& graph() { return graph_; }

  /// Inputs for the graph: one tensor each, elements between -1 and 1.
  std::vector<Tensor> inputs() {
    std::vector<Tensor> result;
    for (const GraphInput& input : graph_.inputs())
      result.push_back(random_tensor(input.value->shape(), -1, 1));
    return result;
  }

 private:
  /// What is known about a value: no element is larger; and whether it is made of elements of the
  /// inputs without rounding, so that comparisons of it have one answer.
  struct Known {
    double bound;
    bool exact;
  };

  static constexpr int64_t kMostElements = 3000;

  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool chance(int64_t one_in) { return between(1, one_in) == 1; }
  int64_t size() {
    constexpr int64_t kSizes[] = {1, 2, 2, 3, 4, 4, 6, 8};
    return kSizes[between(0, std::ssize(kSizes) - 1)];
  }
  Shape random_shape() {
    if (chance(2)) return {between(1, 2), size(), between(2, 6), between(2, 6)};  // an image
    Shape shape;
    for (int64_t rank = between(1, 4); rank > 0; --rank) shape.push_back(size());
    if (element_count(shape).value() > kMostElements) shape.pop_back();
    return shape;
  }
  Tensor random_tensor(const Shape& shape, double low, double high) {
    Tensor tensor({DType::f32, shape});
    std::uniform_real_distribution<double> real(low, high);
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, real(random_));
    return tensor;
  }
  Value* constant(const Tensor& tensor) {
    return build_.constant(Constant::owned(tensor.dtype(), tensor.type().shape,
                                           {tensor.bytes().begin(), tensor.bytes().end()}));
  }
  Value* weights(const Shape& shape, double scale = 1) {
    return constant(random_tensor(shape, -scale, scale));
  }

  Value* pick() { return values_[static_cast<size_t>(between(0, std::ssize(values_) - 1))]; }
  Value* recent() {
    const int64_t count = std::ssize(values_);
    return values_[static_cast<size_t>(count - 1 - between(0, std::min<int64_t>(3, count - 1)))];
  }
  double bound(const Value* value) const { return known_.at(value).bound; }
  bool exact(const Value* value) const { return known_.at(value).exact; }

  void add(Value* value, Known known) {
    if (known_.contains(value)) return;
    if (element_count(value->shape()).value() > kMostElements || value->shape().size() > 6) return;
    known_.emplace(value, known);
    if (known.bound > 30) {
      // Sums and products stay small: errors can be told from rounding.
      Value* small = chance(2)
                         ? build_.add(Op::mul, {value, build_.scalar(DType::f32, 1 / known.bound)})
                         : build_.add(Op::tanh, {value});
      return add(small, {1, false});
    }
    values_.push_back(value);
  }
  void output(Value* value) {
    graph_.add_output(fmt::format("y{}", graph_.outputs().size()), value);
  }

  // ---- Movement ----

  /// Splits the dims, permutes the pieces, merges some.
  Value* any_relayout(Value* x) {
    Dims factors;
    for (const Dim& dim : x->shape()) {
      const int64_t length = dim.value();
      if (length % 2 == 0 && chance(3))
        factors.insert(factors.end(), {2, length / 2});
      else
        factors.push_back(dim);
    }
    Permutation order(factors.size());
    std::iota(order.begin(), order.end(), 0);
    if (!chance(4)) std::shuffle(order.begin(), order.end(), random_);
    Shape target;
    for (const int factor : order) {
      if (!target.empty() && (target.size() >= 5 || chance(4)))
        target.back() = target.back() * factors[static_cast<size_t>(factor)];
      else
        target.push_back(factors[static_cast<size_t>(factor)]);
    }
    return build_.relayout(
        x, Relayout::from_factors(x->shape(), std::move(factors), std::move(order), target));
  }
  Value* permutation(Value* x) {
    Permutation order(x->shape().size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return build_.permute(x, order);
  }
  /// Undoes an earlier relayout that led to this shape.
  Value* restored(Value* x) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const Node* node = pick()->def();
      if (node == nullptr || !node->is(Op::relayout)) continue;
      const Relayout& relayout = node->attrs<RelayoutAttrs>().relayout;
      if (relayout.target() == x->shape()) return build_.relayout(x, relayout.inverse());
    }
    return any_relayout(x);
  }
  Value* relayout(Value* x) {
    if (x->shape().size() == 4 && chance(3))
      return chance(2) ? build_.to_channels_last(x) : build_.from_channels_last(x);
    switch (between(0, 3)) {
      case 0:
        return permutation(x);
      case 1:
        return any_relayout(x);
      case 2:
        return build_.view(x, {x->shape().empty() ? Dim(1) : x->shape()[0], rest(x->shape())});
      default:
        return restored(x);
    }
  }
  static Dim rest(const Shape& shape) {
    Dim result = 1;
    for (size_t i = 1; i < shape.size(); ++i) result = result * shape[i];
    return result;
  }

  // ---- Elementwise ----

  void unary(Value* x) {
    const double b = bound(x);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (between(0, 9)) {
      case 0:
        return add(build_.add(Op::sigmoid, {x}), {1, false});
      case 1:
        return add(build_.add(Op::tanh, {x}), {1, false});
      case 2:
        return add(build_.add(Op::hardswish, {x}), {b, false});
      case 3:
        return add(build_.add(Op::neg, {x}), known_.at(x));
      case 4:
        return add(build_.add(Op::abs, {x}), known_.at(x));
      case 5:
        return add(build_.add(Op::gelu, {x}, GeluAttrs{chance(2)}), {b, false});
      case 6:
        return add(build_.add(Op::leaky_relu, {x}, AlphaAttrs{0.25}), {b, false});
      case 7:
        return add(build_.clamp(x, -0.5, 0.75), {std::min(b, 0.75), exact(x)});
      default:
        return add(build_.clamp(x, 0, kInfinity), known_.at(x));
    }
  }

  /// Something to combine with x: another value that broadcasts, or x moved and back, a reduction
  /// of it, or a constant.
  Value* partner(Value* x) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      Value* other = pick();
      const auto both = broadcast(x->shape(), other->shape());
      if (other->dtype() == DType::f32 && both && both->size() <= 6) return other;
    }
    return nullptr;
  }
  Shape broadcastable_to(Shape shape) {
    for (Dim& dim : shape)
      if (chance(2)) dim = 1;
    shape.erase(shape.begin(), shape.begin() + between(0, std::ssize(shape)));
    return shape;
  }
  void binary(Value* x) {
    Value* other = chance(3) ? nullptr : partner(x);
    double b = 1;
    if (other != nullptr)
      b = bound(other);
    else
      other = weights(broadcastable_to(x->shape()));
    if (chance(2)) std::swap(x, other);
    const double a = known_.contains(x) ? bound(x) : 1;
    b = known_.contains(other) ? bound(other) : 1;
    switch (between(0, 4)) {
      case 0:
        return add(build_.add(Op::mul, {x, other}), {a * b, false});
      case 1:
        return add(build_.add(Op::sub, {x, other}), {a + b, false});
      case 2:
        return add(build_.add(Op::maximum, {x, other}), {std::max(a, b), false});
      default:
        return add(build_.add(Op::add, {x, other}), {a + b, false});
    }
  }
  void select(Value* x) {
    if (!exact(x)) return unary(x);
    Value* condition = build_.add(Op::greater, {x, build_.scalar(DType::f32, 0.125)});
    if (chance(3)) {
      const int64_t along = axis(x);
      if (along < 0) return;
      return output(build_.add(Op::reduce_any, {condition}, AxesAttrs{{along}}));
    }
    add(build_.add(Op::where, {condition, x, weights(broadcastable_to(x->shape()))}),
        {std::max(1.0, bound(x)), false});
  }

  // ---- Along axes ----

  int64_t axis(const Value* x) {
    return x->shape().empty() ? -1 : between(0, std::ssize(x->shape()) - 1);
  }
  Ints axes(const Value* x) {
    Ints result;
    for (int64_t a = 0; a < std::ssize(x->shape()); ++a)
      if (chance(2)) result.push_back(a);
    return result;
  }
  void along_axes(Value* x) {
    const int64_t along = axis(x);
    if (along < 0) return;
    const int64_t length = x->shape()[static_cast<size_t>(along)].value();
    const double b = bound(x);
    switch (between(0, 15)) {
      case 0:
      case 1: {
        const int64_t start = between(0, length - 1), step = between(1, 2);
        return add(build_.slice(x, along, start, (length - start + step - 1) / step, step),
                   known_.at(x));
      }
      case 2:
        if (length % 2 == 0) {  // as chunk
          add(build_.slice(x, along, 0, length / 2), known_.at(x));
          return add(build_.slice(x, along, length / 2, length / 2), known_.at(x));
        }
        return unary(x);
      case 3:
      case 4:
        return concat(x, along);
      case 5: {
        PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0)};
        pad.low[static_cast<size_t>(along)] = between(0, 2);
        pad.high[static_cast<size_t>(along)] = between(0, 2);
        if (chance(3)) pad.value = 0.5;
        return add(build_.add(Op::pad, {x}, pad), {std::max(b, 0.5), exact(x)});
      }
      case 6:
        return add(build_.add(Op::reduce_sum, {x}, AxesAttrs{{along}}),
                   {b * static_cast<double>(length), false});
      case 7:
        return add(build_.add(Op::reduce_mean, {x}, AxesAttrs{axes(x)}), {b, false});
      case 8:
        return add(build_.add(chance(2) ? Op::reduce_max : Op::reduce_min, {x}, AxesAttrs{axes(x)}),
                   known_.at(x));
      case 9:
        if (exact(x) && chance(2)) return output(build_.add(Op::argmax, {x}, AxisAttrs{along}));
        return add(build_.add(Op::flip, {x}, AxesAttrs{{along}}), known_.at(x));
      case 10:
        return add(build_.add(Op::roll, {x}, RollAttrs{{along}, {between(0, 2)}}), known_.at(x));
      case 11:
        return add(build_.add(Op::cumsum, {x}, AxisAttrs{along}),
                   {b * static_cast<double>(length), false});
      case 12: {
        Tensor indices({DType::i64, {between(1, 4)}});
        for (int64_t i = 0; i < indices.count(); ++i) indices.set_int(i, between(0, length - 1));
        return add(build_.add(Op::gather, {x, constant(indices)}, AxisAttrs{along}), known_.at(x));
      }
      case 13:
        return add(build_.add(Op::normalize, {x}, NormalizeAttrs{{along}, 0.5, chance(2)}),
                   {4, false});
      case 14: {
        Shape shape = x->shape();
        if (length == 1) shape[static_cast<size_t>(along)] = between(1, 3);
        if (chance(3) && shape.size() < 5) shape.insert(shape.begin(), 2);
        return add(build_.expand(x, shape), known_.at(x));
      }
      default:
        return add(build_.add(Op::softmax, {x}, AxisAttrs{along}), {1, false});
    }
  }
  void concat(Value* x, int64_t along) {
    std::vector<Value*> parts = {x};
    double b = bound(x);
    for (int64_t i = between(1, 2); i > 0; --i) {
      Value* other = pick();
      Shape shape = other->shape();
      if (shape.size() == x->shape().size())
        shape[static_cast<size_t>(along)] = x->shape()[static_cast<size_t>(along)];
      const bool fits = shape == x->shape() && other->dtype() == x->dtype();
      parts.push_back(fits ? other : build_.add(Op::neg, {x}));
      if (fits) b = std::max(b, bound(other));
    }
    std::shuffle(parts.begin(), parts.end(), random_);
    add(build_.concat(parts, along), {b, false});
  }

  // ---- Contractions and windows ----

  void linear(Value* x) {
    if (x->shape().empty()) return unary(x);
    const int64_t inputs = x->shape().back().value();
    const int64_t outputs = size();
    std::vector<Value*> operands = {x,
                                    weights({outputs, inputs}, 2.0 / static_cast<double>(inputs))};
    if (chance(2)) operands.push_back(weights({outputs}));
    add(build_.add(Op::linear, operands, LinearAttrs{}), {2 * bound(x) + 1, false});
  }
  void matmul(Value* x) {
    if (x->shape().size() < 2) return linear(x);
    const Dim k = x->shape().back();
    Value* other = x;
    if (chance(3)) {
      other = weights({size(), k});
    } else {
      for (int attempt = 0; attempt < 6; ++attempt) {
        Value* candidate = pick();
        if (candidate->shape().size() != x->shape().size() || candidate->shape().back() != k)
          continue;
        if (!std::equal(x->shape().begin(), x->shape().end() - 2, candidate->shape().begin()))
          continue;
        other = candidate;
        break;
      }
    }
    const double b = known_.contains(other) ? bound(other) : 1;
    Value* y = chance(2) ? build_.add(Op::matmul, {x, other}, MatmulAttrs{true})
                         : build_.add(Op::matmul, {x, transposed(other)}, MatmulAttrs{});
    add(y, {bound(x) * b * static_cast<double>(k.value()), false});
  }
  Value* transposed(Value* x) {
    Permutation order(x->shape().size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return build_.permute(x, order);
  }

  void window(Value* x) {
    if (x->shape().size() != 4) return linear(x);
    const bool first = !chance(4);  // NCHW, as models have it
    Value* nhwc = first ? build_.to_channels_last(x) : x;
    Value* y = nullptr;
    double b = bound(x);
    const int64_t h = nhwc->shape()[1].value(), w = nhwc->shape()[2].value();
    switch (between(0, 6)) {
      case 0: {
        PoolAttrs pool{{std::min<int64_t>(h, 2), std::min<int64_t>(w, 2)},
                       {1, 1},
                       {1, 1},
                       {0, 0},
                       {0, 0},
                       false,
                       {}};
        if (pool.kernel == Ints{1, 1}) return unary(x);
        y = build_.add(chance(2) ? Op::max_pool : Op::avg_pool, {nhwc}, pool);
        break;
      }
      case 1: {
        const ResizeMode mode = chance(2) ? ResizeMode::nearest : ResizeMode::bilinear;
        y = build_.add(Op::resize, {nhwc}, ResizeAttrs{{2 * h, 2 * w}, {0.5, 0.5}, mode, false});
        break;
      }
      case 2:
        y = conv_transpose(nhwc);
        b = 8 * b + 1;
        break;
      default:
        y = conv(nhwc);
        b = 2 * b + 1;
        break;
    }
    add(first ? build_.from_channels_last(y) : y, {b, false});
  }
  Value* conv(Value* x) {
    const int64_t channels = x->shape()[3].value();
    int64_t groups = 1;
    if (chance(4)) groups = channels;
    if (chance(5) && channels % 2 == 0) groups = 2;
    const int64_t kernel = chance(2) ? 1 : 3;
    const int64_t outputs = groups * (groups == 1 ? size() : between(1, 2));
    const int64_t padding = kernel == 3 ? 1 : 0, stride = chance(4) ? 2 : 1;
    const double fan_in = static_cast<double>(kernel * kernel * channels / groups);
    std::vector<Value*> operands = {
        x, weights({outputs, kernel, kernel, channels / groups}, 2 / fan_in)};
    if (chance(2)) operands.push_back(weights({outputs}));
    return build_.add(
        Op::conv, operands,
        ConvAttrs{{stride, stride}, {1, 1}, {padding, padding}, {padding, padding}, groups, {}});
  }
  Value* conv_transpose(Value* x) {
    const int64_t channels = x->shape()[3].value();
    const int64_t outputs = size();
    return build_.add(Op::conv_transpose,
                      {x, weights({outputs, 2, 2, channels}, 2.0 / static_cast<double>(channels))},
                      ConvTransposeAttrs{{2, 2}, {1, 1}, {0, 0}, {0, 0}, {0, 0}, 1, {}});
  }

  void step() {
    Value* x = recent();
    switch (between(0, 13)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return add(relayout(x), known_.at(x));
      case 4:
      case 5:
        return binary(x);
      case 6:
        return unary(x);
      case 7:
        return chance(2) ? select(x) : unary(x);
      case 8:
        return linear(x);
      case 9:
        return matmul(x);
      case 10:
      case 11:
        return window(x);
      default:
        return along_axes(x);
    }
  }

  std::mt19937 random_;
  Graph graph_;
  Builder build_;
  std::vector<Value*> values_;
  std::unordered_map<const Value*, Known> known_;
};

}  // namespace layline
