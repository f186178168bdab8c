// What a target is: all that the compiler, its commands and the table of ops ask of one. Adding a
// target is a folder with a `target.cc`, and a line in src/compiler/targets.cc
// (docs/adding-a-target.md).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sink.h"
#include "ir/graph.h"
#include "layline/constant_methods.h"
#include "report/picture.h"
#include "report/report.h"
#include "targets/verification.h"
#include "transforms/pass.h"
#include "transforms/target_rules.h"

namespace layline {

/// What the user asks of a target. Each target refuses what it does not take.
struct TargetOptions {
  std::string accelerator = {};  // the NPU that the program is for; empty for any
  std::string profile = {};      // the name or file of measured costs; empty for any device
  std::string kernels = {};      // further kernels that the runtime has: "llm"
  bool delegate = true;          // false: everything runs on the runtime's own kernels
  bool strip = false;            // keep nothing in the program that says where it comes from
  ConstantMethods constant_methods = {};
};

/// An option of the command line that not every target takes.
struct TargetOption {
  std::string_view name;   // "--profile"
  std::string_view value;  // what follows it: "FILE"
  std::string_view help;
  std::string TargetOptions::*member;
};

/// A program in its target's own terms.
class TargetProgram {
 public:
  virtual ~TargetProgram() = default;
  /// Writes the file. Throws UserError if the accelerator cannot run some of it.
  virtual void write(ByteSink& sink) const = 0;
  /// The tensors in the memory that the compiler plans; none if something else plans it.
  virtual std::vector<ArenaTensor> arena() const { return {}; }
};

/// A node of the final graph: what it is, and where it runs.
struct FinalNode {
  std::string value;
  OriginRef origin;
  std::string op;
  std::string type;
  std::string where;
};
FinalNode final_node(const Node& node, std::string where);

struct Target {
  std::string_view name;       // "xnnpack"
  std::string_view title;      // its name for people
  std::string_view extension;  // how the names of its programs end: ".pte"
  std::string_view programs;   // what they are, for --help
  std::string_view verified;   // where `verify` runs them, for --help
  std::string_view delegates;  // what `--disable delegate` leaves out; empty if it is refused
  std::span<const TargetOption> options;

  /// Refuses sizes that the target cannot have.
  void (*check)(const Graph& graph);
  /// What passes ask of the target. Throws UserError for options that it does not take.
  TargetRules (*rules)(const TargetOptions& options);
  /// Makes the program, and adds to `report` what it contains. Throws UserError, naming every node
  /// at once, for what the format cannot hold.
  std::unique_ptr<TargetProgram> (*lower)(const std::vector<Graph>& graphs,
                                          const TargetOptions& options, Report& report);
  /// Compares what the program gives with the reference evaluator, for graphs that have been
  /// through all passes and the inputs of each as they lie in memory. Throws InternalError that
  /// names the first node which differs. The graphs change.
  std::vector<VerifiedMethod> (*verify)(std::vector<Graph>& graphs,
                                        std::span<const std::vector<Tensor>> inputs,
                                        const TargetOptions& options, const LoadMethod& load);
  /// Where every node of a lowered graph runs, with what was reported about it.
  std::vector<FinalNode> (*final_nodes)(const Graph& graph, const TargetOptions& options,
                                        const Report& report);
  /// What `explain` says about the program.
  std::string (*describe)(const Report& report, std::span<const Explanation> explanations);
  /// Whether the target runs plain nodes of the op as they stand, and why it does not run one node;
  /// for docs/ops.md.
  bool (*has_kernel)(Op op);
  std::string (*refusal)(const Node& node);
};

}  // namespace layline
