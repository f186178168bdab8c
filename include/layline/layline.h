// The compiler, for programs that embed it:
//
//   const layline::CompiledModel model = layline::compile_model("model.pt2");
//   model.save("model.pte");
//   std::cout << model.explain();
//
// Link layline::layline. It needs no runtime; `layline/session.h` runs programs.
//
// What the caller can put right is thrown as std::runtime_error, whose message is one line: what is
// wrong, at which node of the model and which line of the user's own code, and what to do. A
// std::logic_error is a bug of layline.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace layline {

/// What `Options::target` may name.
struct TargetInfo {
  std::string name;
  std::string extension;  ///< how the names of its programs end: ".pte"
  std::string programs;   ///< what they are: "an ExecuTorch .pte"
};
/// The first is the default.
std::vector<TargetInfo> targets();

/// The options of `layline compile`, by the same names.
struct Options {
  std::string target = "xnnpack";
  std::string accelerator;  ///< the NPU that the program is for; empty for any
  std::string profile;      ///< the name or file of a cost profile; empty for any device
  std::vector<std::string> disable;
  std::map<std::string, std::string> input_order;  ///< by the input's name: "nchw" or "nhwc"
  std::map<std::string, std::string> output_order;
  bool verify = false;
  bool strip = false;  ///< keep no source lines of the model in the program
  std::string name;    ///< what the report calls the model; its path if empty
};

/// A program, and what there is to tell about how it came to be.
class CompiledModel {
 public:
  CompiledModel(CompiledModel&&) noexcept;
  CompiledModel& operator=(CompiledModel&&) noexcept;
  ~CompiledModel();

  /// What a file of the target's programs holds.
  std::span<const std::byte> bytes() const;
  /// The file appears whole or not at all.
  void save(const std::string& path) const;

  /// As `--report FILE.json` writes it.
  std::string report_json() const;
  /// As `--report FILE.html`: a page that needs nothing else.
  std::string report_html() const;
  /// As `layline explain` prints it: where the permutes went, and why the rest is there.
  std::string explain() const;
  /// As `layline explain --why NODE`.
  std::string explain(const std::string& node) const;

 private:
  friend CompiledModel compile_model(const std::string&, const Options&);
  struct Contents;
  explicit CompiledModel(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

/// Compiles a `.pt2` file of torch.export, or a graph as text.
CompiledModel compile_model(const std::string& path, const Options& options = {});

}  // namespace layline
