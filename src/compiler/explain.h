// Explains a compilation as text. All functions about a Compiled need CompileOptions::explain.
#pragma once

#include <string>

#include "compiler/compile.h"

namespace layline {

/// What a placement proves, in one sentence.
std::string describe(const Certificate& certificate);

/// Where the permutes went, why the rest is there, that fewer are not possible, and what runs
/// outside delegates.
std::string explain_all(const Compiled& compiled);

/// What became of one node, named as in the model or in the graph's text; UserError if there is
/// none of that name.
std::string explain_node(const Compiled& compiled, const std::string& node);

/// Every decision of every pass, one a line, in the order in which they were made.
std::string explain_log(const Compiled& compiled);

}  // namespace layline
