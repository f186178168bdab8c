// The command as a user meets it: exit codes, messages, and what is left on disk.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "../zip_writer.h"
#include "base/npy.h"
#include "compiler/compile.h"
#include "fixture.h"
#include "layline/version.h"
#include "transforms/pipeline.h"

namespace layline {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs layline in an empty directory of its own.
class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    base_ = fs::path(testing::TempDir()) / fmt::format("layline_{}_{}", test->name(), ::getpid());
    fs::create_directories(directory());
  }
  void TearDown() override { fs::remove_all(base_); }

  fs::path directory() const { return base_ / "directory"; }

  /// `arguments` and `environment` are shell text; `'` quotes.
  Outcome layline(const std::string& arguments, const std::string& environment = "",
                  const std::string& binary = LAYLINE_BINARY) const {
    const fs::path out = base_ / "out", err = base_ / "err";
    const std::string command =
        fmt::format("cd '{}' && {} '{}' {} >'{}' 2>'{}' </dev/null", directory().string(),
                    environment, binary, arguments, out.string(), err.string());
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory() / name, std::ios::binary) << text;
  }

  /// What torch gave to mobile_block, as image.npy, and in image.npz by the name of the input.
  void write_image(const std::string& input) const {
    const NpyArray image = arrays_of("mobile_block").read("input_0");
    write_npy(directory() / "image.npy", image.type, image.shape, image.bytes);
    write("image.npz",
          ZipWriter().add(input + ".npy", contents(directory() / "image.npy")).finish());
  }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory())) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  /// The user's error: status 1, one line on stderr that says all of `words`, no file written.
  void expect_refusal(const std::string& arguments, const std::vector<std::string>& words) const {
    SCOPED_TRACE("layline " + arguments);
    const std::set<std::string> before = files();
    const Outcome outcome = layline(arguments);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.rfind("layline: ", 0), 0u) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.err.find("internal"), std::string::npos) << outcome.err;
    for (const std::string& word : words) {
      EXPECT_NE(outcome.err.find(word), std::string::npos)
          << "no '" << word << "' in: " << outcome.err;
    }
    EXPECT_EQ(files(), before);
  }

  void expect_success(const std::string& arguments, const std::vector<std::string>& words) const {
    SCOPED_TRACE("layline " + arguments);
    const Outcome outcome = layline(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    for (const std::string& word : words) {
      EXPECT_NE(outcome.out.find(word), std::string::npos)
          << "no '" << word << "' in: " << outcome.out;
    }
  }

  fs::path base_;
};

// ---- The command line ----

TEST_F(CliTest, CompilingNeedsNoRuntime) {
  const fs::path alone = base_ / "layline";
  fs::copy_file(LAYLINE_BINARY, alone);
  const Outcome compiled = layline("compile '" + model_of("conv2d") + "' -o a.pte", "", alone);
  EXPECT_EQ(compiled.status, 0) << compiled.err;
  EXPECT_EQ(layline("explain '" + model_of("conv2d") + "'", "", alone).status, 0);
  EXPECT_EQ(layline("diff a.pte a.pte", "", alone).status, 0);
  for (const std::string arguments : {"run a.pte", "--help", ""}) {
    const Outcome handed_over = layline(arguments, "", alone);
    EXPECT_EQ(handed_over.status, 1);
    EXPECT_EQ(
        handed_over.err,
        fmt::format("layline: cannot start '{}-runtime', which runs programs and is installed "
                    "with layline: No such file or directory\n",
                    alone.string()));
  }
  // And does not load it.
  const fs::path libraries = base_ / "libraries";
  const std::string trace =
      fmt::format("LD_TRACE_LOADED_OBJECTS=1 '{}' >'{}'", LAYLINE_BINARY, libraries.string());
  ASSERT_EQ(std::system(trace.c_str()), 0);
  EXPECT_NE(contents(libraries).find("libc.so"), std::string::npos);
  EXPECT_EQ(contents(libraries).find("libexecutorch"), std::string::npos);
}

