// Proofs of placements go through layline-check-proof, which shares no code with the compiler: what
// is true passes, and what is not is refused in one line.
#include "layout/proof/proof.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "../seeds.h"
#include "compiler/compile.h"
#include "ir/text.h"
#include "layout/placement.h"
#include "small_graph.h"
#include "targets/xnnpack/xnnpack_rules.h"

namespace layline {
namespace {

namespace fs = std::filesystem;

struct Verdict {
  int exit_code = -1;
  std::vector<std::string> lines;  // of both outputs
};

Verdict check(const std::string& text) {
  const fs::path file = fs::temp_directory_path() / fmt::format("layline-{}.proof", getpid());
  std::ofstream(file) << text;
  FILE* pipe = popen((LAYLINE_CHECK_PROOF " " + file.string() + " 2>&1").c_str(), "r");
  Verdict verdict;
  std::string told;
  char block[4096];
  while (const size_t read = std::fread(block, 1, sizeof block, pipe)) told.append(block, read);
  const int status = pclose(pipe);
  verdict.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::istringstream stream(told);
  for (std::string line; std::getline(stream, line);) verdict.lines.push_back(line);
  fs::remove(file);
  return verdict;
}

std::string file_of(const std::string& methods, size_t count) {
  return fmt::format("layline-proof 1\nprogram 0 cbf29ce484222325\nmethods {}\n{}", count, methods);
}

/// What placement calls proved, the proof proves, and nothing else. One file has all graphs.
void check_random(const TargetOrders& target, Ops ops, uint32_t graphs) {
  const uint32_t first = first_seed(), count = graph_count(graphs);
  std::string methods;
  std::vector<bool> proved;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    SmallGraph small(seed, ops);
    const Placement placement = place(small.graph(), target, true);
    proved.push_back(placement.certificate.optimal());
    methods += proof_of(fmt::format("LAYLINE_SEED={}", seed), placement, target.moves);
  }
  const Verdict verdict = check(file_of(methods, count));
  ASSERT_EQ(verdict.exit_code, 0) << verdict.lines.back();
  ASSERT_EQ(verdict.lines.size(), count);
  for (uint32_t i = 0; i < count; ++i)
    if (proved[i]) {
      EXPECT_TRUE(verdict.lines[i].ends_with(": proved")) << verdict.lines[i];
    }
}

TEST(Proof, OfRandomGraphsIsRight) { check_random({}, Ops::any, 500); }
TEST(Proof, OfAwkwardGraphsIsRight) { check_random({}, Ops::awkward, 250); }
TEST(Proof, OfRandomGraphsIsRightOnXnnpack) {
  check_random(xnnpack::rules().orders, Ops::any, 250);
}

/// What is proved of a fixture, its proof proves.
TEST(Proof, OfFixturesIsRight) {
  std::string methods;
  std::vector<std::pair<std::string, bool>> proved;  // for each method
  for (const auto& entry : fs::directory_iterator(LAYLINE_TEST_DATA)) {
    if (entry.path().extension() != ".pt2") continue;
    CompileOptions options;
    options.for_target.profile = "epyc-avx512";
    options.proof = true;
    const Compiled compiled = compile(entry.path(), options);
    ASSERT_EQ(compiled.proofs.size(), compiled.certificates.size()) << entry.path();
    for (size_t i = 0; i < compiled.proofs.size(); ++i) {
      methods += compiled.proofs[i];
      proved.emplace_back(entry.path().filename(), compiled.certificates[i].optimal());
    }
  }
  const Verdict verdict = check(file_of(methods, proved.size()));
  ASSERT_EQ(verdict.exit_code, 0) << verdict.lines.back();
  ASSERT_EQ(verdict.lines.size(), proved.size());
  for (size_t i = 0; i < proved.size(); ++i)
    if (proved[i].second) {
      EXPECT_TRUE(verdict.lines[i].ends_with(": proved")) << proved[i].first << verdict.lines[i];
    }
  EXPECT_GT(std::ranges::count(proved, true, &std::pair<std::string, bool>::second), 300);
}

/// Two readers of a value that cannot agree, so that one permute is needed.
std::string proof_of_two_readers() {
  const Graph graph = parse_graph(R"(
graph "two" {
  input "x" %x : f32[4,6]
  %w = constant() { data = f32[6,6] splat 0.5 }
  %v = constant() { data = f32[4,4] splat 0.5 }
  %a = neg(%x)
  %b = linear(%a, %w)
  %t = relayout(%a) { relayout = [4,6] (4,6)->(1,0) [6,4] }
  %c = linear(%t, %v)
  %d = softmax(%c) { axis = 1 }
  output "b" %b
  output "d" %d
})",
                                  "two");
  const Placement placement = place(graph, xnnpack::rules().orders, true);
  return proof_of("two", placement, xnnpack::rules().orders.moves);
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from << " in\n" << text;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

std::string line_with(const std::string& text, const std::string& word) {
  const size_t begin = text.find("\n" + word + " ") + 1;
  return text.substr(begin, text.find('\n', begin) + 1 - begin);
}

void expect_refused(const std::string& methods, const std::string& why) {
  const Verdict verdict = check(file_of(methods, 1));
  EXPECT_EQ(verdict.exit_code, 1) << why;
  ASSERT_EQ(verdict.lines.size(), 1) << why;
  EXPECT_NE(verdict.lines[0].find(why), std::string::npos) << verdict.lines[0];
}

TEST(Proof, IsAccepted) {
  const std::string proof = proof_of_two_readers();
  const Verdict verdict = check(file_of(proof, 1));
  EXPECT_EQ(verdict.exit_code, 0);
  ASSERT_EQ(verdict.lines.size(), 1);
  EXPECT_TRUE(verdict.lines[0].ends_with("1 permute: proved")) << verdict.lines[0] << proof;
}

TEST(Proof, WithAWrongCostIsRefused) {
  const std::string proof = proof_of_two_readers();
  expect_refused(changed(proof, line_with(proof, "cost"), "cost 1 1\n"), "the choice costs");
}

TEST(Proof, OfAnotherChoiceIsRefused) {
  const std::string proof = proof_of_two_readers();
  const std::string choice = line_with(proof, "choice");
  // The first op that has another order takes it.
  size_t refused = 0;
  for (size_t i = 7; i < choice.size(); i += 2) {
    std::string other = choice;
    other[i] = other[i] == '0' ? '1' : '0';
    refused += check(file_of(changed(proof, choice, other), 1)).exit_code == 1;
  }
  EXPECT_GT(refused, 0);
}

TEST(Proof, WithAWrongWitnessIsRefused) {
  const std::string proof = proof_of_two_readers();
  // A bound that the steps do not give.
  expect_refused(changed(proof, line_with(proof, "gives"), "gives 1 0\n"), "the steps give");
  expect_refused(changed(proof, line_with(proof, "bound"), "bound 1 0\n"), "the parts give");
  // A higher limit: what was dropped below the old one is not too dear by the new one.
  const std::string part = line_with(proof, "part");
  expect_refused(changed(proof, part, "part 999999999999 1\n"), "line ");
  // Terms that count twice.
  const size_t begin = proof.find(part), end = proof.find("bound ");
  const std::string steps = proof.substr(begin, end - begin);
  expect_refused(changed(proof, steps, steps + steps), "its cost would count twice");
  // An op is left without its cheapest order.
  expect_refused(changed(proof, "gives", "drop 0 0\ngives"), "line ");
}

/// Costs that are moved back and forth stay what they are, however large they get on the way.
TEST(Proof, WithHugeMovesIsRefused) {
  const std::string proof = proof_of_two_readers();
  const std::string part = line_with(proof, "part"), drop = line_with(proof, "drop");
  std::string moves = "table 1 1 2\n";
  for (int i = 0; i < 200; ++i) moves += "move 4 0 2305843009213693952 2305843009213693952\n";
  for (int i = 0; i < 200; ++i) moves += "move 4 0 -2305843009213693952 -2305843009213693952\n";
  expect_refused(changed(proof, drop, moves), "too large");
}

TEST(Proof, WithAWrongProblemIsRefused) {
  const std::string proof = proof_of_two_readers();
  // A form that is not all of the value, and one that is another movement than it was.
  expect_refused(changed(proof, "form 4 6 -> 1 0", "form 4 6 -> 0 0"), "not an order of all");
  expect_refused(changed(proof, "form 4 6 -> 1 0", "form 4 5 -> 1 0"), "not an order of all");
  expect_refused(changed(proof, ": a\nform 24 -> 0\nform 4 6", ": a\nform 24 -> 0\nform 2 12"),
                 "the choice costs");
  // Costs of another profile.
  expect_refused(changed(proof, line_with(proof, "costs"), "costs 7 7 7 6\n"), "the choice costs");
  // An op of which only the chosen order is known.
  std::string open = proof;
  for (size_t at = 0; (at = open.find(" all : ", at)) != std::string::npos;)
    open.replace(at, 7, " chosen : ");
  expect_refused(open, "whose orders are not all known");
}

/// A file that ends anywhere, or has other bytes anywhere, is refused in one line, or says the
/// same.
TEST(Proof, DamagedIsRefused) {
  const std::string whole = file_of(proof_of_two_readers(), 1);
  const std::string right = check(whole).lines.at(0);
  for (size_t end = 0; end < whole.size(); end += 1 + whole.size() / 100) {
    const Verdict verdict = check(whole.substr(0, end));
    EXPECT_EQ(verdict.exit_code, 1) << end;
    EXPECT_EQ(verdict.lines.size(), 1) << end;
  }
  Random random(first_seed());
  for (uint32_t i = 0; i < graph_count(200); ++i) {
    std::string damaged = whole;
    const int64_t last = std::ssize(whole) - 1;
    for (int64_t n = random.between(1, 3); n > 0; --n)
      damaged[static_cast<size_t>(random.between(0, last))] =
          static_cast<char>(random.between(32, 126));
    const Verdict verdict = check(damaged);
    ASSERT_TRUE(verdict.exit_code == 0 || verdict.exit_code == 1) << damaged;
    ASSERT_EQ(verdict.lines.size(), 1) << damaged;
  }
}

}  // namespace
}  // namespace layline
