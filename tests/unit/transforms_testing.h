// Graphs for tests of passes: built by hand, run through named passes, compared by the evaluator.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "transforms/pipeline.h"
#include "transforms/validate.h"

namespace layline {

/// A graph under construction. The first value added by `output` is the first output, and so on.
class TestModel : public Builder {
 public:
  TestModel() : TestModel(std::make_unique<Graph>("test")) {}

  Value* input(Shape shape, DType dtype = DType::f32) {
    return owned_->add_input(fmt::format("x{}", owned_->inputs().size()),
                             {dtype, std::move(shape)});
  }
  /// A constant with random elements between 0.5 and 2: never near zero, so that it can divide.
  Value* weights(Shape shape) {
    Tensor tensor({DType::f32, std::move(shape)});
    std::uniform_real_distribution<double> real(0.5, 2);
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, real(random_));
    return constant(tensor);
  }
  Value* number(double value) { return scalar(DType::f32, value); }
  Value* conv(Value* x, int64_t outputs, int64_t kernel = 1, int64_t padding = 0,
              int64_t groups = 1, bool bias = false) {
    std::vector<Value*> operands = {
        x, weights({outputs, kernel, kernel, x->shape()[3].value() / groups})};
    if (bias) operands.push_back(weights({outputs}));
    return add(Op::conv, std::move(operands),
               ConvAttrs{{1, 1}, {1, 1}, {padding, padding}, {padding, padding}, groups, {}});
  }
  /// As the front end writes an NCHW convolution.
  Value* conv_nchw(Value* x, int64_t outputs, int64_t kernel = 1, int64_t padding = 0) {
    return from_channels_last(conv(to_channels_last(x), outputs, kernel, padding));
  }
  Value* batch_norm(Value* x) {
    Value* scaled = add(Op::mul, {x, weights({x->shape()[1], 1, 1})});
    return add(Op::add, {scaled, weights({x->shape()[1], 1, 1})});
  }
  Value* relu(Value* x) { return clamp(x, 0, std::numeric_limits<double>::infinity()); }
  TestModel& output(Value* value) {
    owned_->add_output(fmt::format("y{}", owned_->outputs().size()), value);
    return *this;
  }

  /// Runs the passes once each and checks that the graph still means the same.
  TestModel& run(std::initializer_list<std::string_view> names) {
    Validator validator(*owned_, probes(*owned_));
    for (const std::string_view name : names) {
      bool found = false;
      for (const Pass& pass : all_passes()) {
        if (pass.name != name) continue;
        found = true;
        const std::string before = print(*owned_);
        PassContext context(name, target_, &explanations_);
        const bool changed = pass.run(*owned_, context);
        verify(*owned_);
        EXPECT_EQ(changed, print(*owned_) != before) << name;
        EXPECT_EQ(changed, context.rewrites() > 0) << name;
        validator.check(*owned_, name);
      }
      EXPECT_TRUE(found) << name;
    }
    return *this;
  }
  TestModel& run_all() {
    certificate_ = run_pipeline(*owned_, {.target = target_, .validate = true}).certificate;
    return *this;
  }
  /// The rules for what follows; without a call a target that takes every op in any order.
  TestModel& on(const TargetRules& target) {
    target_ = target;
    return *this;
  }
  /// Of the last placement in run_all.
  const Certificate& certificate() const { return certificate_.value(); }

  int count(Op op) const {
    int result = 0;
    for (const Node* node : *owned_) result += node->is(op);
    return result;
  }
  /// Relayouts that move data.
  int moves() const {
    int result = 0;
    for (const Node* node : *owned_)
      result += node->is(Op::relayout) && !node->attrs<RelayoutAttrs>().relayout.is_view();
    return result;
  }
  /// Nodes that are neither constants nor views.
  int work() const {
    int result = moves();
    for (const Node* node : *owned_) result += !node->is(Op::constant) && !node->is(Op::relayout);
    return result;
  }
  Node* only(Op op) const {
    EXPECT_EQ(count(op), 1) << print(*owned_, {.elide_constants = true});
    for (Node* node : *owned_)
      if (node->is(op)) return node;
    return nullptr;
  }
  Graph& built() { return *owned_; }
  const std::vector<Explanation>& explanations() const { return explanations_; }

 private:
  explicit TestModel(std::unique_ptr<Graph> graph)
      : Builder(*graph, nullptr), owned_(std::move(graph)) {}

  std::unique_ptr<Graph> owned_;
  std::vector<Explanation> explanations_;
  TargetRules target_;
  std::optional<Certificate> certificate_;
  std::mt19937 random_{7};
};

}  // namespace layline