TEST_F(CliTest, HelpTeaches) {
  expect_success("--help", {"compile", "run", "bench", "Example"});
  expect_success("compile --help", {"MODEL", "--report", "--emit", "import", "fold", "Example"});
  expect_success("run --help", {"PROGRAM", "NAME=FILE.npy", "--output-dir", "Example"});
  expect_success("bench --help", {"PROGRAM", "--iterations", "--per-op", "--json", "Example"});
}

TEST_F(CliTest, Version) { expect_success("--version", {"layline " LAYLINE_VERSION}); }

TEST_F(CliTest, WrongCommandLines) {
  expect_refusal("", {"layline --help"});
  expect_refusal("combine x.pt2", {"combine"});
  expect_refusal("compile", {"MODEL", "layline compile --help"});
  expect_refusal("run", {"PROGRAM"});
  expect_refusal("bench", {"PROGRAM"});
  expect_refusal("compile x.pt2 --frobnicate", {"--frobnicate"});
  expect_refusal("compile x.pt2 y.pt2", {"y.pt2"});
  expect_refusal("compile x.pt2 -o", {"-o"});
  expect_refusal("run x.pte --threads 0", {"--threads"});
  expect_refusal("run x.pte --threads -3", {"--threads"});
  expect_refusal("run x.pte --threads many", {"--threads"});
  expect_refusal("bench x.pte --iterations 0", {"--iterations"});
  expect_refusal("bench x.pte --iterations 99999999999999999999999", {"--iterations"});
}

// ---- C7: an option is honoured or refused, never dropped ----

TEST_F(CliTest, AReportIsJsonOrAPage) {
  expect_success("compile " + model_of("conv2d") + " --report report.html", {"conv2d.pte"});
  EXPECT_EQ(files(), (std::set<std::string>{"conv2d.pte", "report.html"}));
  EXPECT_EQ(contents(directory() / "report.html").rfind("<!doctype html>", 0), 0u);
}

TEST_F(CliTest, OptionsThatCannotBeHonouredAreRefused) {
  const std::string model = model_of("conv2d");
  expect_refusal("compile " + model + " --target cuda", {"cuda", "xnnpack", "tosa"});
  expect_refusal("compile " + model + " --report report.txt", {"report.txt", "json"});
  expect_refusal("compile " + model + " --report report", {"report", "json"});
  expect_refusal("compile " + model + " --disable no-such-pass", {"no-such-pass", "there are"});
  expect_refusal("compile " + model + " --emit no-such-stage", {"no-such-stage", "import"});
  expect_refusal("compile " + model + " --emit import --report r.json", {"--report", "--emit"});
  for (const char* option :
       {"-o", "--target", "--report", "--emit", "--disable", "--input-order"}) {
    expect_refusal(fmt::format("compile {} {} ''", model, option), {option, "empty"});
  }
  for (const char* option : {"-o a -o b", "--target xnnpack --target xnnpack",
                             "--report a.json --report b.json", "--emit import --emit import"}) {
    expect_refusal(fmt::format("compile {} {}", model, option), {});
  }
}

TEST_F(CliTest, OrdersAreChecked) {
  const std::string model = model_of("conv2d");
  for (const std::string option : {"--input-order", "--output-order"}) {
    const std::string start = fmt::format("compile {} {} ", model, option);
    expect_refusal(start + "x", {option, "NAME=VALUE"});
    expect_refusal(start + "=nhwc", {option, "NAME=VALUE"});
    expect_refusal(start + "x=", {option, "NAME=VALUE"});
    expect_refusal(start + "x=hwcn", {"hwcn", "nhwc"});
    expect_refusal(start + fmt::format("x=nhwc {} x=nchw", option), {option, "twice"});
    expect_refusal(start + "no_such_name=nhwc", {"no_such_name", "there"});
  }
}

// ---- compile ----

