// From a .pt2 archive to core IR: every ATen op becomes core ops, NCHW ops become
// relayout -> channels-last op -> relayout, in-place and aliasing ops become functional.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace layline::pt2 {

/// One graph for each method of the archive, named by the method ("forward" for a lone "model").
/// Throws UserError for files that cannot be read or use what layline does not know; unsupported
/// ops are listed all at once.
std::vector<layline::Graph> import_archive(const std::string& path);

}  // namespace layline::pt2
