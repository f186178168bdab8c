#include "targets/xnnpack/target.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ir/bounds.h"
#include "targets/constant_methods.h"
#include "targets/kernel_calls.h"
#include "targets/kernel_rules.h"
#include "targets/pte_program.h"
#include "targets/verify_pte.h"
#include "targets/xnnpack/kernels.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/partition.h"
#include "targets/xnnpack/xnnpack_rules.h"

namespace layline::xnnpack {
namespace {

constexpr TargetOption kOptions[] = {
    {"--profile", "PROFILE",
     "What the device's kernels cost: any-device (the default), epyc-avx2,\n"
     "epyc-avx512, host (the machine that compiles), or a file that\n"
     "'layline tune' wrote",
     &TargetOptions::profile},
    {"--kernels", "LIBRARY",
     "Also use kernels that not every runtime has: llm, ExecuTorch's kernels\n"
     "for language models (KERNELS_LLM in its build)",
     &TargetOptions::kernels}};

TargetRules rules_for(const TargetOptions& options) {
  if (!options.accelerator.empty())
    throw UserError("--accelerator {}: NPUs run TOSA; add --target tosa", options.accelerator);
  TargetRules result = options.profile.empty() ? rules() : rules(find_profile(options.profile));
  if (!options.kernels.empty() && options.kernels != kLlmKernels)
    throw UserError("--kernels {}: there is no such library; the one there is, is {}",
                    options.kernels, kLlmKernels);
  result.attends_causally = options.kernels == kLlmKernels;
  if (!options.delegate)
    result.legalise = [](Graph& graph, PassContext&) { return legalise_for_kernels(graph); };
  return result;
}

std::unique_ptr<TargetProgram> lower_for(const std::vector<Graph>& graphs,
                                         const TargetOptions& options, Report& report) {
  pte::Program program = lower(graphs, report, {options.delegate, options.strip, options.kernels});
  add_constant_methods(options.constant_methods, program);
  for (const auto& [name, values] : options.constant_methods) report.methods.push_back(name);
  return std::make_unique<PteProgram>(std::move(program));
}

std::vector<VerifiedMethod> verify(std::vector<Graph>& graphs,
                                   std::span<const std::vector<Tensor>> inputs,
                                   const TargetOptions& options, const LoadMethod& load) {
  return verify_pte(graphs, inputs, options, load, lower_for);
}

/// Where every node runs, and why not in a delegate.
std::vector<FinalNode> final_nodes(const Graph& graph, const TargetOptions& options,
                                   const Report&) {
  std::vector<FinalNode> nodes;
  for (const Part& part : partition(graph, options.delegate).parts) {
    const std::string where = part.delegated
                                  ? "runs in an XNNPACK delegate"
                                  : fmt::format("runs on a kernel outside delegates: {}", part.why);
    for (const Node* node : part.nodes) nodes.push_back(final_node(*node, where));
  }
  return nodes;
}

std::string describe(const Report& report, std::span<const Explanation>) {
  std::string text = fmt::format("{} ops in {} delegate{}", report.ops, report.delegates,
                                 report.delegates == 1 ? "" : "s");
  for (const PortableOp& op : report.portable_ops)
    text += fmt::format("\n  {} x {} outside: {}", op.count, op.op, op.why);
  return text + "\n";
}

}  // namespace

constinit const Target kTarget = {
    .name = "xnnpack",
    .title = "XNNPACK",
    .extension = ".pte",
    .programs = "an ExecuTorch .pte",
    .verified = "on the ExecuTorch runtime",
    .delegates = "hands what it can to XNNPACK",
    .options = kOptions,
    .check = check_bounded,
    .rules = rules_for,
    .lower = lower_for,
    .verify = verify,
    .final_nodes = final_nodes,
    .describe = describe,
    .has_kernel = [](Op op) { return find_kernel(op) != nullptr; },
    .refusal = refusal,
};

}  // namespace layline::xnnpack
