// Small random graphs for placement: small enough for brute force to try every order.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "ir/builder.h"
#include "random_op.h"

namespace layline {

/// Which ops a graph is made of.
enum class Ops {
  whole,    // all tensors of an op have all its loops
  any,      // and such that lack some
  awkward,  // and what proofs give up on: cuts that do not agree, many readers, states, more digits
};

class SmallGraph {
 public:
  SmallGraph(uint32_t seed, Ops ops_allowed)
      : random_(seed), ops_(ops_allowed), graph_("small"), build_(graph_, nullptr) {
    for (int64_t i = random_.between(1, 2); i > 0; --i)
      values_.push_back(graph_.add_input(fmt::format("x{}", i), {DType::f32, shape()}));
    const bool has_state = awkward() && random_.chance(3);
    if (has_state) values_.push_back(graph_.add_state("s", zeros(shape())));
    const int64_t ops = awkward() ? random_.between(2, 5) : random_.between(2, 6);
    for (int64_t i = 0; i < ops; ++i) {
      Value* x = pick();
      while (random_.chance(2)) x = relayout(x);
      Value* y = step(x);
      while (random_.chance(3)) y = relayout(y);
      if (element_count(y->shape()).value() <= kMostElements && y->shape().size() <= 5)
        values_.push_back(y);
    }
    for (Value* value : values_)
      if (value->uses().empty() && (value->def() != nullptr || values_.size() == 1)) output(value);
    if (random_.chance(3) || graph_.outputs().empty()) output(values_.back());
    if (has_state) write_state();
  }
  Graph& graph() { return graph_; }

 private:
  static constexpr int64_t kMostElements = 24;

  bool awkward() const { return ops_ == Ops::awkward; }
  int64_t size() {
    if (awkward() && random_.chance(4)) return 6;
    constexpr int64_t kSizes[] = {1, 2, 2, 2, 3, 4};
    return kSizes[random_.between(0, std::ssize(kSizes) - 1)];
  }
  Shape shape() {
    if (random_.chance(3)) return {1, 2, 2, random_.between(2, 3)};
    Shape result;
    for (int64_t rank = random_.between(1, 3); rank > 0; --rank) result.push_back(size());
    while (element_count(result).value() > kMostElements)
      *std::ranges::max_element(result, {}, &Dim::value) = 2;
    return result;
  }
  Value* pick() {
    const int64_t last = std::ssize(values_) - 1;
    // One value that most ops read, in forms of their own.
    if (awkward() && random_.chance(2)) return values_[0];
    return values_[static_cast<size_t>(random_.chance(3) ? random_.between(0, last) : last)];
  }
  /// The state is what some op computed, as far as one has its shape.
  void write_state() {
    const size_t place = graph_.inputs().size() - 1;
    Value* state = graph_.inputs()[place].value;
    Value* next = nullptr;
    for (Value* value : values_)
      if (value->def() != nullptr && value->type() == state->type()) next = value;
    if (next == nullptr) next = build_.add(Op::neg, {relayout_to_itself(state)});
    graph_.add_write(place, next);
  }
  Value* relayout_to_itself(Value* x) {
    Dims factors(x->shape().begin(), x->shape().end());
    Permutation order(factors.size());
    std::iota(order.begin(), order.end(), 0);
    random_.shuffle(order);
    return build_.relayout(x, Relayout::from_factors(x->shape(), factors, order, x->shape()));
  }
  void output(Value* value) {
    graph_.add_output(fmt::format("y{}", graph_.outputs().size()), value);
  }
  static Constant zeros(const Shape& of) {
    const auto bytes = 4 * static_cast<size_t>(element_count(of).value());
    return Constant::owned(DType::f32, of, std::vector<std::byte>(bytes));
  }
  Value* weights(const Shape& of) { return build_.constant(zeros(of)); }