TEST_F(CliTest, CompileWritesTheProgramAndTellsAboutIt) {
  expect_success("compile " + model_of("conv2d"), {"conv2d.pte", "1 delegate", "permute"});
  EXPECT_EQ(files(), (std::set<std::string>{"conv2d.pte"}));
  expect_success("compile " + model_of("conv2d") + " -o other.pte --report report.json",
                 {"other.pte"});
  EXPECT_EQ(files(), (std::set<std::string>{"conv2d.pte", "other.pte", "report.json"}));
  EXPECT_EQ(contents(directory() / "conv2d.pte"), contents(directory() / "other.pte"))
      << "outputs are deterministic";

  simdjson::dom::parser parser;
  const simdjson::dom::element report = parser.load(directory() / "report.json");
  EXPECT_EQ(std::string_view(report["version"]), LAYLINE_VERSION);
  EXPECT_EQ(std::string_view(report["target"]), "xnnpack");
  EXPECT_EQ(int64_t(report["delegates"]), 1);
  EXPECT_GT(double(report["compile_ms"]), 0);
  EXPECT_GT(int64_t(report["memory"]["constant_bytes"]), 0);
}

TEST_F(CliTest, CompileReplacesAnOlderProgram) {
  write("out.pte", "an older program");
  expect_success("compile " + model_of("conv2d") + " -o out.pte", {"out.pte"});
  EXPECT_EQ(contents(directory() / "out.pte").substr(4, 4), "ET12");
}

TEST_F(CliTest, EmitWritesTextAndNoProgram) {
  const Outcome shown = layline("compile " + model_of("conv2d") + " --emit import");
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("conv2d"), std::string::npos) << shown.out;
  EXPECT_TRUE(files().empty());

  expect_success("compile " + model_of("conv2d") + " --emit import -o conv2d.lay", {});
  EXPECT_EQ(contents(directory() / "conv2d.lay"), shown.out);
  // The text is accepted wherever a model is.
  expect_success("compile conv2d.lay -o from_text.pte", {"from_text.pte"});
  expect_success("compile " + model_of("conv2d") + " -o from_model.pte", {"from_model.pte"});
  EXPECT_EQ(contents(directory() / "from_text.pte"), contents(directory() / "from_model.pte"));
}

