#include "compiler/compile.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "compiler/boundary.h"
#include "compiler/draw.h"
#include "compiler/explain.h"
#include "compiler/runner_metadata.h"
#include "frontend/moves.h"
#include "ir/text.h"
#include "layline/version.h"
#include "pte/writer.h"

namespace layline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kImportStage = "import";
constexpr std::string_view kDelegate = "delegate";

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
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

/// Adds what the passes report about one method to the report on all.
void add_passes(Compiled& compiled, const std::string& method, PipelineReport& passes) {
  auto& times = compiled.report.passes;
  if (times.empty())
    for (const PassReport& pass : passes.passes) times.push_back({std::string(pass.pass), 0});
  for (size_t i = 0; i < times.size(); ++i) times[i].ms += passes.passes[i].seconds * 1e3;
  std::ranges::move(passes.explanations, std::back_inserter(compiled.explanations));
  if (!passes.certificate) return;
  const Certificate& certificate = *passes.certificate;
  compiled.certificates.push_back(certificate);
  if (!passes.proof.empty()) compiled.proofs.push_back(std::move(passes.proof));
  compiled.report.permutes.absorbed += static_cast<int64_t>(certificate.absorbed);
  compiled.report.placements.push_back({method, certificate.optimal(), price_of(certificate.cost),
                                        price_of(certificate.bound), price_of(certificate.before),
                                        price_of(certificate.written)});
}

LoadedModel load(const std::shared_ptr<const MappedFile>& file, const CompileOptions& options) {
  LoadedModel model = import_model(file, options.import_options);
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
  for (const Graph& graph : graphs)
    pictures.after.push_back(
        draw(graph, target.final_nodes(graph, target_options(options), compiled.report)));
  pictures.reasons = draw_reasons(compiled.explanations);
  for (const Certificate& certificate : compiled.certificates)
    pictures.certificates.push_back(describe(certificate));
  pictures.arena = compiled.program->arena();
}

}  // namespace

std::vector<std::string> disableable() {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes()) names.emplace_back(pass.name);
  names.emplace_back(kDelegate);
  return names;
}

std::vector<std::string> stages() {
  std::vector<std::string> names = {std::string(kImportStage)};
  for (const Pass& pass : all_passes()) names.emplace_back(pass.name);
  return names;
}

LoadedModel load_model(const std::string& path, const CompileOptions& options) {
  return load(MappedFile::open_ahead(path), options);
}

TargetOptions target_options(const CompileOptions& options) {
  TargetOptions result = options.for_target;
  if (std::ranges::find(options.disabled_passes, kDelegate) != options.disabled_passes.end())
    result.delegate = false;
  return result;
}

PipelineOptions pipeline_options(const CompileOptions& options) {
  PipelineOptions pipeline;
  pipeline.target = find_target(options.target).rules(target_options(options));
  pipeline.disabled = options.disabled_passes;
  std::erase(pipeline.disabled, kDelegate);
  pipeline.validate = options.verify;
  pipeline.explain = options.explain || options.draw;
  pipeline.proof = options.proof;
  pipeline.placement_limits = PlacementLimits::for_seconds(options.prove_seconds);
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

Compiled compile(const std::shared_ptr<const MappedFile>& model, const CompileOptions& asked) {
  CompileOptions options = asked;
  const Clock::time_point start = Clock::now();
  const Target& target = find_target(options.target);
  Compiled compiled;
  compiled.report.version = LAYLINE_VERSION;
  compiled.report.model = model->path();
  compiled.report.target = options.target;

  Permutes& permutes = compiled.report.permutes;
  LoadedModel loaded = load(model, options);
  permutes.source = loaded.permutes;
  compiled.report.notes = std::move(loaded.notes);
  std::vector<Graph>& graphs = loaded.methods;
  if (options.llm) add_runner_metadata(graphs, options.for_target.constant_methods);
  for (const Graph& graph : graphs)
    for (const Node* node : graph) permutes.implied += moves_data(*node);
  permutes.implied -= permutes.source;

  // What is only told is timed apart.
  const auto tell = [&](auto&& what) {
    const Clock::time_point begin = Clock::now();
    what();
    compiled.report.report_ms += ms_since(begin);
  };
  tell([&] {
    if (options.draw)
      for (const Graph& graph : graphs) compiled.pictures.before.push_back(draw(graph));
  });
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
  compiled.program = target.lower(graphs, target_options(options), compiled.report);
  tell([&] {
    if (options.explain)
      for (const Graph& graph : graphs)
        std::ranges::move(target.final_nodes(graph, target_options(options), compiled.report),
                          std::back_inserter(compiled.nodes));
    if (options.draw) add_pictures(graphs, target, options, compiled);
  });
  compiled.report.compile_ms = ms_since(start) - compiled.report.report_ms;
  return compiled;
}

}  // namespace layline
