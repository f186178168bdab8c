// What placement claims of every fixture and golden graph, in tests/golden/certificates.txt: what
// it costs, no less than what is possible, what it cost before, what it costs in the program, and
// whether that is proved. A line
// that changes has to be explained; `make certificates` writes the file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "compiler/compile.h"

namespace layline {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = LAYLINE_TEST_DATA "/../golden";
const fs::path kFile = kGolden / "certificates.txt";

std::vector<fs::path> models() {
  std::vector<fs::path> result;
  for (const fs::path& folder : {fs::path(LAYLINE_TEST_DATA), kGolden})
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".pt2" || entry.path().extension() == ".lay")
        result.push_back(entry.path());
  std::ranges::sort(result, {}, [](const fs::path& path) { return path.filename(); });
  return result;
}

std::string told(const Cost& cost) {
  return fmt::format("{} ps {} permutes", cost.time_ps, cost.permutes);
}

/// A line for each method of each model that the target takes.
std::vector<std::string> lines(const std::string& target) {
  std::vector<std::string> result;
  for (const fs::path& model : models()) {
    CompileOptions options;
    options.target = target;
    options.explain = true;
    if (target == "xnnpack") options.for_target.profile = "epyc-avx512";
    std::vector<Certificate> certificates;
    try {
      certificates = compile(model, options).certificates;
    } catch (const UserError&) {
      continue;  // golden graphs that are refused, and what TOSA has no ops for
    }
    for (size_t i = 0; i < certificates.size(); ++i) {
      const Certificate& certificate = certificates[i];
      EXPECT_LE(certificate.bound.price(), certificate.cost.price()) << model;
      EXPECT_LE(certificate.cost.price(), certificate.before.price()) << model;
      result.push_back(fmt::format(
          "{} {} {}: {}; cost {}; bound {}; before {}; written {}", model.filename().string(), i,
          target, certificate.optimal() ? "proved" : "open", told(certificate.cost),
          told(certificate.bound), told(certificate.before), told(certificate.written)));
    }
  }
  return result;
}

/// What the usual milliseconds leave open, --prove decides: it finds something cheaper here, and
/// that there is nothing cheaper still.
TEST(Certificates, AreProvedWithMoreSeconds) {
  const auto certificate = [](double seconds) {
    CompileOptions options;
    options.for_target.profile = "epyc-avx512";
    options.prove_seconds = seconds;
    return compile(LAYLINE_TEST_DATA "/attention_kept_scales.pt2", options).certificates.at(0);
  };
  const Certificate usual = certificate(0), more = certificate(1);
  EXPECT_FALSE(usual.optimal());
  EXPECT_TRUE(more.optimal());
  EXPECT_LT(more.cost.price(), usual.cost.price());
  EXPECT_LE(usual.bound.price(), more.cost.price());
}

TEST(Certificates, AreWhatTheyWere) {
  std::vector<std::string> now = lines("xnnpack");
  for (std::string& line : lines("tosa")) now.push_back(std::move(line));
  if (std::getenv("LAYLINE_WRITE_CERTIFICATES") != nullptr) {
    std::ofstream file(kFile);
    for (const std::string& line : now) file << line << "\n";
    return;
  }
  std::ifstream file(kFile);
  std::vector<std::string> before;
  for (std::string line; std::getline(file, line);) before.push_back(line);
  std::string changes;
  for (const std::string& line : now)
    if (std::ranges::find(before, line) == before.end()) changes += "now    " + line + "\n";
  for (const std::string& line : before)
    if (std::ranges::find(now, line) == now.end()) changes += "before " + line + "\n";
  EXPECT_EQ(changes, "") << "explain this, and then: make certificates";
}

}  // namespace
}  // namespace layline
