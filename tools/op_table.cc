// Prints docs/ops.md from the compiler's own tables; `make docs` writes the file, and a test
// compares the two.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/targets.h"
#include "frontend/onnx/import.h"
#include "frontend/onnx/ops/rules.h"
#include "frontend/pt2/ops/rules.h"
#include "ir/op.h"
#include "ir/text.h"
#include "targets/kernel_calls.h"

namespace layline {
namespace {

/// Attributes, as text, that fit an operand f32[2,3,4,5]; empty where the defaults do.
std::string_view sample_attributes(Op op) {
  switch (op) {
    case Op::expand:
      return "shape = [2,2,3,4,5]";
    case Op::flip:
      return "axes = [3]";
    case Op::roll:
      return "axes = [3], shifts = [1]";
    case Op::normalize:
      return "axes = [3], eps = 1e-05";
    case Op::argmax:
    case Op::argmin:
    case Op::cumsum:
    case Op::log_softmax:
      return "axis = 3";
    case Op::reduce_sum:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_prod:
      return "axes = [3]";
    default:
      return "";
  }
}

/// Whether a plain f32 node of the op becomes nodes that the target takes, one and all.
bool is_rewritten(const OpInfo& op, const Target& target) {
  std::string operands = "%x";
  for (int i = 1; i < op.min_operands; ++i) operands += ", %x";
  const std::string text = fmt::format(
      "graph \"sample\" {{ input \"x\" %x : f32[2,3,4,5] %y = {}({}) {{ {} }} "
      "output \"y\" %y }}",
      op.name, operands, sample_attributes(op.op));
  try {
    Graph graph = parse_graph(text, "sample");
    const TargetRules rules = target.rules({});
    PassContext context("legalise", rules, nullptr);
    if (!rules.legalise(graph, context)) return false;
    for (const Node* node : graph)
      if (!node->is(Op::constant) && !target.refusal(*node).empty()) return false;
    return true;
  } catch (const UserError&) {
    return false;  // an op of integers or booleans
  }
}

std::string_view target_cell(const OpInfo& op, const Target& target) {
  if (op.op == Op::constant || target.has_kernel(op.op)) return "yes";
  return is_rewritten(op, target) ? "rewritten" : "";
}

std::string portable_cell(Op op) {
  if (op == Op::constant) return "any";
  const PortableKernel* kernel = find_portable_kernel(op);
  if (kernel == nullptr) return "";
  std::string cell;
  for (std::string_view name : kernel->operators)
    cell += fmt::format("{}`{}`", cell.empty() ? "" : ", ", name.substr(name.find("::") + 2));
  return cell;
}

std::string_view class_name(OpClass op_class) {
  switch (op_class) {
    case OpClass::constant:
      return "constant";
    case OpClass::movement:
      return "movement";
    case OpClass::elementwise:
      return "elementwise";
    case OpClass::contraction:
      return "contraction";
    case OpClass::window:
      return "window";
    case OpClass::axis:
      return "axis";
  }
  throw InternalError("an op without a class");
}

void print_core_ops() {
  std::string titles, line;
  for (const Target* target : all_targets()) {
    titles += fmt::format(" {} |", target->title);
    line += " --- |";
  }
  fmt::print(
      "## Core ops: {}\n\n"
      "| op | class | operands |{} portable kernels (`aten::`) |\n"
      "| --- | --- | --- |{} --- |\n",
      all_ops().size(), titles, line);
  for (const OpInfo& op : all_ops()) {
    std::string cells;
    for (const Target* target : all_targets())
      cells += fmt::format(" {} |", target_cell(op, *target));
    fmt::print("| `{}` | {} | {} |{} {} |\n", op.name, class_name(op.op_class), op.operand_names,
               cells, portable_cell(op.op));
  }
}

/// Words with commas between them, in lines that are not too long.
void print_list(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    const std::string part = word + (&word == &words.back() ? "" : ",");
    if (line.size() + part.size() >= 110) {
      fmt::print("{}\n", line);
      line.clear();
    }
    line += line.empty() ? part : " " + part;
  }
  fmt::print("{}\n", line);
}

void print_imported_ops() {
  // "aten.add.Tensor" is overload `Tensor` of `aten.add`; "_operator.add" has none.
  std::map<std::string_view, std::set<std::string_view>> overloads;
  const auto rules = pt2::all_rules();
  for (const pt2::OpRule& rule : rules) {
    const size_t dot = rule.target.rfind('.');
    const bool has_overload = rule.target.find('.') != dot;
    overloads[has_overload ? rule.target.substr(0, dot) : rule.target].insert(
        has_overload ? rule.target.substr(dot + 1) : "");
  }
  fmt::print(
      "\n## ATen ops that the `.pt2` front end reads: {} overloads of {} ops\n\n"
      "| op | overloads |\n| --- | --- |\n",
      rules.size(), overloads.size());
  for (const auto& [op, names] : overloads)
    fmt::print("| `{}` | {} |\n", op, fmt::join(names, ", "));
  fmt::print(
      "\nOther names that torch has for some of them are read, too: `aten.special_erf` for "
      "`aten.erf` and the\n"
      "like, and\n\n");
  std::vector<std::string> aliases;
  for (const pt2::Alias& alias : pt2::all_aliases())
    aliases.push_back(fmt::format("`{}` for `{}`", alias.alias, alias.name));
  print_list(aliases);
}

void print_onnx_ops() {
  std::set<std::string_view> names;
  for (const onnx::OpRule& rule : onnx::all_rules()) names.insert(rule.op);
  fmt::print(
      "\n## Ops that the ONNX front end reads: {}, opsets {} to {}\n\n"
      "Those of other domains than `ai.onnx` have the domain before their name.\n\n",
      names.size(), onnx::kOldestOpset, onnx::kNewestOpset);
  std::vector<std::string> words;
  for (const std::string_view name : names) words.push_back(fmt::format("`{}`", name));
  print_list(words);
}

}  // namespace
}  // namespace layline

int main() {
  fmt::print(
      "# Supported ops\n\n"
      "Made by `make docs` from the compiler's tables; a test compares.\n\n"
      "A model's ops become core ops. A core op runs on a target if that has a "
      "kernel\n"
      "for it (\"yes\") or `legalise` rewrites it into ops that have one (\"rewritten\"), for "
      "float32\n"
      "and float16 and within the kernel's limits. In a program for XNNPACK the rest runs outside "
      "the\n"
      "delegate, on the portable kernels named. What none can run is refused at compile time\n"
      "([limits](limits.md)).\n\n");
  layline::print_core_ops();
  layline::print_imported_ops();
  layline::print_onnx_ops();
  return 0;
}
