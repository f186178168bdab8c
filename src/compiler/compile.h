// The compiler as one call: a model in, a program and what there is to tell about it out.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/front_ends.h"
#include "pte/program.h"
#include "report/picture.h"
#include "report/report.h"
#include "transforms/pipeline.h"

namespace layline {

namespace tosa {
struct Program;
}

/// A memory order asked for at the boundary: `--input-order x=nhwc`.
struct BoundaryOrder {
  std::string name;
  std::string order;  // "nchw" or "nhwc"
};

struct CompileOptions {
  std::string target = "xnnpack";
  std::string accelerator;  // the NPU that a TOSA program is for; empty for any
  std::string profile;      // the file of measured costs; empty for the built-in ones
  /// Of what `disableable` lists.
  std::vector<std::string> disabled_passes;
  std::vector<BoundaryOrder> input_orders;
  std::vector<BoundaryOrder> output_orders;
  bool strip = false;    // keep nothing in the program that says where it comes from
  bool verify = false;   // check every pass against the reference evaluator
  bool explain = false;  // keep explanations, and tell what became of every node
  bool draw = false;     // keep pictures of the graphs; with them comes what `explain` keeps
  /// Stop after this stage and give its IR in Compiled::text.
  std::optional<std::string> emit;
};

/// A node of the final graph: what it is, and where it runs.
struct FinalNode {
  std::string value;
  OriginRef origin;
  std::string op;
  std::string type;
  std::string where;
};

struct Compiled {
  pte::Program program;                 // for xnnpack
  std::shared_ptr<tosa::Program> tosa;  // for tosa
  Report report;
  std::string text;                       // with CompileOptions::emit
  std::vector<Explanation> explanations;  // with CompileOptions::explain
  std::vector<FinalNode> nodes;           // likewise
  Pictures pictures;                      // with CompileOptions::draw
  std::vector<Certificate> certificates;  // one for each method, unless placement is disabled
};

/// Reads a model in any format that there is a front end for; inputs and outputs get the names and
/// the orders in which the caller knows them. Throws UserError, also for sizes that the target
/// cannot have.
LoadedModel load_model(const std::string& path, const CompileOptions& options);

PipelineOptions pipeline_options(const CompileOptions& options);

/// Reads a model and compiles it. Throws UserError.
Compiled compile(const std::string& model, const CompileOptions& options);

/// What CompileOptions::disabled_passes may name: each pass, and "delegate", without which
/// everything runs on the runtime's own kernels.
std::vector<std::string> disableable();
/// Writes the program, in the format of its target. UserError if the accelerator cannot run some of
/// it.
void write_program(const Compiled& compiled, ByteSink& sink);

/// Names of the targets.
std::vector<std::string> targets();
/// How the names of a target's programs end: ".pte".
std::string_view program_extension(const std::string& target);

/// The stages that CompileOptions::emit names, in order: "import", then each pass.
std::vector<std::string> stages();

}  // namespace layline
