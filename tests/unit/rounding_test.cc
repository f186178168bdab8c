// The model of errors that random graphs are judged by: it allows what floats do, and little more.
#include "../rounding.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "make_tensor.h"

namespace layline {
namespace {

constexpr int64_t kCount = 288;

/// What the one output of the graph may be off by, for an input of `kCount` numbers.
double error_of(const std::string& body, double number) {
  const Graph graph =
      parse_graph("graph \"g\" { input \"x\" %x : f32[288]\n" + body + " }", "test");
  Tensor x({DType::f32, {kCount}});
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, number);
  const std::vector<Tensor> inputs = {x};
  return rounding_errors(graph, inputs, evaluate(graph, inputs))[0];
}

TEST(RoundingErrors, OfAMeanInFloatsThatIsTakenAwayAndAddedUp) {
  constexpr float kNumber = 0.20026813F, kWeight = 1.0F / kCount;
  float mean = 0;
  for (int64_t i = 0; i < kCount; ++i) mean += kNumber * kWeight;
  const double off = std::abs(double{kNumber} - mean) / std::sqrt(0.5);
  ASSERT_GT(off * kCount, 1e-4);
  const std::string centred = "%n = normalize(%x) { axes = [0], eps = 0.5 }\n";
  const double one = error_of(centred + "output \"y\" %n", kNumber);
  EXPECT_GE(one, off);
  EXPECT_LE(one, 1e-5);
  const double all = error_of(centred + "%y = cumsum(%n) { axis = 0 }\noutput \"y\" %y", kNumber);
  EXPECT_GE(all, off * kCount);
  EXPECT_LE(all, 2 * one * kCount);
}

TEST(RoundingErrors, OfOneOperationIsAboutOneUnit) {
  EXPECT_LE(error_of("%y = add(%x, %x)\noutput \"y\" %y", 0.7), 2 * 1.4 * kUnitRoundoff);
  EXPECT_LE(error_of("%y = flip(%x) { axes = [0] }\noutput \"y\" %y", 0.7), 0.7 * kUnitRoundoff);
}

TEST(RoundingErrors, OfNumbersThatAreNotNormalIsAllOfThem) {
  EXPECT_GE(error_of("%y = abs(%x)\noutput \"y\" %y", 1e-40), 1e-40);
}

}  // namespace
}  // namespace layline
