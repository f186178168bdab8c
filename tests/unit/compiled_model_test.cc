// The compiler as embedders call it: docs/embedding.md has the promises.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "../message_of.h"
#include "base/error.h"
#include "layline/layline.h"

namespace layline {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

static_assert(std::is_base_of_v<std::runtime_error, Error> && std::is_base_of_v<Error, UserError>);
static_assert(std::is_base_of_v<std::logic_error, BugError> &&
              std::is_base_of_v<BugError, InternalError>);
// What is cancelled has no fault for anybody to put right.
static_assert(!std::is_base_of_v<std::runtime_error, Cancelled>);

std::string fixture(const std::string& name) {
  return std::string(LAYLINE_TEST_DATA) + "/" + name + ".pt2";
}

Bytes read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes copy(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

/// Keeps what comes, and on which thread.
struct Pieces : Sink {
  void expect(uint64_t bytes) override {
    EXPECT_TRUE(all.empty());
    expected.push_back(bytes);
  }
  void write(std::span<const std::byte> piece) override {
    EXPECT_EQ(std::this_thread::get_id(), thread);
    EXPECT_FALSE(piece.empty());
    all.insert(all.end(), piece.begin(), piece.end());
    largest = std::max(largest, piece.size());
    if (on_piece) on_piece();
  }

  std::function<void()> on_piece;
  std::thread::id thread = std::this_thread::get_id();
  std::vector<uint64_t> expected;
  Bytes all;
  size_t largest = 0;
};

class Embedding : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("layline_embedding_{}", ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  size_t count_files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(Embedding, AModelInMemoryGivesTheProgramOfItsFile) {
  for (const char* target : {"xnnpack", "tosa"}) {
    const Options options{.target = target, .explain = true};
    const CompiledModel from_file = compile_model(fixture("mobile_block"), options);
    // At an address of no alignment at all.
    Bytes memory = read(fixture("mobile_block"));
    memory.insert(memory.begin(), std::byte{0});
    const CompiledModel from_memory =
        compile_model(Model(std::span(memory).subspan(1), fixture("mobile_block")), options);
    // Nothing that is kept refers to what was lent for the call.
    std::ranges::fill(memory, std::byte{0xff});
    Bytes().swap(memory);
    EXPECT_EQ(copy(from_memory.bytes()), copy(from_file.bytes())) << target;
    EXPECT_EQ(from_memory.explain(), from_file.explain()) << target;
  }
}

TEST_F(Embedding, AGraphAsTextMayBeInMemory) {
  const std::string text = R"(graph "forward" {
  input "x" %x : f32[2,3]
  %y = add(%x, %x)
  output "y" %y
})";
  const CompiledModel model =
      compile_model(Model(std::as_bytes(std::span(text)), "relu"), {.explain = true});
  EXPECT_EQ(model.explain().substr(0, 8), "relu for");
}

TEST_F(Embedding, MessagesCallAModelInMemoryByItsName) {
  EXPECT_EQ(message_of([] { compile_model(Model({}, "of the camera")); }),
            "'of the camera' is empty");
  const std::string text = "no graph";
  const std::string message =
      message_of([&] { compile_model(Model(std::as_bytes(std::span(text)), "of the camera")); });
  EXPECT_NE(message.find("of the camera"), std::string::npos) << message;
  // Cut short anywhere, it is refused and nothing beyond it is read.
  const Bytes whole = read(fixture("conv2d"));
  for (size_t size = 1; size < whole.size(); size += whole.size() / 61) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_THROW(compile_model(Model(part, "part")), Error) << size;
  }
}

TEST_F(Embedding, ASinkGetsTheProgramInPieces) {
  const Bytes program = copy(compile_model(fixture("mobile_block")).bytes());
  Pieces sink;
  compile_model(fixture("mobile_block"), sink);
  EXPECT_EQ(sink.all, program);
  EXPECT_EQ(sink.expected, std::vector<uint64_t>{program.size()});
  EXPECT_LT(sink.largest, program.size() / 2);
}

TEST_F(Embedding, ATosaProgramIsOnePiece) {
  const Options options{.target = "tosa"};
  Pieces sink;
  compile_model(fixture("mobile_block"), sink, options);
  EXPECT_EQ(sink.all, copy(compile_model(fixture("mobile_block"), options).bytes()));
  EXPECT_EQ(sink.largest, sink.all.size());
  EXPECT_EQ(sink.expected, std::vector<uint64_t>{sink.all.size()});
}

TEST_F(Embedding, WhatASinkThrowsComesOut) {
  struct Full {};
  Pieces sink;
  sink.on_piece = [] { throw Full(); };
  EXPECT_THROW(compile_model(fixture("mobile_block"), sink), Full);
}

