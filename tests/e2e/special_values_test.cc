// NaN, infinities, zeros of both signs and denormal numbers in every core op: the runtime gives
// what the reference evaluator gives, which is what torch gives, but for what docs/limits.md lists.
// Kernels differ from machine to machine, so a row of that table says what may happen.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "../unit/random_op.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "op_programs.h"

namespace layline {
namespace {

constexpr uint32_t kSeeds = 16;
constexpr double kTolerance = 1e-4;

struct SpecialValue {
  const char* name;
  double value;
};
constexpr SpecialValue kSpecialValues[] = {
    {"NaN", std::numeric_limits<double>::quiet_NaN()},
    {"infinity", std::numeric_limits<double>::infinity()},
    {"infinity", -std::numeric_limits<double>::infinity()},
    {"zero", 0.0},
    {"zero", -0.0},
    {"denormal", 1e-40},
    {"denormal", -1e-40},
};

/// A deviation: "maximum NaN delegate".
std::string key(std::string_view op, std::string_view value, std::string_view where) {
  return fmt::format("{} {} {}", op, value, where);
}

/// The rows of the table in docs/limits.md: ops, value, where, and words for people.
std::set<std::string> documented() {
  std::ifstream page(LAYLINE_TEST_DATA "/../../docs/limits.md");
  std::set<std::string> result;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#")) inside = line == "## NaN, infinity and denormal numbers";
    if (!inside || !line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(2));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    std::istringstream ops(cells.at(0)), values(cells.at(1)), places(cells.at(2));
    const std::vector<std::string> all_values{std::istream_iterator<std::string>(values), {}};
    const std::vector<std::string> all_places{std::istream_iterator<std::string>(places), {}};
    for (std::string op; ops >> op;)
      for (std::string value : all_values)
        for (std::string place : all_places) {
          std::erase_if(op, [](char c) { return c == '`' || c == ','; });
          std::erase(value, ',');
          std::erase(place, ',');
          result.insert(key(op, value, place));
        }
  }
  return result;
}

/// Puts the value into one element of each float operand, or of the first one only. Weights stay
/// as they are: models whose weights are not numbers are of no use.
bool put(double value, OpInstance& instance, bool everywhere, Random& random) {
  const Op op = instance.node->op();
  const bool has_weights = op == Op::linear || op == Op::conv || op == Op::conv_transpose;
  bool any = false;
  for (Tensor& x : instance.operands) {
    if (x.dtype() != DType::f32 || x.count() == 0) continue;
    if (any && (has_weights || !everywhere)) break;
    x.set(random.between(0, x.count() - 1), value);
    any = true;
  }
  return any;
}

bool agree(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return true;
  return std::isfinite(actual) && std::isfinite(expected) &&
         std::abs(actual - expected) <= kTolerance * std::max(1.0, std::abs(expected));
}

class SpecialValues : public testing::TestWithParam<Op> {};

TEST_P(SpecialValues, AreWhatTorchMakesOfThemOrDocumented) {
  static const std::set<std::string> known = documented();
  ASSERT_FALSE(known.empty());
  // Torch leaves these open: integers that are made of no number, and which of equals comes first.
  if (GetParam() == Op::convert || GetParam() == Op::argsort || GetParam() == Op::quantize ||
      GetParam() == Op::quantize_by || GetParam() == Op::choose_zero_point)
    return;
  std::map<std::string, std::string> undocumented;  // and an example
  for (const SpecialValue& special : kSpecialValues)
    for (uint32_t seed = 1; seed <= kSeeds; ++seed)
      for (const bool delegate : {true, false}) {
        RandomOps random(seed);
        auto instance = random.instance(GetParam());
        if (!instance || !put(special.value, *instance, seed % 2 == 0, random.random())) continue;
        const std::string what =
            key(name(GetParam()), special.name, delegate ? "delegate" : "kernel");
        if (known.contains(what)) continue;
        instance->graph->add_output("y", instance->node->result());
        const std::string text = print(*instance->graph);
        const Tensor expected = evaluate(*instance->graph, instance->operands)[0];
        const auto program = program_of(*instance->graph, delegate);
        if (!program) continue;
        const HostTensor output = first_output(*program, instance->operands);
        const Tensor actual({output.dtype, expected.type().shape}, output.bytes);
        for (int64_t i = 0; i < expected.count(); ++i)
          if (!agree(actual.get(i), expected.get(i)))
            undocumented[what] = fmt::format("element {} is {}, not {}, of\n{}", i, actual.get(i),
                                             expected.get(i), text);
      }
  for (const auto& [what, example] : undocumented) ADD_FAILURE() << what << ": " << example;
}

INSTANTIATE_TEST_SUITE_P(All, SpecialValues, testing::ValuesIn(every_op()),
                         [](const auto& op) { return std::string(name(op.param)); });

}  // namespace
}  // namespace layline