TEST_F(CliTest, EveryStageCanBeEmitted) {
  for (const std::string& stage : stages()) {
    const Outcome outcome =
        layline(fmt::format("compile {} --emit {}", model_of("mobile_block"), stage));
    EXPECT_EQ(outcome.status, 0) << stage << ": " << outcome.err;
    EXPECT_FALSE(outcome.out.empty()) << stage;
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(CliTest, EveryPassCanBeDisabled) {
  for (const Pass& pass : all_passes()) {
    expect_success(fmt::format("compile {} --disable {}", model_of("mobile_block"), pass.name),
                   {"mobile_block.pte"});
  }
}

TEST_F(CliTest, VerifyChecksEveryPass) {
  expect_success("compile " + model_of("mobile_block") + " --verify", {"mobile_block.pte"});
}

/// Of equal numbers that are centred nothing is left but the rounding of their mean.
TEST_F(CliTest, VerifyTakesRoundingForWhatItIs) {
  write("centred.lay", R"(graph "forward" {
  input "x" %x : f32[4,288]
  %y = normalize(%x) { axes = [1], eps = 1e-05 }
  output "y" %y
})");
  const std::vector<float> equal(4 * 288, 0.20026813F);
  write_npy(directory() / "x.npy", NpyType::kFloat32, std::vector<int64_t>{4, 288},
            std::as_bytes(std::span(equal)));
  write("inputs.npz", ZipWriter().add("x.npy", contents(directory() / "x.npy")).finish());
  expect_success("verify centred.lay --inputs inputs.npz", {"agree"});
}

TEST_F(CliTest, OutputsThatCannotBeWritten) {
  const std::string model = model_of("conv2d");
  fs::create_directory(directory() / "taken.pte");
  expect_refusal("compile " + model + " -o taken.pte", {"taken.pte", "directory"});
  expect_refusal("compile " + model + " -o missing/out.pte", {"missing/out.pte"});
  expect_refusal("compile " + model + " -o /dev/null", {"/dev/null"});
  expect_refusal("compile " + model + " -o -", {"'-'", "name of a file"});
  expect_refusal("compile " + model + " -o out.pte --report -", {"FILE.json"});
  expect_refusal("compile " + model + " --emit import -o -", {"'-'", "name of a file"});
  expect_refusal("compile " + model + " -o out.pte --report missing/r.json", {"missing/r.json"});
  expect_refusal("compile " + model + " -o missing/out.pte --report r.json", {"missing/out.pte"});
  expect_refusal("compile " + model + " --emit import -o missing/out.lay", {"missing/out.lay"});
  expect_refusal("compile " + model + " -o same.json --report ./same.json", {"same.json", "both"});
}

TEST_F(CliTest, AFullDiskLeavesNothing) {
  const Outcome outcome =
      layline("compile " + model_of("conv2d") + " --emit import >/dev/full 2>err.txt; exit $?");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(contents(directory() / "err.txt").find("standard output"), std::string::npos);
}

TEST_F(CliTest, TheModelIsNeverOverwritten) {
  fs::copy_file(model_of("conv2d"), directory() / "model.pt2");
  const std::string before = contents(directory() / "model.pt2");
  expect_refusal("compile model.pt2 -o model.pt2", {"model.pt2", "over the model"});
  fs::create_symlink("model.pt2", directory() / "link.json");
  expect_refusal("compile model.pt2 --report link.json", {"link.json", "over the model"});
  EXPECT_EQ(contents(directory() / "model.pt2"), before);
}

TEST_F(CliTest, NothingThatIsReadIsOverwritten) {
  const std::string model = model_of("conv2d");
  fs::copy_file(fs::path(LAYLINE_TEST_DATA) / "../../profiles/epyc-avx2.json",
                directory() / "profile.json");
  const std::string profile = contents(directory() / "profile.json");
  expect_refusal("compile " + model + " --profile profile.json --report ./profile.json",
                 {"profile.json", "over the profile"});
  expect_refusal("compile " + model + " --profile profile.json -o profile.json",
                 {"profile.json", "over the profile"});
  EXPECT_EQ(contents(directory() / "profile.json"), profile);
  ASSERT_EQ(layline("compile " + model + " -o program.pte").status, 0);
  const std::string program = contents(directory() / "program.pte");
  expect_refusal("bench program.pte --iterations 1 --per-op --node-data program.pte",
                 {"program.pte", "over the program"});
  EXPECT_EQ(contents(directory() / "program.pte"), program);
}

// ---- Inputs that are not models ----

TEST_F(CliTest, FilesThatAreNotModels) {
  write("empty.pt2", "");
  write("text.pt2", "this is not a zip archive\n");
  write("noise.pt2", std::string(4096, '\xa5'));
  write("zip_magic.pt2", "PK\x03\x04");
  write("program.pte", "not a program");
  fs::create_directory(directory() / "folder.pt2");
  for (const char* model : {"empty.pt2", "text.pt2", "noise.pt2", "zip_magic.pt2", "folder.pt2",
                            "missing.pt2", "missing/missing.pt2"}) {
    expect_refusal(fmt::format("compile {} -o out.pte", model), {model});
    expect_refusal(fmt::format("compile {} --emit import", model), {model});
    expect_refusal(fmt::format("run {} --output-dir outputs", model), {model});
    expect_refusal(fmt::format("bench {}", model), {model});
  }
  for (const char* command : {"compile", "explain", "verify"})
    expect_refusal(fmt::format("{} program.pte", command), {"program.pte", "layline run"});
  expect_refusal("run program.pte", {"program.pte"});
  expect_refusal("run missing.pte", {"missing.pte"});
}

TEST_F(CliTest, AMessageIsOneLineWhateverIsQuoted) {
  expect_refusal("compile 'two\nlines\x1b[31m.pt2'", {"two\\x0alines\\x1b[31m.pt2"});
}

/// A reference model that refuses a right program looks like a bug of layline.
TEST_F(CliTest, ABugEndsWithStatusTwoAndAReproducer) {
  write("tosa_reference_model", "#!/bin/sh\necho 'it is broken'\nexit 1\n");
  fs::permissions(directory() / "tosa_reference_model", fs::perms::owner_all);
  const std::string environment =
      fmt::format("env -u LAYLINE_TOSA_PYTHON PATH='{}':\"$PATH\"", directory().string());
  const std::string arguments = "verify " + model_of("linear") + " --target tosa";
  const Outcome outcome = layline(arguments, environment);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err.rfind("layline: internal error: ", 0), 0u) << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  std::set<std::string> left = files();
  left.erase("tosa_reference_model");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_NE(outcome.err.find(*left.begin()), std::string::npos) << outcome.err;
  const std::string reproducer = contents(directory() / *left.begin());
  EXPECT_NE(reproducer.find("layline " LAYLINE_VERSION), std::string::npos) << reproducer;
  EXPECT_NE(reproducer.find("'verify' '" + model_of("linear") + "' '--target' 'tosa'"),
            std::string::npos)
      << reproducer;
  EXPECT_NE(reproducer.find("it is broken"), std::string::npos) << reproducer;

  const Outcome homeless = layline(arguments, environment + " TMPDIR=/nowhere");
  EXPECT_EQ(homeless.status, 1);
  EXPECT_NE(homeless.err.find("TMPDIR"), std::string::npos) << homeless.err;
}

