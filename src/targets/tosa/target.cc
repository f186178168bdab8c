#include "targets/tosa/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "ir/bounds.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/lower.h"
#include "targets/tosa/tosa_rules.h"
#include "targets/tosa/verify.h"

namespace layline::tosa {
namespace {

constexpr TargetOption kOptions[] = {
    {"--accelerator", "NPU",
     "The NPU that a TOSA program is for: ethos-u55-128, ethos-u65-256,\n"
     "ethos-u85-256 ...; what it cannot run is rewritten or refused",
     &TargetOptions::accelerator}};

TargetRules rules_for(const TargetOptions& options) {
  if (!options.profile.empty())
    throw UserError("--profile {}: profiles are measured for xnnpack; tosa has costs of its own",
                    options.profile);
  if (!options.kernels.empty())
    throw UserError("--kernels {}: a TOSA program calls no kernels", options.kernels);
  if (!options.delegate) throw UserError("--disable delegate: a TOSA program has no delegates");
  if (!options.constant_methods.empty())
    throw UserError("--constant {}: a TOSA file holds one graph and no methods beside it",
                    options.constant_methods.begin()->first);
  return rules(chosen_accelerator(options.accelerator));
}

class TosaProgram : public TargetProgram {
 public:
  TosaProgram(Program program, const Report& report)
      : program_(std::move(program)),
        accelerator_(report.accelerator),
        cannot_run_(report.cannot_run) {}

  void write(ByteSink& sink) const override {
    if (!cannot_run_.empty()) refuse();
    write_program(program_, sink);
  }

 private:
  /// Names all nodes at once; if there are very many, the first, since `explain` lists all, one a
  /// line.
  [[noreturn]] void refuse() const {
    constexpr size_t kMostNodes = 50;
    std::vector<std::string> nodes;
    for (const CannotRun& node : cannot_run_) {
      if (nodes.size() == kMostNodes) {
        nodes.push_back(fmt::format("and {} more (layline explain --target tosa --accelerator {})",
                                    cannot_run_.size() - kMostNodes, accelerator_));
        break;
      }
      nodes.push_back(fmt::format("{}: {}", node.node, node.why));
    }
    throw UserError("{} node{} cannot run on {}: {}", cannot_run_.size(),
                    cannot_run_.size() == 1 ? "" : "s", accelerator_, fmt::join(nodes, "; "));
  }

  Program program_;
  std::string accelerator_;
  std::vector<CannotRun> cannot_run_;
};

std::unique_ptr<TargetProgram> lower_for(const std::vector<Graph>& graphs,
                                         const TargetOptions& options, Report& report) {
  Program program = lower(graphs, report, chosen_accelerator(options.accelerator));
  return std::make_unique<TosaProgram>(std::move(program), report);
}

std::vector<FinalNode> final_nodes(const Graph& graph, const TargetOptions&, const Report& report) {
  std::unordered_map<std::string_view, const CannotRun*> refused;
  for (const CannotRun& node : report.cannot_run) refused.emplace(node.value, &node);
  std::vector<FinalNode> nodes;
  for (const Node* node : graph) {
    if (node->is(Op::constant)) continue;
    const auto found = refused.find(node->result()->name());
    nodes.push_back(final_node(
        *node, found == refused.end()
                   ? "is written as TOSA operators"
                   : fmt::format("cannot run on {}: {}", report.accelerator, found->second->why)));
  }
  return nodes;
}

/// What was rewritten for the NPU, and what it cannot run.
std::string limits(const Report& report, std::span<const Explanation> explanations) {
  std::string text = fmt::format("{}:\n", report.accelerator);
  for (const Explanation& explanation : explanations)
    if (explanation.pass == "legalise")
      text += fmt::format(
          "  {} {}\n",
          explanation.origin ? layline::describe(*explanation.origin) : explanation.value,
          explanation.text);
  for (const CannotRun& node : report.cannot_run)
    text += fmt::format("  cannot run {}: {}\n", node.node, node.why);
  if (report.cannot_run.empty()) text += "  runs everything\n";
  return text;
}

std::string describe(const Report& report, std::span<const Explanation> explanations) {
  const std::string text = fmt::format("{} ops in one TOSA program\n", report.ops);
  return report.accelerator.empty() ? text : text + limits(report, explanations);
}

}  // namespace

constinit const Target kTarget = {
    .name = "tosa",
    .title = "TOSA",
    .extension = ".tosa",
    .programs = "a TOSA 1.0 .tosa for Arm NPUs",
    .verified =
        "in Arm's reference model, which tosa-tools of PyPI has:\n"
        "LAYLINE_TOSA_PYTHON is the Python that has it",
    .delegates = {},
    .options = kOptions,
    .check = check_static,
    .rules = rules_for,
    .lower = lower_for,
    .verify = verify,
    .final_nodes = final_nodes,
    .describe = describe,
    .has_kernel = [](Op op) { return find_kernel(op) != nullptr; },
    .refusal = refusal,
};

}  // namespace layline::tosa
