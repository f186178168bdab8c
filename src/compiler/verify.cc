#include "compiler/verify.h"

#include "compiler/verify_inputs.h"

namespace layline {

std::vector<VerifiedMethod> verify_model(const std::string& path, const CompileOptions& options,
                                         const std::map<std::string, Tensor>& inputs,
                                         const LoadMethod& load) {
  LoadedModel model = load_model(path, options);
  check_input_names(model, inputs);
  PipelineOptions pipeline = pipeline_options(options);
  pipeline.validate = true;
  std::vector<std::vector<Tensor>> first;
  std::vector<size_t> changes;
  for (Graph& graph : model.methods) {
    pipeline.validation_inputs = first.emplace_back(first_inputs(graph, inputs));
    changes.push_back(0);
    for (const PassReport& pass : run_pipeline(graph, pipeline).passes)
      changes.back() += static_cast<size_t>(pass.changes);
  }
  std::vector<VerifiedMethod> verified =
      find_target(options.target).verify(model.methods, first, target_options(options), load);
  for (size_t m = 0; m < verified.size(); ++m) verified[m].passes = changes[m];
  return verified;
}

}  // namespace layline
