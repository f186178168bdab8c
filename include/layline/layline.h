// The compiler, for programs that embed it:
//
//   layline::compile_to_file("model.pt2", "model.pte");
//
//   const layline::CompiledModel model =
//       layline::compile_model(layline::Model(bytes, "model"), {.explain = true});
//   send(model.bytes());
//   std::cout << model.explain();
//
// Link layline::layline. It needs no runtime; `layline/session.h` runs programs. docs/embedding.md
// says what is stable, what may be called by several threads, and what to know about files.
//
// Errors are those of layline/error.h. Calls share nothing: any number of threads may compile at
// once. No call installs a signal handler, prints, or changes the locale or the current folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layline/constant_methods.h"
#include "layline/error.h"
#include "layline/version.h"

namespace layline {

/// What to compile: a `.pt2` file of torch.export, an ONNX model, or a graph as text.
class Model {
 public:
  /// A file, which is mapped while it is compiled. If another process cuts it short meanwhile, the
  /// system sends SIGBUS to this one.
  Model(std::string path) : name_(std::move(path)) {}    // NOLINT: a path is a model
  Model(const char* path) : Model(std::string(path)) {}  // NOLINT
  /// The bytes of such a file. The caller keeps them until the call that takes this returns. `name`
  /// stands for them in messages and in the report.
  Model(std::span<const std::byte> bytes, std::string name)
      : name_(std::move(name)), bytes_(bytes) {}

  /// The path, or the name that was given with the bytes.
  const std::string& name() const { return name_; }
  /// The bytes that were given; nothing if the model is a file.
  const std::optional<std::span<const std::byte>>& bytes() const { return bytes_; }

 private:
  std::string name_;
  std::optional<std::span<const std::byte>> bytes_;
};

/// Where a program goes, piece by piece. A compile call uses the sink only until it returns, and
/// only on the thread that made the call. What these functions throw comes out of that call; what
/// was written until then is not a program.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Called once, before the first piece: how many bytes the pieces will be together.
  virtual void expect(uint64_t /*bytes*/) {}
  /// Takes the next piece, whose bytes are valid during this call only. A weight that needs no
  /// change is one piece, in the memory of the model.
  virtual void write(std::span<const std::byte> piece) = 0;
};

/// What `Options::target` may name.
struct TargetInfo {
  std::string name;
  std::string extension;  ///< how the names of its programs end: ".pte"
  std::string programs;   ///< what they are: "an ExecuTorch .pte"
};
/// All targets; the first is the default.
std::vector<TargetInfo> targets();

/// The options of `layline compile`, by the same names, and what only embedders ask for. New ones
/// are added at the end.
struct Options {
  std::string target = "xnnpack";
  std::string accelerator = {};  ///< the NPU that the program is for; empty for any
  std::string profile = {};      ///< the name or file of a cost profile; empty for any device
  std::vector<std::string> disable = {};
  std::map<std::string, std::string> input_order = {};  ///< by the input's name: "nchw" or "nhwc"
  std::map<std::string, std::string> output_order = {};
  bool verify = false;
  bool strip = false;     ///< keep no source lines of the model in the program
  std::string name = {};  ///< what the report calls the model; Model::name() if empty
  /// Keep what CompiledModel tells besides the program: it takes time and memory.
  bool explain = false;
  /// Asked after each pass and before each piece of the program, on the thread that made the call:
  /// if it returns true, the call throws Cancelled.
  std::function<bool()> cancelled = {};
  /// What the program answers besides the model's own methods.
  ConstantMethods constant_methods = {};
  /// Add the constant methods that ExecuTorch's runner of language models asks for, as far as
  /// `constant_methods` does not have them. Those that contradict the model are an error.
  bool llm = false;
  std::string kernels =
      {};  ///< a library of kernels that not every runtime has: "llm"; empty for none
  /// Sizes that an ONNX model leaves open, by name: "1", "32..960", or in steps "32..960:32".
  std::map<std::string, std::string> dims = {};
  /// Inputs of an ONNX model that are always the same: a number, or the path of a .npy file.
  std::map<std::string, std::string> fix = {};
  /// About how many seconds placement may take to find something cheaper, or to prove that there is
  /// nothing, where the usual milliseconds are not enough. The program does not depend on the speed
  /// of the machine.
  double prove = 0;
};

/// A program, and what there is to tell about how it came to be. A function whose answer was not
/// kept throws an Error that says so. Any number of threads may use one that is not changed.
class CompiledModel {
 public:
  CompiledModel(CompiledModel&&) noexcept;
  CompiledModel& operator=(CompiledModel&&) noexcept;
  ~CompiledModel();

  /// The program, as a file would hold it. Only compile_model() without a sink keeps it.
  std::span<const std::byte> bytes() const;
  /// Writes the program to a file, which appears whole or not at all.
  void save(const std::string& path) const;

  // Kept with Options::explain:

  /// The report, as `--report FILE.json` writes it.
  std::string report_json() const;
  /// The report as `--report FILE.html` writes it: a page that needs nothing else.
  std::string report_html() const;
  /// What `layline explain` prints: where the permutes went, and why the rest is there.
  std::string explain() const;
  /// What `layline explain --why NODE` prints.
  std::string explain(const std::string& node) const;

 private:
  struct Contents;
  explicit CompiledModel(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;

  friend CompiledModel compile_model(const Model&, const Options&);
  friend CompiledModel compile_model(const Model&, Sink&, const Options&);
  friend CompiledModel compile_to_file(const Model&, const std::string&, const Options&);
};

/// Compiles a model into memory.
CompiledModel compile_model(const Model& model, const Options& options = {});

/// Compiles a model into a sink. A `.pte` program is never whole in memory: weights are changed on
/// their way to the sink. A TOSA program is one piece, since its format is written back to front.
CompiledModel compile_model(const Model& model, Sink& sink, const Options& options = {});

/// Compiles a model into a file, as `layline compile` does. The file appears whole or not at all. A
/// thread of its own writes it, and ends with the call.
CompiledModel compile_to_file(const Model& model, const std::string& program,
                              const Options& options = {});

}  // namespace layline