TEST_F(CliTest, TruncatedModels) {
  const std::string whole = contents(model_of("mobile_block"));
  ASSERT_GT(whole.size(), 1000u);
  for (size_t part = 0; part < 16; ++part) {
    write("short.pt2", whole.substr(0, whole.size() * part / 16));
    expect_refusal("compile short.pt2 -o out.pte --report out.json", {"short.pt2"});
  }
  write("short.pt2", whole.substr(0, whole.size() - 1));
  expect_refusal("compile short.pt2 -o out.pte", {"short.pt2"});
}

TEST_F(CliTest, TruncatedPrograms) {
  ASSERT_EQ(layline("compile " + model_of("conv2d") + " -o whole.pte").status, 0);
  const std::string whole = contents(directory() / "whole.pte");
  for (size_t part = 0; part < 16; ++part) {
    write("short.pte", whole.substr(0, whole.size() * part / 16));
    expect_refusal("run short.pte", {"short.pte"});
  }
}

TEST_F(CliTest, ModelsThatAreRefused) {
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(LAYLINE_TEST_DATA) / "bad")) {
    expect_refusal("compile " + entry.path().string() + " -o out.pte", {});
  }
}

// ---- run ----

TEST_F(CliTest, RunGivesTorchsNumbers) {
  ASSERT_EQ(layline("compile " + model_of("mobile_block") + " --report report.json").status, 0);
  simdjson::dom::parser parser;
  const simdjson::dom::element report = parser.load(directory() / "report.json");
  const std::string input(std::string_view(report["inputs"].at(0)["name"]));
  const std::string output(std::string_view(report["outputs"].at(0)["name"]));
  write_image(input);

  for (const std::string& arguments :
       {fmt::format("mobile_block.pte --input {}=image.npy", input),
        fmt::format("{} --inputs image.npz", model_of("mobile_block"))}) {
    fs::remove_all(directory() / "made");
    expect_success("run " + arguments + " --output-dir made/here --threads 1",
                   {"output " + output, "min", "max", "mean", "ran in"});
    const NpyArray actual = read_npy(directory() / "made" / "here" / (output + ".npy"));
    const NpyArray expected = arrays_of("mobile_block").read("output_0");
    ASSERT_EQ(actual.type, expected.type);
    ASSERT_EQ(actual.shape, expected.shape);
    const auto* a = reinterpret_cast<const float*>(actual.bytes.data());
    const auto* e = reinterpret_cast<const float*>(expected.bytes.data());
    float largest = 0, worst = 0;
    for (size_t i = 0; i < expected.bytes.size() / sizeof(float); ++i) {
      largest = std::max(largest, std::abs(e[i]));
      worst = std::max(worst, std::abs(a[i] - e[i]));
    }
    EXPECT_LE(worst, 1e-5f * largest);
  }
}

