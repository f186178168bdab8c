#include "compiler/compile.h"

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>

#include "base/error.h"
#include "base/mapped_file.h"
#include "compiler/boundary.h"
#include "compiler/draw.h"
#include "compiler/explain.h"
#include "frontend/pt2/import.h"
#include "ir/bounds.h"
#include "ir/text.h"
#include "layline/version.h"
#include "pte/writer.h"
#include "targets/kernel_rules.h"
#include "targets/tosa/lower.h"
#include "targets/tosa/rules.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/partition.h"
#include "targets/xnnpack/rules.h"

namespace layline {
namespace {

constexpr std::string_view kZipMagic = "PK";
constexpr std::string_view kTosaMagic = "TOSA";
constexpr std::string_view kImportStage = "import";
constexpr std::string_view kDelegate = "delegate";

bool moves_data(const Node& node) {
  return node.is(Op::relayout) && !node.attrs<RelayoutAttrs>().relayout.is_view();
}

LoadedModel import_model(const std::shared_ptr<const MappedFile>& file) {
  const std::string& path = file->path();
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()),
                               file->bytes().size());
  LoadedModel model;
  if (bytes.starts_with(kZipMagic) || path.ends_with(".pt2")) {
    for (pt2::ImportedMethod& method : pt2::import_archive(file)) {
      model.methods.push_back(std::move(method.graph));
      model.permutes += method.permutes_in_model;
    }
    return model;
  }
  if (pte::is_program(path, file->bytes()))
    throw UserError("'{}' is a compiled program already; 'layline run' runs it", path);
  if (bytes.size() > 8 && bytes.substr(4, 4) == kTosaMagic)
    throw UserError("'{}' is a compiled TOSA program, which Arm's tools read", path);
  model.methods = parse_graphs(bytes, path);
  for (const Graph& graph : model.methods) {
    if (!simdjson::validate_utf8(graph.name()))
      throw UserError("'{}': the name of a graph is not UTF-8, as a method's must be; rename it",
                      path);
    for (const Node* node : graph) model.permutes += moves_data(*node);
  }
  return model;
}

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

PlacementProof::Price price_of(const Cost& cost) {
  return {static_cast<double>(cost.time_ps) / 1e9, cost.permutes};
}

/// Sums up over methods.
void add_passes(Compiled& compiled, const std::string& method, PipelineReport& passes) {
  auto& times = compiled.report.passes;
  if (times.empty())
    for (const PassReport& pass : passes.passes) times.push_back({std::string(pass.pass), 0});
  for (size_t i = 0; i < times.size(); ++i) times[i].ms += passes.passes[i].seconds * 1e3;
  std::ranges::move(passes.explanations, std::back_inserter(compiled.explanations));
  if (!passes.certificate) return;
  const Certificate& certificate = *passes.certificate;
  compiled.certificates.push_back(certificate);
  compiled.report.permutes.absorbed += static_cast<int64_t>(certificate.absorbed);
  compiled.report.placements.push_back({method, certificate.optimal(), price_of(certificate.cost),
                                        price_of(certificate.bound), price_of(certificate.before),
                                        price_of(certificate.written)});
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
                          : xnnpack::rules(xnnpack::find_profile(options.profile));
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

LoadedModel load(const std::shared_ptr<const MappedFile>& file, const CompileOptions& options) {
  LoadedModel model = import_model(file);
  for (Graph& graph : model.methods) {
    name_boundary(graph);
    find_target(options.target).check(graph);
  }
  order_boundary(model.methods, options.input_orders, options.output_orders);
  pin_shared_states(model.methods);
  return model;
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

std::vector<std::string> profiles() {
  const std::vector<std::string_view> names = xnnpack::profile_names();
  return {names.begin(), names.end()};
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
  return load(MappedFile::open_ahead(path), options);
}

PipelineOptions pipeline_options(const CompileOptions& options) {
  PipelineOptions pipeline;
  pipeline.target = find_target(options.target).rules(options);
  pipeline.disabled = options.disabled_passes;
  std::erase(pipeline.disabled, kDelegate);
  pipeline.validate = options.verify;
  pipeline.explain = options.explain || options.draw;
  if (options.emit && options.emit != kImportStage) pipeline.stop_after = options.emit;
  if (options.cancelled)
    pipeline.on_pass = [cancelled = options.cancelled](const Pass&, const Graph&) {
      if (cancelled()) throw Cancelled();
    };
  return pipeline;
}

Compiled compile(const std::string& model, const CompileOptions& options) {
  return compile(MappedFile::open_ahead(model), options);
}

Compiled compile(const std::shared_ptr<const MappedFile>& model, const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Target& target = find_target(options.target);
  Compiled compiled;
  compiled.report.version = LAYLINE_VERSION;
  compiled.report.model = model->path();
  compiled.report.target = options.target;

  Permutes& permutes = compiled.report.permutes;
  LoadedModel loaded = load(model, options);
  permutes.source = loaded.permutes;
  std::vector<Graph>& graphs = loaded.methods;
  for (const Graph& graph : graphs)
    for (const Node* node : graph) permutes.implied += moves_data(*node);
  permutes.implied -= permutes.source;

  if (options.draw)
    for (const Graph& graph : graphs) compiled.pictures.before.push_back(draw(graph));
  const PipelineOptions pipeline = pipeline_options(options);
  compiled.report.profile = pipeline.target.profile;
  for (Graph& graph : graphs) {
    if (options.emit == kImportStage) break;
    PipelineReport passes = run_pipeline(graph, pipeline);
    add_passes(compiled, graph.name(), passes);
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
  compiled.report.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return compiled;
}

}  // namespace layline