TEST_F(Embedding, AFileIsTheProgram) {
  const CompiledModel model = compile_to_file(fixture("mobile_block"), path("out.pte"));
  const CompiledModel kept = compile_model(fixture("mobile_block"));
  kept.save(path("saved.pte"));
  EXPECT_EQ(read(path("out.pte")), copy(kept.bytes()));
  EXPECT_EQ(read(path("saved.pte")), copy(kept.bytes()));
  const Bytes memory = read(fixture("mobile_block"));
  compile_to_file(Model(memory, "memory"), path("out.pte"));
  EXPECT_EQ(read(path("out.pte")), copy(kept.bytes()));
  EXPECT_EQ(count_files(), 2u);
}

TEST_F(Embedding, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_THROW(compile_to_file(fixture("mobile_block"), path("none/out.pte")), Error);
  EXPECT_THROW(compile_model(fixture("conv2d")).save(path("none/out.pte")), Error);
  fs::copy_file(fixture("conv2d"), path("model.pt2"));
  EXPECT_EQ(message_of([&] { compile_to_file(path("model.pt2"), path("./model.pt2")); }),
            fmt::format("'{}' would be written over the model", path("./model.pt2")));
  EXPECT_EQ(read(path("model.pt2")), read(fixture("conv2d")));
}

TEST_F(Embedding, OnlyWhatIsAskedForIsExplained) {
  const CompiledModel model = compile_model(fixture("conv2d"), {.name = "a convolution"});
  const std::string nothing = fmt::format(
      "'{}': no explanations were kept; compile it with Options::explain", fixture("conv2d"));
  EXPECT_EQ(message_of([&] { model.explain(); }), nothing);
  EXPECT_EQ(message_of([&] { model.explain("conv2d"); }), nothing);
  EXPECT_EQ(message_of([&] { model.report_json(); }), nothing);
  EXPECT_EQ(message_of([&] { model.report_html(); }), nothing);

  const CompiledModel explained =
      compile_model(fixture("conv2d"), {.name = "a convolution", .explain = true});
  EXPECT_EQ(copy(explained.bytes()), copy(model.bytes()));
  EXPECT_EQ(explained.explain().substr(0, 14), "a convolution ");
  EXPECT_NE(explained.explain("conv2d"), "");
  EXPECT_NE(explained.report_json().find("a convolution"), std::string::npos);
  EXPECT_NE(explained.report_html().find("a convolution"), std::string::npos);
  EXPECT_THROW(explained.explain("no such node"), Error);
}

TEST_F(Embedding, AProgramThatWentElsewhereIsNotKept) {
  Pieces sink;
  const CompiledModel sunk = compile_model(fixture("conv2d"), sink, {.explain = true});
  const CompiledModel filed = compile_to_file(fixture("conv2d"), path("out.pte"));
  const std::string not_kept =
      fmt::format("'{}': the program was not kept, since it was written where the caller said",
                  fixture("conv2d"));
  EXPECT_EQ(message_of([&] { sunk.bytes(); }), not_kept);
  EXPECT_EQ(message_of([&] { filed.bytes(); }), not_kept);
  EXPECT_EQ(message_of([&] { sunk.save(path("again.pte")); }), not_kept);
  EXPECT_FALSE(fs::exists(path("again.pte")));
  EXPECT_NE(sunk.explain(), "");
}

TEST_F(Embedding, WhatTheCallerCanPutRightIsAnError) {
  EXPECT_THROW(compile_model("missing.pt2"), Error);
  EXPECT_THROW(compile_model(fixture("bad/nonzero")), Error);
  EXPECT_THROW(compile_model(fixture("conv2d"), {.target = "none"}), Error);
  EXPECT_THROW(compile_model(fixture("conv2d"), {.profile = "none"}), Error);
  EXPECT_THROW(compile_model(fixture("conv2d"), {.kernels = "none"}), Error);
  EXPECT_THROW(compile_model(fixture("conv2d"), {.disable = {"none"}}), Error);
  EXPECT_THROW(compile_model(fixture("conv2d"), {.input_order = {{"none", "nhwc"}}}), Error);
  EXPECT_THROW(compile_model(fixture("conv2d"), {.prove = -1}), Error);
  // Those who know nothing of layline's own types catch it, too.
  EXPECT_THROW(compile_model("missing.pt2"), std::runtime_error);
}

TEST_F(Embedding, PassesCanBeCancelled) {
  for (const int last : {1, 2, 20}) {
    int asked = 0;
    const auto cancelled = [&, thread = std::this_thread::get_id()] {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      return ++asked == last;
    };
    Pieces sink;
    EXPECT_THROW(compile_model(fixture("mobile_block"), sink, {.cancelled = cancelled}), Cancelled);
    EXPECT_EQ(asked, last);
    EXPECT_TRUE(sink.expected.empty() && sink.all.empty());
  }
}

