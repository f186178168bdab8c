#include "compiler/compile.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>

#include "base/error.h"
#include "compiler/boundary.h"
#include "compiler/draw.h"
#include "compiler/explain.h"
#include "ir/bounds.h"
#include "ir/text.h"
#include "pte/writer.h"
#include "targets/kernel_rules.h"
#include "targets/tosa/lower.h"
#include "targets/tosa/rules.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/partition.h"
#include "targets/xnnpack/rules.h"

namespace layline {
namespace {

constexpr std::string_view kImportStage = "import";
constexpr std::string_view kDelegate = "delegate";

/// Methods that share a state must find it in one order, and each is placed by itself.
void pin_shared_states(std::vector<Graph>& graphs) {
  std::map<std::string, int> methods;
  for (const Graph& graph : graphs)
    for (const GraphInput& input : graph.inputs())
      if (input.is_state()) ++methods[input.name];
  for (Graph& graph : graphs)
    for (size_t i = 0; i < graph.inputs().size(); ++i)
      if (graph.inputs()[i].is_state() && methods.at(graph.inputs()[i].name) > 1)
        graph.pin_state(i);
}

std::string text_of(const std::vector<Graph>& graphs) {
  std::string text;
  for (const Graph& graph : graphs) text += print(graph);
  return text;
}

/// Sums up over methods.
void add_passes(Compiled& compiled, PipelineReport& passes) {
  auto& times = compiled.report.passes;
  if (times.empty())
    for (const PassReport& pass : passes.passes) times.push_back({std::string(pass.pass), 0});
  for (size_t i = 0; i < times.size(); ++i) times[i].ms += passes.passes[i].seconds * 1e3;
  std::ranges::move(passes.explanations, std::back_inserter(compiled.explanations));
  if (!passes.certificate) return;
  compiled.certificates.push_back(*passes.certificate);
  compiled.report.permutes.absorbed += static_cast<int64_t>(passes.certificate->absorbed);
}

/// The certificate in the report's terms: bytes that every placement moves.
void prove(Compiled& compiled) {
  Permutes& permutes = compiled.report.permutes;
  permutes.optimal = !compiled.certificates.empty();
  for (const Certificate& certificate : compiled.certificates)
    permutes.optimal = permutes.optimal && certificate.optimal();
  permutes.optimal = permutes.optimal || permutes.bytes == 0;
  permutes.lower_bound_bytes = permutes.optimal ? permutes.bytes : 0;
}

/// A target: what passes ask of it, and the program it makes of their results.
struct Target {
  std::string_view name;
  std::string_view extension;  // of its programs
  /// Refuses sizes that the target cannot have.
  void (*check)(const Graph& graph);
  TargetRules (*rules)(const CompileOptions& options);
  void (*lower)(const std::vector<Graph>& graphs, const CompileOptions& options,
                Compiled& compiled);
  void (*write)(const Compiled& compiled, ByteSink& sink);
  /// Tells where every node of the final graph runs.
  void (*add_final_nodes)(const Graph& graph, const CompileOptions& options, const Report& report,
                          std::vector<FinalNode>& nodes);
};

bool delegates(const CompileOptions& options) {
  return std::ranges::find(options.disabled_passes, kDelegate) == options.disabled_passes.end();
}

TargetRules xnnpack_rules(const CompileOptions& options) {
  if (!options.accelerator.empty())
    throw UserError("--accelerator {}: NPUs run TOSA; add --target tosa", options.accelerator);
  TargetRules rules = options.profile.empty()
                          ? xnnpack::rules()
                          : xnnpack::rules(xnnpack::load_profile(options.profile));
  if (!delegates(options))
    rules.legalise = [](Graph& graph, PassContext&) { return legalise_for_kernels(graph); };
  return rules;
}

const tosa::Accelerator* accelerator_of(const CompileOptions& options) {
  return options.accelerator.empty() ? nullptr : &tosa::find_accelerator(options.accelerator);
}

/// All of them at once; of very many the first, since `explain` tells them all, one a line.
void refuse_what_cannot_run(const Report& report) {
  constexpr size_t kMostNodes = 50;
  if (report.cannot_run.empty()) return;
  std::vector<std::string> nodes;
  for (const CannotRun& node : report.cannot_run) {
    if (nodes.size() == kMostNodes) {
      nodes.push_back(fmt::format("and {} more (layline explain --target tosa --accelerator {})",
                                  report.cannot_run.size() - kMostNodes, report.accelerator));
      break;
    }
    nodes.push_back(fmt::format("{}: {}", node.node, node.why));
  }
  throw UserError("{} node{} cannot run on {}: {}", report.cannot_run.size(),
                  report.cannot_run.size() == 1 ? "" : "s", report.accelerator,
                  fmt::join(nodes, "; "));
}

TargetRules tosa_rules(const CompileOptions& options) {
  if (!options.profile.empty())
    throw UserError("--profile {}: profiles are measured for xnnpack; tosa has costs of its own",
                    options.profile);
  if (!delegates(options)) throw UserError("--disable delegate: a TOSA program has no delegates");
  return tosa::rules(accelerator_of(options));
}

FinalNode final_node(const Node& node, std::string where) {
  return {node.result()->name(), node.origin(), std::string(name(node.op())),
          to_string(node.result()->type()), std::move(where)};
}

/// Where every node of the final graph runs, and why not in a delegate.
void add_xnnpack_nodes(const Graph& graph, const CompileOptions& options, const Report&,
                       std::vector<FinalNode>& nodes) {
  const xnnpack::Partition partition = xnnpack::partition(graph, delegates(options));
  for (const xnnpack::Part& part : partition.parts) {
    for (const Node* node : part.nodes) {
      nodes.push_back(final_node(
          *node, part.delegated ? "runs in an XNNPACK delegate"
                                : fmt::format("runs on a kernel outside delegates: {}", part.why)));
    }
  }
}

void add_tosa_nodes(const Graph& graph, const CompileOptions&, const Report& report,
                    std::vector<FinalNode>& nodes) {
  for (const Node* node : graph) {
    if (node->is(Op::constant)) continue;
    const auto refused =
        std::ranges::find(report.cannot_run, node->result()->name(), &CannotRun::value);
    nodes.push_back(final_node(
        *node, refused == report.cannot_run.end()
                   ? "is written as TOSA operators"
                   : fmt::format("cannot run on {}: {}", report.accelerator, refused->why)));
  }
}

constexpr Target kTargets[] = {
    {"xnnpack", ".pte", check_bounded, xnnpack_rules,
     [](const std::vector<Graph>& graphs, const CompileOptions& options, Compiled& compiled) {
       compiled.program =
           xnnpack::lower(graphs, compiled.report, {delegates(options), options.strip});
     },
     [](const Compiled& compiled, ByteSink& sink) { pte::write_program(compiled.program, sink); },
     add_xnnpack_nodes},
    {"tosa", ".tosa", check_static, tosa_rules,
     [](const std::vector<Graph>& graphs, const CompileOptions& options, Compiled& compiled) {
       compiled.tosa = std::make_shared<tosa::Program>(
           tosa::lower(graphs, compiled.report, accelerator_of(options)));
     },
     [](const Compiled& compiled, ByteSink& sink) {
       refuse_what_cannot_run(compiled.report);
       tosa::write_program(*compiled.tosa, sink);
     },
     add_tosa_nodes},
};

const Target& find_target(const std::string& name) {
  const auto* found = std::ranges::find(kTargets, name, &Target::name);
  if (found == std::end(kTargets))
    throw UserError("there is no target `{}`; there are {}", name, fmt::join(targets(), " and "));
  return *found;
}

/// What the page shows besides the report and the graphs as imported.
void add_pictures(const std::vector<Graph>& graphs, const Target& target,
                  const CompileOptions& options, Compiled& compiled) {
  Pictures& pictures = compiled.pictures;
  for (const Graph& graph : graphs) {
    std::vector<FinalNode> nodes;
    target.add_final_nodes(graph, options, compiled.report, nodes);
    pictures.after.push_back(draw(graph, nodes));
  }
  for (const Explanation& explanation : compiled.explanations)
    pictures.reasons.push_back({std::string(explanation.pass), explanation.value,
                                explanation.origin ? explanation.origin->node : "",
                                explanation.text});
  for (const Certificate& certificate : compiled.certificates)
    pictures.certificates.push_back(describe(certificate));
  pictures.arena = draw_arena(compiled.program);
}

}  // namespace

std::vector<std::string> disableable() {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes()) names.emplace_back(pass.name);
  names.emplace_back(kDelegate);
  return names;
}

