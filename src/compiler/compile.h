// The compiler as one call: a model in, a program and what there is to tell about it out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pte/program.h"
#include "report/report.h"
#include "transforms/pipeline.h"

namespace layline {

/// A memory order asked for at the boundary: `--input-order x=nhwc`.
struct BoundaryOrder {
  std::string name;
  std::string order;  // "nchw" or "nhwc"
};

struct CompileOptions {
  std::string target = "xnnpack";
  std::vector<std::string> disabled_passes;
  std::vector<BoundaryOrder> input_orders;
  std::vector<BoundaryOrder> output_orders;
  bool verify = false;  // check every pass against the reference evaluator
  /// Stop after this stage and give its IR in Compiled::text.
  std::optional<std::string> emit;
};

struct Compiled {
  pte::Program program;
  Report report;
  std::string text;  // with CompileOptions::emit
  std::vector<Explanation> explanations;
  std::vector<Certificate> certificates;  // one for each method, unless placement is disabled
};

/// Reads a .pt2 archive or a graph in text form and compiles it. Throws UserError.
Compiled compile(const std::string& model, const CompileOptions& options);

/// The stages that CompileOptions::emit names, in order: "import", then each pass.
std::vector<std::string> stages();

}  // namespace layline