TEST_F(Embedding, WritingCanBeCancelled) {
  for (const char* target : {"xnnpack", "tosa"}) {
    // Asked before the first piece already.
    int asked = 0;
    const auto count = [&] { return ++asked, false; };
    Pieces whole;
    compile_model(fixture("mobile_block"), whole, {.target = target, .cancelled = count});
    const int last = asked;
    asked = 0;
    Pieces part;
    const auto at_the_last = [&] { return ++asked == last; };
    const Options options{.target = target, .cancelled = at_the_last};
    EXPECT_THROW(compile_model(fixture("mobile_block"), part, options), Cancelled);
    EXPECT_LT(part.all.size(), whole.all.size());
    EXPECT_EQ(part.expected, whole.expected);
    EXPECT_TRUE(std::ranges::equal(part.all, std::span(whole.all).first(part.all.size())));
  }
  bool stop = false;
  Pieces sink;
  sink.on_piece = [&] { stop = sink.all.size() > 1000; };
  EXPECT_THROW(compile_model(fixture("mobile_block"), sink, {.cancelled = [&] { return stop; }}),
               Cancelled);
  EXPECT_GT(sink.all.size(), 1000u);
}

TEST_F(Embedding, AFileIsAsItWasWhenItsWritingIsCancelled) {
  std::ofstream(path("out.pte")) << "older";
  int asked = 0;
  const auto count = [&] { return ++asked, false; };
  compile_model(fixture("mobile_block"), {.cancelled = count});
  const int last = asked;
  asked = 0;
  EXPECT_THROW(compile_to_file(fixture("mobile_block"), path("out.pte"),
                               {.cancelled = [&] { return ++asked == last; }}),
               Cancelled);
  EXPECT_EQ(read(path("out.pte")).size(), 5u);
  EXPECT_EQ(count_files(), 1u);
}

TEST_F(Embedding, WhatCancelledThrowsComesOut) {
  struct Gone {};
  const auto cancelled = []() -> bool { throw Gone(); };
  EXPECT_THROW(compile_model(fixture("conv2d"), {.cancelled = cancelled}), Gone);
}

TEST_F(Embedding, ThreadsCompileAtOnce) {
  const std::vector<std::string> models = {"mobile_block", "attention", "dynamic_batch_mobile",
                                           "conv2d"};
  std::vector<Bytes> alone;
  for (const std::string& model : models)
    alone.push_back(copy(compile_model(fixture(model)).bytes()));
  std::vector<Bytes> together(2 * models.size());
  std::vector<std::string> explained(together.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < together.size(); ++i)
      threads.emplace_back([&, i] {
        // Files, memory and files that are written take turns.
        const std::string file = fixture(models[i % models.size()]);
        const Bytes memory = read(file);
        const Model model = i % 2 == 0 ? Model(file) : Model(memory, file);
        const CompiledModel compiled = compile_model(model, {.explain = true});
        together[i] = copy(compiled.bytes());
        explained[i] = compiled.explain();
        compile_to_file(model, path(fmt::format("{}.pte", i)));
      });
  }
  for (size_t i = 0; i < together.size(); ++i) {
    EXPECT_EQ(together[i], alone[i % models.size()]) << i;
    EXPECT_EQ(read(path(fmt::format("{}.pte", i))), together[i]) << i;
    EXPECT_EQ(explained[i], explained[i % models.size()]) << i;
  }
}

TEST_F(Embedding, SignalsStayTheHosts) {
  const auto handlers = [] {
    std::vector<void (*)(int)> result;
    for (int signal = 1; signal < 32; ++signal) {
      struct sigaction action {};
      if (::sigaction(signal, nullptr, &action) == 0) result.push_back(action.sa_handler);
    }
    return result;
  };
  const auto before = handlers();
  compile_to_file(fixture("mobile_block"), path("out.pte"), {.explain = true});
  EXPECT_EQ(handlers(), before);
}

/// Compiles a copy of a model, which is cut short when its first pass has run.
void compile_what_is_cut_short(const std::string& path, bool in_memory) {
  fs::copy_file(fixture("mobile_block"), path, fs::copy_options::overwrite_existing);
  const Bytes memory = read(path);
  const auto cut = [&] {
    fs::resize_file(path, 4096);
    return false;
  };
  compile_model(in_memory ? Model(memory, "memory") : Model(path), {.cancelled = cut});
}

#ifndef LAYLINE_SANITIZED  // a sanitizer has a handler of its own
TEST_F(Embedding, AMappedFileThatIsCutShortIsTheHostsSignal) {
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, [](int) { ::_exit(42); });
        compile_what_is_cut_short(path("model.pt2"), false);
      },
      testing::ExitedWithCode(42), "");
}
#endif

TEST_F(Embedding, AModelInMemoryIsCompiledWhateverBecomesOfItsFile) {
  EXPECT_NO_THROW(compile_what_is_cut_short(path("model.pt2"), true));
}

TEST_F(Embedding, TheVersionIsThatOfTheHeaders) {
  EXPECT_EQ(version(), LAYLINE_VERSION);
  EXPECT_EQ(version(), fmt::format("{}.{}.{}", LAYLINE_VERSION_MAJOR, LAYLINE_VERSION_MINOR,
                                   LAYLINE_VERSION_PATCH));
}

}  // namespace
}  // namespace layline