TEST_F(CliTest, RunMakesUpWhatIsNotGiven) {
  const std::string model = model_of("conv2d");
  expect_success("run " + model + " --output-dir first", {"random, seed 0"});
  expect_success("run " + model + " --output-dir second", {"random, seed 0"});
  size_t outputs = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory() / "first")) {
    EXPECT_EQ(contents(entry.path()), contents(directory() / "second" / entry.path().filename()));
    ++outputs;
  }
  EXPECT_EQ(outputs, 11u);
}

TEST_F(CliTest, RunTakesTheMethodThatIsAskedFor) {
  const std::string model = model_of("methods");
  expect_refusal("run " + model, {"forward", "encode", "decode"});
  expect_success("run " + model + " --method encode", {"output"});
  expect_success("run " + model + " --method decode", {"output"});
}

TEST_F(CliTest, OrdersAreHonoured) {
  const std::string model = model_of("conv2d.channels_last");
  for (const std::string order : {"nchw", "nhwc"}) {
    expect_success(fmt::format("compile {} --input-order x={} --report r.json", model, order), {});
    simdjson::dom::parser parser;
    const simdjson::dom::element input = parser.load(directory() / "r.json")["inputs"].at(0);
    EXPECT_EQ(int64_t(input["dim_order"].at(1)), order == "nhwc" ? 2 : 1);
    EXPECT_EQ(int64_t(input["shape"].at(1)), 6) << "the shape stays the model's";
  }
}

TEST_F(CliTest, RunChecksItsInputs) {
  const std::string model = model_of("mobile_block");
  ASSERT_EQ(layline("compile " + model + " -o p.pte --report report.json").status, 0);
  simdjson::dom::parser parser;
  const simdjson::dom::element report = parser.load(directory() / "report.json");
  const std::string input(std::string_view(report["inputs"].at(0)["name"]));

  expect_refusal("run p.pte --input nothing=a.npy", {"nothing", "there", input});
  expect_refusal("run p.pte --input a.npy", {"--input", "NAME=VALUE"});
  expect_refusal(fmt::format("run p.pte --input {}=missing.npy", input), {"missing.npy"});
  write_image(input);
  expect_refusal(fmt::format("run p.pte --input {0}=image.npy --input {0}=image.npy", input),
                 {"twice", input});
  expect_refusal(fmt::format("run p.pte --inputs image.npz --input {0}=image.npy", input),
                 {"twice", input});
  write_image("nothing");
  expect_refusal("run p.pte --inputs image.npz", {"nothing", "there", input});
  expect_refusal("run p.pte --inputs image.npy", {"image.npy", "not a .npz", "numpy.savez"});
  expect_refusal("run p.pte --inputs missing.npz", {"missing.npz"});
  write("text.npy", "not an array");
  expect_refusal(fmt::format("run p.pte --input {}=text.npy", input), {"text.npy"});
  const std::vector<std::byte> eight(8);
  write_npy(directory() / "shape.npy", NpyType::kFloat32, std::vector<int64_t>{2}, eight);
  expect_refusal(fmt::format("run p.pte --input {}=shape.npy", input), {input, "f32[2]", "f32["});
  write_npy(directory() / "dtype.npy", NpyType::kFloat64, std::vector<int64_t>{1}, eight);
  expect_refusal(fmt::format("run p.pte --input {}=dtype.npy", input), {input, "f64[1]", "f32["});
  expect_refusal("run p.pte --method backward", {"backward", "forward"});
  write("file", "");
  expect_refusal("run p.pte --output-dir file/inside", {"file/inside"});
  expect_refusal("run p.pte --threads 100000", {"threads"});
}

// ---- bench ----

