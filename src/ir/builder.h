// Shorthand for adding nodes that all come from one place in the user's model.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace layline {

class Builder {
 public:
  /// `op` is what the model calls the op that nodes are built for. Front ends give it, and the
  /// messages of `fail` contain it; it lives as long as the builder.
  Builder(Graph& graph, OriginRef origin, std::string_view op = {})
      : graph_(graph), origin_(std::move(origin)), op_(op) {}

  Graph& graph() const { return graph_; }
  const OriginRef& origin() const { return origin_; }

  /// Refuses the model: a UserError that names the place in it and the op.
  [[noreturn]] void fail(const std::string& message) const;
  template <typename First, typename... Rest>
  [[noreturn]] void fail(fmt::format_string<First, Rest...> format, First&& first,
                         Rest&&... rest) const {
    fail(fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
  }

  /// Adds a node. Build operands inside the braces of one call: an initialiser list makes them in
  /// the order written. Function arguments are evaluated in an order that each compiler chooses,
  /// and the order of the nodes would depend on it.
  Value* add(Op op, std::vector<Value*> operands, Attributes attributes) const {
    return graph_.add(op, std::move(operands), std::move(attributes), origin_);
  }
  /// Adds an op without attributes, or arithmetic that is not clamped.
  Value* add(Op op, std::vector<Value*> operands) const;
  Value* clamp(Value* x, double min, double max) const;
  /// x itself where it already has that dtype.
  Value* convert(Value* x, DType to) const;

  /// Moves x. If x is a constant, the result is a constant, too: nothing is left to do at run time.
  Value* relayout(Value* x, Relayout relayout) const;
  Value* permute(Value* x, std::span<const int> permutation) const;
  /// x itself where the shape is already right.
  Value* view(Value* x, Shape shape) const;
  /// [N,C,spatial...] to [N,spatial...,C] and back.
  Value* to_channels_last(Value* x) const;
  Value* from_channels_last(Value* x) const;
  /// x itself where nothing has to be repeated.
  Value* expand(Value* x, Shape shape) const;
  /// `size` elements of one axis, from `start` on, every `step`-th.
  Value* slice(Value* x, int64_t axis, int64_t start, Dim size, int64_t step = 1) const;
  Value* concat(std::vector<Value*> parts, int64_t axis) const;

  Value* constant(Constant data, QuantisationRef quantisation = {}) const {
    return add(Op::constant, {}, ConstantAttrs{std::move(data), std::move(quantisation)});
  }
  Value* constant(const Tensor& tensor) const;
  Value* scalar(DType dtype, double value) const {
    return constant(Constant::scalar(dtype, value));
  }

 private:
  Graph& graph_;
  OriginRef origin_;
  std::string_view op_;
};

}  // namespace layline
