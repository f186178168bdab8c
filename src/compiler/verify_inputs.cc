#include "compiler/verify_inputs.h"

#include <set>

#include "base/error.h"
#include "ir/boundary_order.h"
#include "ir/evaluate.h"
#include "transforms/validate.h"

namespace layline {

void check_input_names(const LoadedModel& model, const std::map<std::string, Tensor>& given) {
  std::set<std::string> known;
  for (const Graph& graph : model.methods)
    for (const GraphInput& input : arguments(graph)) known.insert(input.name);
  for (const auto& [name, tensor] : given)
    if (!known.contains(name))
      throw UserError("there is no input `{}`; there are {}", name, fmt::join(known, ", "));
}

std::vector<Tensor> first_inputs(const Graph& graph, const std::map<std::string, Tensor>& given) {
  std::vector<Tensor> inputs = probes(graph);
  size_t next = 0;
  for (const GraphInput& input : graph.inputs()) {
    if (input.value == nullptr) continue;
    Tensor& tensor = inputs[next++];
    if (input.is_state()) {
      tensor = tensor_of(*input.initial);
    } else if (const auto found = given.find(input.name); found != given.end()) {
      if (found->second.type().shape.size() != input.dim_order.size() ||
          found->second.dtype() != tensor.dtype())
        throw UserError("input `{}` is {}, which does not fit {}", input.name,
                        to_string(found->second.type()), to_string(input.value->type()));
      tensor = stored(found->second, input.dim_order);
    }
  }
  return inputs;
}

}  // namespace layline
