// The text form of a graph (docs/text-ir.md): what `--emit` shows, what golden tests are written
// in, and what every stage accepts in place of a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace layline {

struct PrintOptions {
  /// Replaces the data of large constants by its size: for reading; it does not parse back.
  bool elide_constants = false;
};

/// Nothing is lost: parse_graph(print(g)) has g's nodes, names, attributes, constants and origins,
/// bit for bit, and prints identically.
std::string print(const Graph& graph, const PrintOptions& options = {});

/// Throws UserError "FILE:LINE:COLUMN: ..." for text that is not a well-typed graph.
Graph parse_graph(std::string_view text, std::string_view file_name);
/// One or more graphs, of different names: the methods of a model.
std::vector<Graph> parse_graphs(std::string_view text, std::string_view file_name);

}  // namespace layline
