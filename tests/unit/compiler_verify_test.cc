#include "compiler/verify.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "pte_reader.h"

namespace layline {
namespace {

constexpr std::string_view kModel = R"(
graph "forward" {
  input "x" %x : f32[2,3]
  state "s" %s = f32[2,3] splat 1
  %a = abs(%x) @1
  %b = exp(%a) @2
  %c = mul(%b, %s) @3
  output "y" %c
  write %c to %s
  origin @1 "abs_1" "model.py:1" ""
  origin @2 "exp_1" "model.py:2" ""
  origin @3 "mul_1" "model.py:3" ""
}
)";

size_t outputs_of(std::span<const std::byte> program) {
  return PteReader({program.begin(), program.end()}).plan().outputs()->size();
}

class VerifyModel : public testing::Test {
 protected:
  void SetUp() override {
    path = (std::filesystem::path(testing::TempDir()) /
            ("verify_model_" + std::to_string(::getpid()) + ".lay"))
               .string();
    std::ofstream(path) << kModel;
  }
  void TearDown() override { std::filesystem::remove(path); }

  /// A runtime that computes the model's ops, but adds an error to the op with this origin, from
  /// this run on. It tells the node apart by how many results there are: those of all nodes follow
  /// the model's own.
  LoadMethod runtime(int wrong_op, int from_run) {
    return [=](std::span<const std::byte> program, const std::string&) -> RunMethod {
      const bool exposed = outputs_of(program) > 1;
      auto state = std::make_shared<Tensor>(TensorType{DType::f32, {2, 3}});
      for (int64_t i = 0; i < 6; ++i) state->set(i, 1);
      auto runs = std::make_shared<int>(0);
      return [=](std::span<const Tensor> arguments) {
        const bool wrong = (*runs)++ >= from_run;
        std::vector<Tensor> nodes;
        auto compute = [&](int op, Op kind, std::vector<Tensor> operands) {
          Tensor result = evaluate_op(
              kind, operands, kind == Op::mul ? Attributes(BinaryAttrs{}) : Attributes(NoAttrs{}));
          if (wrong && op == wrong_op) result.set(4, result.get(4) + 1);
          nodes.push_back(result);
          return result;
        };
        const Tensor a = compute(1, Op::abs, {arguments[0]});
        const Tensor b = compute(2, Op::exp, {a});
        *state = compute(3, Op::mul, {b, *state});
        std::vector<Tensor> results = {*state};
        if (exposed) results.insert(results.end(), nodes.begin(), nodes.end());
        return results;
      };
    };
  }

  std::string error_of(const LoadMethod& load) {
    try {
      verify_model(path, {}, {}, load);
    } catch (const InternalError& error) {
      return error.what();
    }
    return "no error";
  }

  std::string path;
};

TEST_F(VerifyModel, CountsWhatItCompares) {
  const std::vector<VerifiedMethod> methods = verify_model(path, {}, {}, runtime(0, 0));
  ASSERT_EQ(methods.size(), 1u);
  EXPECT_EQ(methods[0].name, "forward");
  EXPECT_EQ(methods[0].steps, 3u);
  EXPECT_EQ(methods[0].results, 3u);
}

TEST_F(VerifyModel, NamesTheFirstNodeThatTheProgramGetsWrong) {
  EXPECT_EQ(error_of(runtime(2, 0)),
            "the program gives another output y of method forward than the reference evaluator; "
            "the first node that differs is exp_1 (model.py:2)");
  EXPECT_NE(error_of(runtime(1, 0)).find("differs is abs_1 (model.py:1)"), std::string::npos);
}

TEST_F(VerifyModel, FollowsStatesFromRunToRun) {
  EXPECT_NE(error_of(runtime(3, 2)).find("differs is mul_1 (model.py:3)"), std::string::npos);
  EXPECT_EQ(error_of(runtime(3, 3)), "no error");
}

// ---- Quantised ----

constexpr std::string_view kQuantised = R"(
graph "forward" {
  input "x" %x : f32[2,3]
  %a = quantize(%x) { quantisation = i8 in [-128,127] scale f32[] (0.05) zero i32[] (3) } @1
  %b = dequantize(%a) @2
  %c = exp(%b) @3
  output "y" %c
  origin @1 "quantize_1" "model.py:1" ""
  origin @2 "dequantize_1" "model.py:2" ""
  origin @3 "exp_1" "model.py:3" ""
}
)";

class VerifyQuantised : public VerifyModel {
 protected:
  void SetUp() override {
    VerifyModel::SetUp();
    std::ofstream(path) << kQuantised;
  }

