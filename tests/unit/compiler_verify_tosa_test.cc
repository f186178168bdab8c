#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "compiler/verify.h"
#include "ir/evaluate.h"
#include "schema/tosa_generated.h"

namespace layline {
namespace {

// The second sum multiplies an error of the first by 4.
constexpr std::string_view kModel = R"(
graph "forward" {
  input "x" %x : f32[2,3]
  %q = quantize(%x) { quantisation = i8 in [-128,127] scale f32[] (0.125) zero i32[] (0) }
  %a = add(%q, %q) { quantisation = i8 in [-128,127] scale f32[] (0.5) zero i32[] (0) } @1
  %b = add(%a, %q) { quantisation = i8 in [-128,127] scale f32[] (0.125) zero i32[] (0) } @2
  %y = dequantize(%b)
  output "y" %y
  origin @1 "add_1" "model.py:1" ""
  origin @2 "add_2" "model.py:2" ""
}
)";

std::vector<std::string> outputs_of(std::span<const std::byte> program) {
  std::vector<std::string> names;
  for (const auto* name :
       *::tosa::GetTosaGraph(program.data())->regions()->Get(0)->blocks()->Get(0)->outputs())
    names.push_back(name->str());
  return names;
}

/// Inputs as they lie in memory in, outputs likewise, of which the program has these.
using Reference = std::function<std::vector<Tensor>(const std::vector<std::string>& outputs,
                                                    std::span<const Tensor> inputs)>;

LoadMethod loading(const Reference& reference) {
  return [=](std::span<const std::byte> program, const std::string&) -> RunMethod {
    return [=, outputs = outputs_of(program)](std::span<const Tensor> inputs) {
      return reference(outputs, inputs);
    };
  };
}

class VerifyTosa : public testing::Test {
 protected:
  void SetUp() override {
    path = (std::filesystem::path(testing::TempDir()) /
            ("verify_tosa_" + std::to_string(::getpid()) + ".lay"))
               .string();
    std::ofstream(path) << kModel;
    options.target = "tosa";
  }
  void TearDown() override { std::filesystem::remove(path); }

  /// Computes the model on integers, with an error of so many units in each sum.
  static Reference reference(int first, int second) {
    return [=](const std::vector<std::string>& outputs, std::span<const Tensor> inputs) {
      const Tensor& q = inputs[0];
      Tensor a(q.type()), b(q.type());
      const auto rounded = [](double x) { return static_cast<int64_t>(std::nearbyint(x)); };
      for (int64_t i = 0; i < q.count(); ++i) {
        a.set_int(i, rounded(static_cast<double>(q.get_int(i)) / 2) + first);
        b.set_int(i, std::clamp<int64_t>(a.get_int(i) * 4 + q.get_int(i) + second, -128, 127));
      }
      std::vector<Tensor> results = {b};
      if (outputs.size() > 1) {
        EXPECT_EQ(outputs, (std::vector<std::string>{"y", "q", "a", "b"}));
        results.insert(results.end(), {q, a, b});
      }
      return results;
    };
  }

  VerifiedMethod verified(const Reference& run) {
    Tensor x({DType::f32, {2, 3}});
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, 0.125 * static_cast<double>(2 * i - 5));
    return verify_model(path, options, {{"x", x}}, loading(run)).at(0);
  }

  std::string error_of(const Reference& run) {
    try {
      verified(run);
    } catch (const InternalError& error) {
      return error.what();
    }
    return "no error";
  }

  std::string path;
  CompileOptions options;
};

TEST_F(VerifyTosa, CountsWhatItComparesAndAUnitIsRounding) {
  const VerifiedMethod method = verified(reference(0, 0));
  EXPECT_EQ(method.name, "forward");
  EXPECT_EQ(method.results, 1u);
  EXPECT_EQ(method.units, 0);
  EXPECT_EQ(verified(reference(0, 1)).units, 1);
}

TEST_F(VerifyTosa, AUnitThatALaterOpMultipliesIsNoError) {
  EXPECT_EQ(verified(reference(1, 0)).units, 4);
  EXPECT_EQ(verified(reference(-1, -1)).units, 5);
}

TEST_F(VerifyTosa, NamesTheOpThatIsWrongForTheOperandsItHad) {
  EXPECT_EQ(error_of(reference(2, 0)),
            "in Arm's reference model the program gives another output than the reference "
            "evaluator; the first node that differs is add_1 (model.py:1)");
  EXPECT_NE(error_of(reference(1, 2)).find("differs is add_2 (model.py:2)"), std::string::npos);
}

TEST_F(VerifyTosa, FloatsHaveATolerance) {
  std::ofstream(path) << R"(graph "g" {
    input "x" %x : f32[2,3]
    %a = abs(%x)
    %y = exp(%a)
    output "y" %y
  })";
  const auto run = [](double error) {
    return [=](const std::vector<std::string>& outputs, std::span<const Tensor> inputs) {
      const Tensor a = evaluate_op(Op::abs, inputs, NoAttrs{});
      Tensor y = evaluate_op(Op::exp, std::span(&a, 1), NoAttrs{});
      y.set(0, y.get(0) + error);
      std::vector<Tensor> results = {y};
      if (outputs.size() > 1) results.insert(results.end(), {a, y});
      return results;
    };
  };
  EXPECT_EQ(verified(run(0)).results, 1u);
  EXPECT_NE(error_of(run(0.1)).find("another output y than the reference evaluator; the first node "
                                    "that differs is y"),
            std::string::npos)
      << error_of(run(0.1));
}

TEST_F(VerifyTosa, InputsAreTheUsers) {
  const std::map<std::string, Tensor> unknown = {{"z", Tensor({DType::f32, {2, 3}})}};
  EXPECT_THROW(verify_model(path, options, unknown, loading(reference(0, 0))), UserError);
}

}  // namespace
}  // namespace layline
