#include "compiler/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

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

/// Whose costs were used.
std::string costs_of(const Report& report) {
  return report.profile.empty() ? "" : fmt::format(" by the costs of {}", report.profile);
}

std::string survivors(const Permutes& permutes) {
  std::string text;
  for (const Survivor& survivor : permutes.survivors)
    text += fmt::format("  {}: {}, {} bytes\n    between {}\n", survivor.node, survivor.shape,
                        survivor.bytes, fmt::join(survivor.forced_by, " and "));
  return text.empty() ? text : "left:\n" + text;
}

bool is_about(const std::string& node, const std::string& value, const OriginRef& origin) {
  return value == node || (origin && origin->node == node);
}

}  // namespace

std::string describe(const Certificate& certificate) {
  const auto ms = [](const Cost& cost) { return static_cast<double>(cost.time_ps) / 1e9; };
  const std::string proved =
      certificate.optimal()
          ? "no choice of loop orders takes less, or as much with fewer permutes"
          : fmt::format("not proved optimal, at least {:.3f} ms are needed", ms(certificate.bound));
  const std::string later =
      certificate.covers_program()
          ? ""
          : fmt::format("; later passes make it {:.3f} ms and {} permute{}, which is not proved",
                        ms(certificate.written), certificate.written.permutes,
                        certificate.written.permutes == 1 ? "" : "s");
  return fmt::format(
      "the moves take {:.3f} ms by the profile, {:.3f} ms before; {} "
      "({} orders of {} ops, {} regions, the largest of {} ops){}",
      ms(certificate.cost), ms(certificate.before), proved, certificate.candidates, certificate.ops,
      certificate.regions, certificate.largest_region, later);
}

std::string explain_all(const Compiled& compiled) {
  std::string text = fmt::format("{} for {}{}\n", compiled.report.model, compiled.report.target,
                                 costs_of(compiled.report));
  text += ledger(compiled.report.permutes);
  for (const Certificate& certificate : compiled.certificates)
    text += fmt::format("certificate: {}\n", describe(certificate));
  text += survivors(compiled.report.permutes);
  text += find_target(compiled.report.target).describe(compiled.report, compiled.explanations);
  return text;
}

std::string explain_node(const Compiled& compiled, const std::string& node) {
  std::string text;
  OriginRef origin;
  for (const Explanation& explanation : compiled.explanations) {
    if (!is_about(node, explanation.value, explanation.origin)) continue;
    // A pass that runs again may come to the same decision.
    const std::string line =
        fmt::format("  {}: {} {}\n", explanation.pass, explanation.value, explanation.text);
    if (!text.ends_with(line)) text += line;
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

std::string explain_log(const Compiled& compiled) {
  std::string text;
  for (const Explanation& explanation : compiled.explanations)
    text += fmt::format("{}: {} ({}) {}\n", explanation.pass, explanation.value,
                        explanation.origin ? explanation.origin->node : "", explanation.text);
  return text;
}

}  // namespace layline