TEST_F(CliTest, BenchComparesPrograms) {
  const std::string model = model_of("conv2d");
  ASSERT_EQ(layline("compile " + model + " -o a.pte").status, 0);
  expect_success("bench a.pte " + model + " --iterations 3 --threads 1",
                 {"a.pte", model, "median ms", "1.00x", "3 iterations"});

  const Outcome outcome = layline("bench a.pte " + model + " --iterations 3 --threads 1 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  simdjson::dom::parser parser;
  const simdjson::dom::element report = parser.parse(outcome.out);
  EXPECT_EQ(int64_t(report["iterations"]), 3);
  EXPECT_EQ(int64_t(report["threads"]), 1);
  ASSERT_EQ(simdjson::dom::array(report["programs"]).size(), 2u);
  const simdjson::dom::element second = report["programs"].at(1);
  EXPECT_EQ(std::string_view(second["program"]), model);
  EXPECT_GT(double(second["latency_ms"]["min"]), 0);
  EXPECT_LE(double(second["latency_ms"]["min"]), double(second["latency_ms"]["median"]));
  EXPECT_LE(double(second["latency_ms"]["median"]), double(second["latency_ms"]["p90"]));
  EXPECT_GT(double(second["speedup"]), 0);
}

/// The places of a text must lie in the cache, also those of the longest text.
TEST_F(CliTest, BenchTimesADecoder) {
  for (const char* fixture : {"decoder", "custom_ops"}) {
    const std::string model = model_of(fixture);
    expect_success("bench --threads 1 --iterations 2 " + model, {"median ms"});
    expect_success("bench --per-op --threads 1 --iterations 2 " + model, {"index_put_"});
    expect_success("run " + model, {"all 0"});
  }
}

TEST_F(CliTest, BenchTellsWhereTheTimeGoes) {
  const std::string model = model_of("residual_net");
  expect_success("bench --per-op --threads 1 " + model, {"Convolution (NHWC, F32)", "share"});

  // Without the delegate, the same model is all kernels of the runtime.
  ASSERT_EQ(layline("compile " + model + " --disable delegate -o portable.pte").status, 0);
  const Outcome outcome =
      layline("bench --per-op --threads 1 --json --iterations 3 portable.pte " + model);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  simdjson::dom::parser parser;
  const simdjson::dom::element report = parser.parse(outcome.out);
  auto kernels = [&](size_t program) {
    std::map<std::string, int64_t> calls;
    for (const simdjson::dom::element op : report["programs"].at(program)["ops"])
      calls[std::string(std::string_view(op["op"]))] = int64_t(op["calls"]);
    return calls;
  };
  EXPECT_GT(kernels(0)["convolution.out"], 0);
  EXPECT_EQ(kernels(0).count("Convolution (NHWC, F32) IGEMM"), 0u);
  EXPECT_GT(kernels(1)["Convolution (NHWC, F32) IGEMM"], 0);
  EXPECT_EQ(kernels(1).count("convolution.out"), 0u);

  // Every op of both is one of the model's own: XNNPACK's operators and the runtime's kernels.
  for (size_t program = 0; program < 2; ++program) {
    size_t convolutions = 0;
    for (const simdjson::dom::element op : report["programs"].at(program)["operators"]) {
      const std::string_view name = op["op"];
      std::string_view source;
      ASSERT_EQ(op["source"].get(source), simdjson::SUCCESS) << name;
      // What brings the input into order comes from no line.
      if (std::string_view(op["node"]) != "x") {
        EXPECT_NE(source.find(".py:"), std::string_view::npos) << source;
      }
      if (!name.starts_with("Convolution") && name != "convolution.out") continue;
      EXPECT_TRUE(std::string_view(op["node"]).starts_with("conv2d")) << op["node"];
      ++convolutions;
    }
    EXPECT_EQ(convolutions, program == 0 ? kernels(0)["convolution.out"]
                                         : kernels(1)["Convolution (NHWC, F32) IGEMM"] +
                                               kernels(1)["Convolution (NHWC, F32) GEMM"]);
  }

  // Stripped, a program runs as well and says nothing of where it comes from.
  ASSERT_EQ(layline("compile " + model + " --strip -o stripped.pte").status, 0);
  EXPECT_EQ(contents(directory() / "stripped.pte").find(".py:"), std::string::npos);
  EXPECT_EQ(layline("bench --per-op --iterations 1 stripped.pte").out.find(".py:"),
            std::string::npos);
}

}  // namespace
}  // namespace layline
