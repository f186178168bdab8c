// Averages over many places keep their digits, whichever of their sizes are dynamic. XNNPACK adds
// up a channel's elements one after the other, so those of one sign lose digits as they become
// more.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/text.h"
#include "pte/writer.h"
#include "runtime/program.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms/pipeline.h"

namespace layline {
namespace {

using Sizes = std::vector<int64_t>;

/// How far the average is off that of doubles, relative to it. The elements are nearly the same, so
/// that what is rounded off their sum adds up.
double error_of(const std::string& shape, const Sizes& sizes, Report& report) {
  Graph graph = parse_graph(fmt::format(R"(graph "average" {{
    symbol s1 "h" in [1,40]
    symbol s2 "w" in [1,40]
    input "x" %x : f32{}
    %y = reduce_mean(%x) {{ axes = [1,2] }}
    output "y" %y
  }})",
                                        shape),
                            "test");
  run_pipeline(graph, {.target = xnnpack::rules(), .validate = true});
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  const pte::Program program = xnnpack::lower(graphs, report);
  MemorySink sink;
  write_program(program, sink);
  LoadedProgram loaded = LoadedProgram::from_compiled(sink.bytes(), "the average", {"average"});

  Tensor x({DType::f32, {sizes.begin(), sizes.end()}});
  std::mt19937 random(1);
  std::uniform_real_distribution<double> real(1.1, 1.1001);
  double sum = 0;
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, real(random));
  const int64_t places = sizes[1] * sizes[2], channels = sizes[3];
  for (int64_t i = 0; i < places; ++i) sum += x.get(i * channels);
  const Tensor y = as_tensor(loaded.run({as_host(x)})[0]);
  const double expected = sum / static_cast<double>(places);
  return std::abs(y.get(0) - expected) / expected;
}

TEST(Averages, KeepTheirDigitsWhateverIsDynamic) {
  struct Case {
    const char* shape;
    Sizes sizes;
  };
  const Case cases[] = {
      {"[1,320,320,3]", {1, 320, 320, 3}},     // fixed
      {"[2,320,320,3]", {2, 320, 320, 3}},     // two images
      {"[1,102400,1,3]", {1, 102400, 1, 3}},   // a line
      {"[1,8*s1,8*s2,3]", {1, 320, 320, 3}},   // both sizes
      {"[1,320,8*s2,3]", {1, 320, 320, 3}},    // one of them
      {"[2,8*s1,320,3]", {2, 320, 320, 3}},    // one of two images
      {"[1,2560*s1,1,3]", {1, 102400, 1, 3}},  // a line in steps
      {"[1,1,2560*s2,3]", {1, 1, 102400, 3}},  // that lies along the other axis
      {"[s1,320,320,3]", {5, 320, 320, 3}},    // so many images
  };
  for (const Case& c : cases) {
    Report report;
    EXPECT_LE(error_of(c.shape, c.sizes, report), 5e-6) << c.shape;
    EXPECT_EQ(report.delegates, 1) << c.shape;
    EXPECT_TRUE(report.portable_ops.empty()) << c.shape;
  }
}

TEST(Averages, AreRightAtEverySize) {
  for (const char* shape : {"[1,8*s1,8*s2,3]", "[1,320,8*s2,3]", "[1,8*s1,8,3]"}) {
    for (const int64_t size : {8, 16, 72}) {
      const std::string text = shape;
      const Sizes sizes = {1, text.starts_with("[1,320") ? 320 : size,
                           text.ends_with(",8,3]") ? 8 : size, 3};
      Report report;
      EXPECT_LE(error_of(shape, sizes, report), 5e-6) << shape << " at " << size;
    }
  }
}

}  // namespace
}  // namespace layline
