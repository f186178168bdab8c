// From a .pt2 archive to core IR: every ATen op becomes core ops, NCHW ops become
// relayout -> channels-last op -> relayout, in-place and aliasing ops become functional.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mapped_file.h"
#include "ir/graph.h"

namespace layline::pt2 {

struct ImportedMethod {
  layline::Graph graph;  // named by the method, "forward" for a lone "model"
  /// Permutes that the model's own view ops make; the others stand around channels-first ops.
  int64_t permutes_in_model = 0;
  bool has_bfloat16 = false;  // in the model; the graph has f32 instead, except at its boundary
};

/// Every method of the archive. Throws UserError for files that cannot be read or use what layline
/// does not know; unsupported ops are listed all at once.
std::vector<ImportedMethod> import_archive(std::shared_ptr<const MappedFile> file);

}  // namespace layline::pt2
