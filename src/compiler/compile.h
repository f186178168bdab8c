// The compiler as one call: it turns a model into a program, and tells what it did.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/front_ends.h"
#include "compiler/targets.h"
#include "report/picture.h"
#include "report/report.h"
#include "transforms/pipeline.h"

namespace layline {

class MappedFile;

/// A memory order asked for at the boundary: `--input-order x=nhwc`.
struct BoundaryOrder {
  std::string name;
  std::string order;  // "nchw" or "nhwc"
};

struct CompileOptions {
  std::string target = std::string(all_targets().front()->name);
  TargetOptions for_target;
  /// Names that disableable() lists.
  std::vector<std::string> disabled_passes;
  /// What a model's file leaves open.
  ImportOptions import_options;
  std::vector<BoundaryOrder> input_orders;
  std::vector<BoundaryOrder> output_orders;
  bool llm = false;          // add what ExecuTorch's runner of language models asks for
  double prove_seconds = 0;  // about how long placement may go on beyond its usual limits
  bool proof = false;        // write out the proof of the placement
  bool verify = false;       // check every pass against the reference evaluator
  bool explain = false;      // keep explanations, and tell what became of every node
  bool draw = false;         // keep pictures of the graphs; with them comes what `explain` keeps
  /// Stop after this stage and give its IR in Compiled::text.
  std::optional<std::string> emit;
  /// Asked after each pass; where it returns true, Cancelled is thrown.
  std::function<bool()> cancelled;
};

struct Compiled {
  std::unique_ptr<const TargetProgram> program;  // without CompileOptions::emit
  Report report;
  std::string text;                       // with CompileOptions::emit
  std::vector<Explanation> explanations;  // with CompileOptions::explain
  std::vector<FinalNode> nodes;           // likewise
  Pictures pictures;                      // with CompileOptions::draw
  std::vector<Certificate> certificates;  // one for each method, unless placement is disabled
  std::vector<std::string> proofs;        // likewise, with CompileOptions::prove
};

/// Reads a model in any format that there is a front end for; inputs and outputs get the names and
/// the orders in which the caller knows them. Throws UserError, also for sizes that the target
/// cannot have.
LoadedModel load_model(const std::string& path, const CompileOptions& options);

/// The target's options. Without a delegate, if `delegate` is among the disabled passes.
TargetOptions target_options(const CompileOptions& options);
PipelineOptions pipeline_options(const CompileOptions& options);

/// Reads a model and compiles it. Throws UserError or Cancelled.
Compiled compile(const std::string& model, const CompileOptions& options);
Compiled compile(const std::shared_ptr<const MappedFile>& model, const CompileOptions& options);

/// What CompileOptions::disabled_passes may name: each pass, and "delegate", without which
/// everything runs on the runtime's own kernels.
std::vector<std::string> disableable();

/// The stages that CompileOptions::emit names, in order: "import", then each pass.
std::vector<std::string> stages();

}  // namespace layline