  /// A runtime that rounds an element some units off, and adds to a result of exp.
  static LoadMethod runtime(int64_t units, double error) {
    return [=](std::span<const std::byte> program, const std::string&) -> RunMethod {
      const bool exposed = outputs_of(program) > 1;
      return [=](std::span<const Tensor> arguments) {
        const QuantisationAttrs by{per_tensor(DType::i8, 0.05f, 3)};
        Tensor a = evaluate_op(Op::quantize, arguments, by);
        a.set_int(4, a.get_int(4) + units);
        const Tensor b = evaluate_op(Op::dequantize, {&a, 1}, NoAttrs{});
        Tensor c = evaluate_op(Op::exp, {&b, 1}, NoAttrs{});
        c.set(1, c.get(1) + error);
        const Tensor integers({DType::i8, {2, 3}}, {a.bytes().begin(), a.bytes().end()});
        return exposed ? std::vector{c, integers, b, c} : std::vector{c};
      };
    };
  }
};

TEST_F(VerifyQuantised, AUnitOfRoundingIsNoError) {
  EXPECT_FALSE(verify_model(path, {}, {}, runtime(0, 0))[0].op_by_op);
  EXPECT_TRUE(verify_model(path, {}, {}, runtime(1, 0))[0].op_by_op);
}

TEST_F(VerifyQuantised, NamesTheOpThatIsWrongForItsOperands) {
  EXPECT_NE(error_of(runtime(2, 0)).find("differs is quantize_1"), std::string::npos);
  EXPECT_NE(error_of(runtime(1, 0.1)).find("differs is exp_1"), std::string::npos);
}

// ---- Rounding ----

constexpr int64_t kCount = 288;

class VerifyCentred : public VerifyModel {
 protected:
  void SetUp() override {
    VerifyModel::SetUp();
    std::ofstream(path) << R"(
graph "forward" {
  input "x" %x : f32[288]
  %a = normalize(%x) { axes = [0], eps = 1e-05 } @1
  %b = add(%a, %a) @2
  output "y" %b
  origin @1 "normalize_1" "model.py:1" ""
  origin @2 "add_1" "model.py:2" ""
}
)";
  }

  /// A runtime that adds up the mean in floats, one number after the other, and adds to one result.
  static LoadMethod runtime(float error) {
    return [=](std::span<const std::byte> program, const std::string&) -> RunMethod {
      return [=, results = outputs_of(program)](std::span<const Tensor> arguments) {
        const Tensor& x = arguments[0];
        float mean = 0, variance = 0;
        for (int64_t i = 0; i < kCount; ++i) mean += static_cast<float>(x.get(i)) * (1.0F / kCount);
        const auto centred = [&](int64_t i) { return static_cast<float>(x.get(i)) - mean; };
        for (int64_t i = 0; i < kCount; ++i) variance += centred(i) * centred(i) / kCount;
        Tensor y({DType::f32, {kCount}});
        for (int64_t i = 0; i < kCount; ++i) y.set(i, 2 * centred(i) / std::sqrt(variance + 1e-5F));
        y.set(7, y.get(7) + error);
        // Where all nodes are exposed, the result of the last one stands for the others.
        return std::vector<Tensor>(results, y);
      };
    };
  }

  void verify(double number, double step, float error) {
    Tensor x({DType::f32, {kCount}});
    for (int64_t i = 0; i < kCount; ++i) x.set(i, number + static_cast<double>(i) * step);
    verify_model(path, {}, {{"x", x}}, runtime(error));
  }
};

TEST_F(VerifyCentred, OfEqualNumbersNothingIsLeftButTheirRounding) {
  EXPECT_NO_THROW(verify(0.20026813, 0, 0));
  EXPECT_NO_THROW(verify(1000.5, 0, 0));
}

TEST_F(VerifyCentred, WhatIsMoreThanRoundingIsAnError) {
  EXPECT_THROW(verify(0.20026813, 0, 0.01F), InternalError);
  EXPECT_THROW(verify(0, 0, 1e-6F), InternalError) << "nothing is rounded";
  EXPECT_NO_THROW(verify(-1, 0.007, 0));
  EXPECT_THROW(verify(-1, 0.007, 0.001F), InternalError);
}

TEST_F(VerifyModel, InputsAreTheUsers) {
  EXPECT_THROW(verify_model(path, {}, {{"z", Tensor({DType::f32, {2, 3}})}}, runtime(0, 0)),
               UserError);
  EXPECT_THROW(verify_model(path, {}, {{"x", Tensor({DType::i64, {2, 3}})}}, runtime(0, 0)),
               UserError);
  EXPECT_THROW(verify_model(path, {}, {{"x", Tensor({DType::f32, {2, 4}})}}, runtime(0, 0)),
               UserError);
}

}  // namespace
}  // namespace layline
