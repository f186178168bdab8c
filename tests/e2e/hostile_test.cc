// Models made to hurt: whatever they ask for, compiling ends within seconds and a bounded memory,
// with a program or one message.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>

#include "../zip_writer.h"

namespace layline {
namespace {

namespace fs = std::filesystem;

constexpr rlim_t kSeconds = 60;                  // of processor time; what is refused takes none
constexpr size_t kMostAdded = size_t{80} << 20;  // to a program, of what the model does not hold

class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    base_ = fs::path(testing::TempDir()) / fmt::format("layline_hostile_{}", ::getpid());
    fs::create_directories(base_);
  }
  void TearDown() override { fs::remove_all(base_); }

  /// Compiles the model within the limits; what it says on stderr.
  std::string compile(const std::string& model, const std::string& target) const {
    const std::string file = base_ / "model", output = base_ / "out", errors = base_ / "errors";
    std::ofstream(file, std::ios::binary) << model;
    const pid_t child = ::fork();
    if (child == 0) {
      const int to = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(to, STDERR_FILENO);
      ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
      limit(RLIMIT_CPU, kSeconds);
#if !defined(LAYLINE_SANITIZED)  // the sanitizer reserves terabytes
      limit(RLIMIT_AS, rlim_t{4} << 30);
#endif
      ::execl(LAYLINE_BINARY, LAYLINE_BINARY, "compile", file.c_str(), "-o", output.c_str(),
              "--target", target.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::ostringstream said;
    said << std::ifstream(errors).rdbuf();
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << said.str();
    EXPECT_LE(WEXITSTATUS(status), 1) << said.str();
    if (WEXITSTATUS(status) == 1) {
      EXPECT_EQ(said.str().rfind("layline: ", 0), 0u) << said.str();
      EXPECT_LT(said.str().size(), 5000u) << "a message that nobody reads";
    }
    if (WEXITSTATUS(status) == 0) {
      EXPECT_LE(fs::file_size(output), model.size() * 4 + kMostAdded);
    }
    return said.str();
  }
  void survives(const std::string& model) const {
    for (const char* target : {"xnnpack", "tosa"}) compile(model, target);
  }
  void refuses(const std::string& model, const std::string& word) const {
    const std::string said = compile(model, "xnnpack");
    EXPECT_NE(said.find(word), std::string::npos) << said;
  }

 private:
  static void limit(decltype(RLIMIT_AS) what, rlim_t value) {
    const rlimit both{value, value};
    ::setrlimit(what, &both);
  }
  fs::path base_;
};

std::string graph(const std::string& body) { return "graph \"g\" {\n" + body + "}\n"; }

std::string repeated(int times, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < times; ++i) text += line(i) + '\n';
  return text;
}

std::string archive(const std::string& model_json) {
  ZipWriter zip;
  zip.add("r/archive_format", "pt2").add("r/byteorder", "little");
  zip.add("r/models/model.json", model_json);
  zip.add("r/data/weights/model_weights_config.json", R"({"config":{}})");
  zip.add("r/data/constants/model_constants_config.json", R"({"config":{}})");
  return zip.finish();
}

TEST_F(Hostile, DeepJson) {
  refuses(archive(std::string(1'000'000, '[')), "model.json");
  refuses(archive(repeated(500'000, [](int) { return R"({"a":)"; })), "model.json");
}

TEST_F(Hostile, DeepExpressions) {
  const std::string open(200'000, '(');
  refuses(graph("symbol s1 \"n\" in [1,8]\nsymbol s2 = \"" + open + "s1\"\n"), "model:");
}

TEST_F(Hostile, HugeRanks) {
  std::string ones = "1";
  for (int i = 0; i < 20'000; ++i) ones += ",1";
  survives(graph("input \"x\" %x : f32[" + ones +
                 "]\n%y = clamp(%x) { bounds = [0,6] }\n"
                 "output \"y\" %y\n"));
}

TEST_F(Hostile, SizesThatOverflow) {
  const std::string large = "4611686018427387904";
  survives(graph("input \"x\" %x : f32[" + large + "," + large + "]\noutput \"y\" %x\n"));
  survives(graph("input \"x\" %x : f32[" + large + "]\n%y = add(%x, %x)\noutput \"y\" %y\n"));
  // Twice as long with every line.
  survives(graph("input \"x\" %x0 : f32[1,1024]\n" +
                 repeated(60,
                          [](int i) {
                            return fmt::format("%x{} = concat(%x{}, %x{}) {{ axis = 1 }}", i + 1, i,
                                               i);
                          }) +
                 "output \"y\" %x60\n"));
}

TEST_F(Hostile, AxesThatNoProgramCanHave) {
  refuses(graph("input \"x\" %x : f32[3000000000]\n%y = neg(%x)\noutput \"y\" %y\n"),
          "`x` has an axis of 3000000000 elements");
  refuses(graph("input \"x\" %x0 : f32[2000000000,1000000000]\n" +
                repeated(4,
                         [](int i) {
                           return fmt::format("%x{} = {}(%x{})", i + 1, i % 2 == 0 ? "neg" : "abs",
                                              i);
                         }) +
                "output \"y\" %x4\n"),
          "2^63 bytes");
}

TEST_F(Hostile, ConstantsLargerThanMemory) {
  for (const char* size : {"100000000", "1000000000", "1000000000000", "4611686018427387903"}) {
    survives(
        graph(fmt::format("input \"x\" %x : f32[1]\n%c : f32[{0}] = constant() {{ data = "
                          "f32[{0}] splat 1 }}\n%d = neg(%c)\n%y = add(%x, %d)\n"
                          "output \"y\" %y\n",
                          size)));
    survives(
        graph(fmt::format("input \"x\" %x : f32[1]\n%c : f32[1] = constant() {{ data = f32[1] "
                          "(1) }}\n%e = expand(%c) {{ shape = [{0}] }}\n%d = neg(%e)\n"
                          "%y = add(%x, %d)\noutput \"y\" %y\n",
                          size)));
  }
}

TEST_F(Hostile, DagsThatDoubleWithEveryLine) {
  // A walk that does not remember where it was takes 2^200 steps.
  for (const char* line : {"%x{1} = add(%x{0}, %x{0})", "%x{1} = mul(%x{0}, %x{0})",
                           "%x{1} = maximum(%x{0}, %x{0})", "%x{1} = matmul(%x{0}, %x{0})"}) {
    survives(graph("input \"x\" %x0 : f32[4,4]\n" +
                   repeated(200,
                            [&](int i) {
                              std::string text = line;
                              for (size_t at = 0; (at = text.find('{')) != std::string::npos;)
                                text.replace(at, 3, std::to_string(i + (text[at + 1] - '0')));
                              return text;
                            }) +
                   "output \"y\" %x200\n"));
  }
}

/// Whether a number can go into weights is asked of all that lies before it: of products, by either
/// factor; of a chain, to its beginning.
TEST_F(Hostile, WaysThatDoubleWithEveryProduct) {
  const auto scaled = [](int count, const std::string& line) {
    std::string model = "graph \"g\" {\n  input \"x\" %x : f32[4]\n  %m0 = sigmoid(%x)\n";
    for (int i = 0; i < count; ++i)
      model += fmt::format("  %m{} = {}\n", i + 1, fmt::format(fmt::runtime(line), i));
    return model + fmt::format(
                       "  %h = constant() {{ data = f32[] (0.5) }}\n  %y = mul(%m{}, %h)\n"
                       "  output \"y\" %y\n}}\n",
                       count);
  };
  survives(scaled(60, "mul(%m{0}, %m{0})"));
  survives(scaled(20000, "add(%m{0}, %x)"));
}

TEST_F(Hostile, ManyNodes) {
  survives(graph("input \"x\" %x0 : f32[1,4,6,8]\n" +
                 repeated(30'000,
                          [](int i) {
                            return fmt::format("%x{} = {}(%x{})", i + 1, i % 2 == 0 ? "neg" : "abs",
                                               i);
                          }) +
                 "output \"y\" %x30000\n"));
}

TEST_F(Hostile, EverythingReadsEverything) {
  // Permutes and sums between all of them: no order suits anybody.
  constexpr const char* kOrders[] = {"1,0,2,3", "3,2,1,0", "0,2,3,1"};
  std::mt19937 random(1);
  std::string text = "input \"x\" %x0 : f32[4,4,4,4]\n";
  for (unsigned i = 1; i <= 300; ++i) {
    text += fmt::format(
        "%p{0} = relayout(%x{1}) {{ relayout = [4,4,4,4] (4,4,4,4)->({2}) [4,4,4,4] }}\n", i,
        random() % i, kOrders[i % 3]);
    text += fmt::format("%x{0} = add(%p{0}, %x{1})\n", i, random() % i);
  }
  survives(graph(text + "output \"y\" %x300\n"));
}

TEST_F(Hostile, ManyInputsAndOutputsOfOneName) {
  survives(
      graph(repeated(20'000, [](int i) { return fmt::format("input \"x\" %x{} : f32[1]", i); }) +
            repeated(20'000, [](int i) { return fmt::format("output \"x\" %x{}", i); })));
}

TEST_F(Hostile, ManyOutputs) {
  // More than the border of one delegate takes, all alive at the end.
  const std::string outputs =
      "input \"x\" %x : f32[4]\n" + repeated(20'000, [](int i) {
        return fmt::format(
            "%c{0} : f32[] = constant() {{ data = f32[] ({1}) }}\n%y{0} = add(%x, %c{0})\n"
            "output \"y{0}\" %y{0}",
            i, i + 1);
      });
  for (const char* target : {"xnnpack", "tosa"}) EXPECT_EQ(compile(graph(outputs), target), "");
}

TEST_F(Hostile, OneValueThatIsEveryOutput) {
  // A walk over all outputs for each of them takes minutes.
  constexpr int kOutputs = 300'000;
  const std::string one = "input \"x\" %x : f32[4]\n%y = neg(%x)\n" + repeated(kOutputs, [](int i) {
                            return fmt::format("output \"y{}\" %y", i);
                          });
  for (const char* target : {"xnnpack", "tosa"}) EXPECT_EQ(compile(graph(one), target), "");
}

TEST_F(Hostile, ArchivesThatUnpackToMore) {
  // Entries are used where they lie: a thousand names of the same bytes take no memory, and what is
  // compressed is refused.
  ZipWriter deflated;
  deflated.method = 8;
  refuses(deflated.add("r/archive_format", "pt2").finish(), "compressed");
  std::string bomb = archive("{}");
  refuses(bomb + bomb, "model");
}

}  // namespace
}  // namespace layline
