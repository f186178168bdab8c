// What ExecuTorch's runner of language models (TextLLMRunner of 1.5.1) asks a program for: constant
// methods that tell it how to call the model. docs/language-models.md lists them.
#pragma once

#include <span>

#include "ir/graph.h"
#include "layline/constant_methods.h"

namespace layline {

/// Adds what the graphs, as imported, tell and `constants` does not have. Throws one UserError for
/// all that the graphs do not tell, for what contradicts them, and for a model that the runner
/// could not call.
void add_runner_metadata(std::span<const Graph> graphs, ConstantMethods& constants);

}  // namespace layline
