// layline explain: the ledger of a compilation. Where the permutes went, why the rest is there,
// that fewer are not possible, and what became of a node.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "compiler/compile.h"

namespace layline {
namespace {

std::string ledger(const Permutes& permutes) {
  const int64_t all = permutes.source + permutes.implied;
  return fmt::format(
      "permutes: {} in the model, {} around channels-first ops\n"
      "  {} cancelled or shared, {} absorbed into weights, {} left ({} bytes)\n",
      permutes.source, permutes.implied,
      std::max<int64_t>(0, all - permutes.absorbed - permutes.final), permutes.absorbed,
      permutes.final, permutes.bytes);
}

std::string describe(const Certificate& certificate) {
  return fmt::format(
      "certificate: the moves cost {:.3f} ms, {:.3f} ms before; {} "
      "({} orders of {} ops, {} regions, the largest of {} ops)\n",
      static_cast<double>(certificate.cost.time_ps) / 1e9,
      static_cast<double>(certificate.before.time_ps) / 1e9,
      certificate.optimal() ? "no choice of loop orders costs less"
                            : fmt::format("not proved optimal, at least {:.3f} ms are needed",
                                          static_cast<double>(certificate.bound.time_ps) / 1e9),
      certificate.candidates, certificate.ops, certificate.regions, certificate.largest_region);
}

std::string survivors(const Permutes& permutes) {
  std::string text;
  for (const Survivor& survivor : permutes.survivors)
    text += fmt::format("  {}: {}, {} bytes\n    between {}\n", survivor.node, survivor.shape,
                        survivor.bytes, fmt::join(survivor.forced_by, " and "));
  return text.empty() ? text : "left:\n" + text;
}

std::string delegation(const Report& report) {
  std::string text = fmt::format("{} ops in {} delegate{}", report.ops, report.delegates,
                                 report.delegates == 1 ? "" : "s");
  for (const PortableOp& op : report.portable_ops)
    text += fmt::format("\n  {} x {} outside: {}", op.count, op.op, op.why);
  return text + "\n";
}

bool is_about(const std::string& node, const std::string& value, const OriginRef& origin) {
  return value == node || (origin && origin->node == node);
}

std::string story(const Compiled& compiled, const std::string& node) {
  std::string text;
  OriginRef origin;
  for (const Explanation& explanation : compiled.explanations) {
    if (!is_about(node, explanation.value, explanation.origin)) continue;
    text += fmt::format("  {}: {} {}\n", explanation.pass, explanation.value, explanation.text);
    origin = explanation.origin;
  }
  for (const FinalNode& final_node : compiled.nodes) {
    if (!is_about(node, final_node.value, final_node.origin)) continue;
    text += fmt::format("  in the program: {} {} {}, {}\n", final_node.value, final_node.op,
                        final_node.type, final_node.where);
    origin = final_node.origin;
  }
  if (text.empty())
    throw UserError(
        "there is no node `{}`; nodes are named as in the model and in `compile --emit`", node);
  return (origin ? layline::describe(*origin) : node) + "\n" + text;
}

/// Every decision, in the order in which they were made.
std::string log(const Compiled& compiled) {
  std::string text;
  for (const Explanation& explanation : compiled.explanations)
    text += fmt::format("{}: {} ({}) {}\n", explanation.pass, explanation.value,
                        explanation.origin ? explanation.origin->node : "", explanation.text);
  return text;
}

struct ExplainArguments {
  std::string model;
  std::string why;
  bool log = false;
};

void explain(const ExplainArguments& arguments) {
  CompileOptions options;
  options.explain = true;
  const Compiled compiled = compile(arguments.model, options);
  if (!arguments.why.empty()) return write_stdout(story(compiled, arguments.why));
  if (arguments.log) return write_stdout(log(compiled));
  std::string text = fmt::format("{} for {}\n", arguments.model, compiled.report.target);
  text += ledger(compiled.report.permutes);
  for (const Certificate& certificate : compiled.certificates) text += describe(certificate);
  text += survivors(compiled.report.permutes);
  text += delegation(compiled.report);
  write_stdout(text);
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command =
      app.add_subcommand("explain", "Tell why each permute is there, and what is not delegated")
          ->group("Commands");
  command->add_option("MODEL", arguments->model, "a .pt2 archive, or a graph in text form")
      ->required();
  command->add_option("--why", arguments->why,
                      "the story of one NODE, named as in the model or in compile --emit");
  command->add_flag("--log", arguments->log, "every decision of every pass, one a line")
      ->excludes("--why");
  command->footer(
      "Example:\n"
      "  layline explain model.pt2\n"
      "  layline explain model.pt2 --why conv2d_3");
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace layline