  Value* relayout(Value* x) {
    if (x->shape().size() == 4 && random_.chance(2))
      return random_.chance(2) ? build_.to_channels_last(x) : build_.from_channels_last(x);
    Dims factors;
    for (const Dim& dim : x->shape()) {
      if (dim == Dim(4) && random_.chance(2))
        factors.insert(factors.end(), {2, 2});
      else if (awkward() && dim == Dim(6) && random_.chance(2))
        factors.insert(factors.end(), {3, 2});
      else if (awkward() && dim == Dim(6) && random_.chance(2))
        factors.insert(factors.end(), {2, 3});
      else
        factors.push_back(dim);
    }
    Permutation order(factors.size());
    std::iota(order.begin(), order.end(), 0);
    if (!random_.chance(4)) random_.shuffle(order);
    Shape target;
    for (int i : order) {
      const Dim factor = factors[static_cast<size_t>(i)];
      const auto fits = [&](Dim merged) {
        return merged != Dim(6) ? merged.value() <= 4 : awkward();
      };
      if (!target.empty() && random_.chance(4) && fits(target.back() * factor))
        target.back() = target.back() * factor;
      else
        target.push_back(factor);
    }
    if (target.size() > 4) return x;
    return build_.relayout(x, Relayout::from_factors(x->shape(), factors, order, target));
  }

  int64_t axis(const Value* x) { return random_.between(0, std::ssize(x->shape()) - 1); }

  Value* step(Value* x) {
    if (x->shape().empty()) return build_.add(Op::neg, {x});
    const int64_t along = axis(x);
    const Dim length = x->shape()[static_cast<size_t>(along)];
    switch (ops_ == Ops::whole ? random_.between(9, 14) : random_.between(0, 12)) {
      case 13:
      case 14:
      case 0:
      case 1:
        return binary(x);
      case 2:
        return build_.concat({x, random_.chance(2) ? x : build_.add(Op::neg, {x})}, along);
      case 3:
        return build_.slice(x, along, 0, length.value() > 1 ? length.value() / 2 : 1);
      case 4:
        return build_.add(Op::softmax, {x}, AxisAttrs{along});
      case 5:
        return build_.add(Op::reduce_sum, {x}, AxesAttrs{{along}});
      case 6:
      case 7:
        return build_.add(Op::linear, {x, weights({size(), x->shape().back()})}, LinearAttrs{});
      case 8:
        return matmul(x);
      case 9:
      case 10:
        return conv(x);
      case 11: {
        PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0)};
        pad.high[static_cast<size_t>(along)] = 1;
        if (awkward()) pad.low[static_cast<size_t>(axis(x))] = 1;
        return build_.add(Op::pad, {x}, pad);
      }
      default:
        return build_.add(Op::sigmoid, {x});
    }
  }
  Value* binary(Value* x) {
    for (int attempt = 0; attempt < 5; ++attempt) {
      Value* other = pick();
      if (other->shape() == x->shape() ||
          (ops_ != Ops::whole && broadcast(x->shape(), other->shape())))
        return build_.add(Op::add, {x, other});
    }
    return build_.add(Op::add, {x, weights({x->shape().back()})});
  }
  Value* matmul(Value* x) {
    if (x->shape().size() < 2) return build_.add(Op::abs, {x});
    for (int attempt = 0; attempt < 5; ++attempt) {
      Value* other = pick();
      if (other->shape().size() != x->shape().size() || other->shape().back() != x->shape().back())
        continue;
      if (!std::equal(x->shape().begin(), x->shape().end() - 2, other->shape().begin())) continue;
      return build_.add(Op::matmul, {x, other}, MatmulAttrs{true});
    }
    return build_.add(Op::matmul, {x, x}, MatmulAttrs{true});
  }
  Value* conv(Value* x) {
    if (x->shape().size() != 4) return build_.add(Op::sigmoid, {x});
    const int64_t kernel = random_.between(1, 2);
    Value* nhwc = build_.to_channels_last(x);
    if (nhwc->shape()[1].value() < kernel || nhwc->shape()[2].value() < kernel) return x;
    Value* y = build_.add(
        Op::conv, {nhwc, weights({random_.between(2, 4), kernel, kernel, nhwc->shape()[3]})},
        ConvAttrs{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}});
    return build_.from_channels_last(y);
  }

  Random random_;
  Ops ops_;
  Graph graph_;
  Builder build_;
  std::vector<Value*> values_;
};

}  // namespace layline
