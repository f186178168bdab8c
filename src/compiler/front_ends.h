// The file formats that models come in: one row for each front end.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "frontend/import_options.h"
#include "ir/graph.h"

namespace layline {

/// A model as it was written, one graph for each method.
struct LoadedModel {
  std::vector<Graph> methods;
  int64_t permutes = 0;                 // the permutes that the model itself makes
  std::vector<std::string> notes = {};  // what the user should know of how the model was read
};

struct FrontEnd {
  std::string_view name;
  std::span<const std::string_view> extensions;  // how the names of its files end
  /// Whether a file that begins with these bytes is one of its files.
  bool (*recognises)(std::string_view bytes);
  LoadedModel (*import)(std::shared_ptr<const MappedFile> file, const ImportOptions& options);
};

std::span<const FrontEnd> front_ends();

/// Reads a model in any of these formats. Its first bytes tell the format, or else its name. What
/// neither tells is read as text. Throws UserError, which says so if the file is a compiled
/// program.
LoadedModel import_model(std::shared_ptr<const MappedFile> file, const ImportOptions& options = {});

}  // namespace layline
