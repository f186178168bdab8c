// What a model is verified with: the user's tensors, and what is made up in place of those that are
// not given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "ir/tensor.h"

namespace layline {

/// Throws UserError if a tensor is for no input of the model.
void check_input_names(const LoadedModel& model, const std::map<std::string, Tensor>& given);

/// The inputs of the first run, as they lie in memory. States have their first values. Arguments
/// are those given, in logical shape, or made up.
std::vector<Tensor> first_inputs(const Graph& graph, const std::map<std::string, Tensor>& given);

}  // namespace layline
