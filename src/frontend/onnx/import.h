// Reads ONNX models: https://onnx.ai/onnx/repo-docs/IR.html
#pragma once

#include <memory>

#include "base/mapped_file.h"
#include "frontend/import_options.h"
#include "ir/graph.h"

namespace layline::onnx {

/// Opsets of the domain ai.onnx that are read.
constexpr int64_t kOldestOpset = 6, kNewestOpset = 27;

struct Imported {
  layline::Graph graph;
  int64_t permutes_in_model;
  bool has_bfloat16;
};

/// Imports a model. Throws UserError for files that are no such model, for ops and types that are
/// not supported, all named at once, and for sizes that are neither in the model nor in `options`.
Imported import_model(std::shared_ptr<const MappedFile> file, const ImportOptions& options);

}  // namespace layline::onnx
