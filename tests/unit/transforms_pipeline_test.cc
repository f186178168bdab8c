// The choke point, and the property that every pass must have: the graph means the same afterwards.
#include "transforms/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "transforms_testing.h"

namespace layline {
namespace {

Model small_model() {
  Model m;
  m.output(m.relu(m.batch_norm(m.conv_nchw(m.input({1, 3, 6, 6}), 4, 3, 1))));
  return m;
}

TEST(Pipeline, PassesHaveNamesAndSummaries) {
  std::set<std::string_view> names;
  for (const Pass& pass : all_passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.summary.empty()) << pass.name;
  }
}

TEST(Pipeline, UnknownNamesListThePasses) {
  Model m = small_model();
  for (const PipelineOptions& options :
       {PipelineOptions{.disabled = {"fold_afine"}}, PipelineOptions{.stop_after = "fold_afine"}}) {
    try {
      run_pipeline(m.built(), options);
      FAIL();
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("fold_affine"), std::string::npos) << error.what();
    }
  }
}

TEST(Pipeline, DisabledPassesDoNotRun) {
  for (const Pass& pass : all_passes()) {
    Model m = small_model();
    const PipelineReport report =
        run_pipeline(m.built(), {.disabled = {std::string(pass.name)}, .validate = true});
    for (const PassReport& entry : report.passes)
      EXPECT_EQ(entry.runs > 0, entry.pass != pass.name) << entry.pass;
  }
}

TEST(Pipeline, StopsAfterAPassAndShowsEachGraph) {
  Model m = small_model();
  std::vector<std::string_view> ran;
  run_pipeline(m.built(),
               {.stop_after = "fold_relayouts",
                .on_pass = [&](const Pass& pass, const Graph&) { ran.push_back(pass.name); }});
  EXPECT_EQ(ran.back(), "fold_relayouts");
  EXPECT_EQ(std::ranges::count(ran, "fold_relayouts"), 1);
}

TEST(Pipeline, ExplainsOnlyWhenAsked) {
  Model quiet = small_model();
  EXPECT_TRUE(run_pipeline(quiet.built()).explanations.empty());
  Model loud = small_model();
  EXPECT_FALSE(run_pipeline(loud.built(), {.explain = true}).explanations.empty());
}

TEST(Pipeline, IsStable) {
  Model m = small_model();
  run_pipeline(m.built());
  const std::string once = print(m.built());
  for (const PassReport& report : run_pipeline(m.built()).passes)
    EXPECT_EQ(report.rewrites, 0u) << report.pass;
  EXPECT_EQ(print(m.built()), once);
}