std::vector<std::string> targets() {
  std::vector<std::string> names;
  for (const Target& target : kTargets) names.emplace_back(target.name);
  return names;
}

std::string_view program_extension(const std::string& target) {
  return find_target(target).extension;
}

void write_program(const Compiled& compiled, ByteSink& sink) {
  find_target(compiled.report.target).write(compiled, sink);
}

std::vector<std::string> stages() {
  std::vector<std::string> names = {std::string(kImportStage)};
  for (const Pass& pass : all_passes()) names.emplace_back(pass.name);
  return names;
}

LoadedModel load_model(const std::string& path, const CompileOptions& options) {
  LoadedModel model = import_model(path);
  for (Graph& graph : model.methods) {
    name_boundary(graph);
    find_target(options.target).check(graph);
  }
  order_boundary(model.methods, options.input_orders, options.output_orders);
  pin_shared_states(model.methods);
  return model;
}

PipelineOptions pipeline_options(const CompileOptions& options) {
  PipelineOptions pipeline;
  pipeline.target = find_target(options.target).rules(options);
  pipeline.disabled = options.disabled_passes;
  std::erase(pipeline.disabled, kDelegate);
  pipeline.validate = options.verify;
  pipeline.explain = options.explain || options.draw;
  if (options.emit && options.emit != kImportStage) pipeline.stop_after = options.emit;
  return pipeline;
}

Compiled compile(const std::string& model, const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Target& target = find_target(options.target);
  Compiled compiled;
  compiled.report.version = LAYLINE_VERSION;
  compiled.report.model = model;
  compiled.report.target = options.target;

  Permutes& permutes = compiled.report.permutes;
  LoadedModel loaded = load_model(model, options);
  permutes.source = loaded.permutes;
  std::vector<Graph>& graphs = loaded.methods;
  for (const Graph& graph : graphs)
    for (const Node* node : graph) permutes.implied += moves_data(*node);
  permutes.implied -= permutes.source;

  if (options.draw)
    for (const Graph& graph : graphs) compiled.pictures.before.push_back(draw(graph));
  const PipelineOptions pipeline = pipeline_options(options);
  for (Graph& graph : graphs) {
    if (options.emit == kImportStage) break;
    PipelineReport passes = run_pipeline(graph, pipeline);
    add_passes(compiled, passes);
  }
  if (options.emit) {
    compiled.text = text_of(graphs);
    return compiled;
  }
  target.lower(graphs, options, compiled);
  if (options.explain)
    for (const Graph& graph : graphs)
      target.add_final_nodes(graph, options, compiled.report, compiled.nodes);
  if (options.draw) add_pictures(graphs, target, options, compiled);
  prove(compiled);
  compiled.report.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return compiled;
}

}  // namespace layline