TEST(Pipeline, SymbolicSizes) {
  Model m;
  const Dim batch = Dim::symbol(m.built().add_symbol({"batch", 1, 16}));
  Value* x = m.input({batch, 3, 4, 4});
  x = m.relu(m.batch_norm(m.conv_nchw(x, 4, 3, 1)));
  x = m.binary(Op::add, x, m.conv_nchw(x, 4));
  m.output(m.add(Op::reduce_mean, {x}, AxesAttrs{{2, 3}})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(Validator, NamesThePassAndTheOutput) {
  Model m;
  Value* x = m.input({2, 3});
  m.output(x).output(m.add(Op::neg, {x}));
  const Validator validator(m.built());
  m.built().set_output(1, x, {0, 1});
  try {
    validator.check(m.built(), "wrong_pass");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("pass wrong_pass changes output y1"),
              std::string::npos)
        << error.what();
  }
}

TEST(Validator, ProbesAreIntegersWhereOpsAreExact) {
  Model m;
  m.output(m.conv_nchw(m.input({1, 3, 4, 4}), 4));
  const std::vector<Tensor> inputs = probes(m.built());
  for (int64_t i = 0; i < inputs[0].count(); ++i)
    EXPECT_EQ(inputs[0].get(i), std::round(inputs[0].get(i)));
}

TEST(Pipeline, LinearInTheSizeOfTheGraph) {
  Model m;
  Value* x = m.input({1, 2, 2, 2});
  for (int i = 0; i < 5000; ++i) x = m.binary(Op::add, m.relu(m.conv_nchw(x, 2)), x);
  m.output(x);
  run_pipeline(m.built());
  EXPECT_EQ(m.count(Op::conv), 5000);
  EXPECT_LE(m.moves(), 2);
}

// ---- Random graphs ----

/// Adds random ops on random earlier values. Sizes are small and repeat, so that shapes coincide by
/// accident: axes that are mistaken for each other then still type-check.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) values_.push_back(model_.input(random_shape()));
    for (int i = 0; i < 25; ++i) step();
    for (int i = 0; i < 3; ++i) model_.output(pick());
    model_.output(values_.back());
  }
  Model& model() { return model_; }

 private:
  int64_t below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  }
  Value* pick() { return values_[static_cast<size_t>(below(std::ssize(values_)))]; }
  Value* recent() {
    return values_[static_cast<size_t>(std::ssize(values_) - 1 -
                                       below(std::min<int64_t>(4, std::ssize(values_))))];
  }
  Shape random_shape() {
    Shape shape;
    for (int64_t rank = 1 + below(4); rank > 0; --rank) shape.push_back(1 + below(4));
    return shape;
  }

  /// Splits the dims, permutes the pieces, merges some.
  Value* relayout(Value* x) {
    std::vector<Dim> factors;
    for (const Dim& dim : x->shape()) {
      const int64_t size = dim.value();
      if (size % 2 == 0 && below(3) == 0) {
        factors.insert(factors.end(), {2, size / 2});
      } else {
        factors.push_back(dim);
      }
    }
    std::vector<int> order(factors.size());
    std::iota(order.begin(), order.end(), 0);
    if (below(4) > 0) std::shuffle(order.begin(), order.end(), random_);
    Shape target;
    for (const int factor : order) {
      if (!target.empty() && (target.size() >= 5 || below(4) == 0))
        target.back() = target.back() * factors[static_cast<size_t>(factor)];
      else
        target.push_back(factors[static_cast<size_t>(factor)]);
    }
    return model_.relayout(
        x, Relayout::from_factors(x->shape(), std::move(factors), std::move(order), target));
  }

  Value* binary(Value* x) {
    constexpr Op kOps[] = {Op::add, Op::sub, Op::mul, Op::maximum};
    Value* other = nullptr;
    for (int attempt = 0; attempt < 6 && other == nullptr; ++attempt) {
      Value* candidate = pick();
      if (broadcast(x->shape(), candidate->shape())) other = candidate;
    }
    if (other == nullptr || below(3) == 0) {
      Shape shape = x->shape();
      for (Dim& dim : shape)
        if (below(2) == 0) dim = 1;
      shape.erase(shape.begin(), shape.begin() + below(std::ssize(shape) + 1));
      other = model_.weights(std::move(shape));
    }
    // A moved copy of the same value: operands then often agree.
    if (below(3) == 0 && relayout_matches(x)) other = twin(x);
    const bool swap = below(2) == 0;
    return model_.binary(kOps[below(4)], swap ? other : x, swap ? x : other);
  }
  bool relayout_matches(const Value* x) const { return x->def() && x->def()->is(Op::relayout); }
  Value* twin(Value* x) {
    return model_.relayout(model_.relu(x->def()->operand(0)),
                           x->def()->attrs<RelayoutAttrs>().relayout);
  }

  Value* along_axes(Value* x) {
    const auto rank = std::ssize(x->shape());
    if (rank == 0) return x;
    const int64_t axis = below(rank);
    const int64_t size = x->shape()[static_cast<size_t>(axis)].value();
    switch (below(8)) {
      case 0: {
        const int64_t start = below(size);
        const int64_t step = 1 + below(2);
        return model_.slice(x, axis, start, (size - start + step - 1) / step, step);
      }
      case 1:
        return model_.concat({x, model_.relu(x)}, axis);
      case 2: {
        PadAttrs pad{Ints(static_cast<size_t>(rank), 0), Ints(static_cast<size_t>(rank), 0)};
        pad.low[static_cast<size_t>(axis)] = below(2);
        pad.high[static_cast<size_t>(axis)] = below(2);
        pad.value = static_cast<double>(below(2));
        return model_.add(Op::pad, {x}, pad);
      }
      case 3:
        return model_.add(Op::reduce_sum, {x}, AxesAttrs{{axis}});
      case 4:
        return model_.add(Op::reduce_max, {x}, AxesAttrs{{axis}});
      case 5:
        return model_.add(Op::flip, {x}, AxesAttrs{{axis}});
      case 6:
        return model_.add(Op::roll, {x}, RollAttrs{{axis}, {1}});
      default:
        return model_.add(Op::softmax, {x}, AxisAttrs{axis});
    }
  }

  void step() {
    Value* x = recent();
    Value* y = nullptr;
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        y = relayout(x);
        break;
      case 3:
      case 4:
        y = binary(x);
        break;
      case 5:
        y = model_.relu(x);
        break;
      default:
        y = along_axes(x);
        break;
    }
    if (element_count(y->shape()).value() <= 4096 && y->shape().size() <= 6) values_.push_back(y);
  }

  Model model_;
  std::mt19937 random_;
  std::vector<Value*> values_;
};

TEST(Pipeline, RandomGraphsMeanTheSame) {
  int moves_before = 0, moves_after = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomGraph random(seed);
    const std::string text = print(random.model().built());
    moves_before += random.model().moves();
    try {
      random.model().run_all();
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << text;
    }
    moves_after += random.model().moves();
    run_pipeline(random.model().built(), {.validate = true});
  }
  // Where several ops read a relayout, whether to move it is a guess; but a good one.
  EXPECT_LT(2 * moves_after, moves_before);
}

}  // namespace
}  // namespace layline
