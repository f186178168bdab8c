#include "compiler/compile.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/error.h"
#include "base/mapped_file.h"
#include "compiler/boundary.h"
#include "frontend/pt2/import.h"
#include "ir/text.h"
#include "targets/kernel_rules.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/partition.h"
#include "targets/xnnpack/rules.h"

namespace layline {
namespace {

constexpr std::string_view kZipMagic = "PK";
constexpr std::string_view kImportStage = "import";
constexpr std::string_view kDelegate = "delegate";

bool moves_data(const Node& node) {
  return node.is(Op::relayout) && !node.attrs<RelayoutAttrs>().relayout.is_view();
}

/// The graphs of a model, and how many permutes it makes itself.
std::vector<Graph> load(const std::string& path, int64_t& permutes_in_model) {
  const auto file = MappedFile::open(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()),
                               file->bytes().size());
  std::vector<Graph> graphs;
  if (bytes.starts_with(kZipMagic) || path.ends_with(".pt2")) {
    for (pt2::ImportedMethod& method : pt2::import_archive(path)) {
      graphs.push_back(std::move(method.graph));
      permutes_in_model += method.permutes_in_model;
    }
    return graphs;
  }
  graphs.push_back(parse_graph(bytes, path));
  for (const Node* node : graphs[0]) permutes_in_model += moves_data(*node);
  return graphs;
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

/// Where every node of the final graph runs, and why not in a delegate.
void add_final_nodes(const Graph& graph, bool delegate, std::vector<FinalNode>& nodes) {
  const xnnpack::Partition partition = xnnpack::partition(graph, delegate);
  for (const xnnpack::Part& part : partition.parts) {
    for (const Node* node : part.nodes) {
      std::string where = "runs in an XNNPACK delegate";
      if (!part.delegated) {
        const auto refused =
            std::ranges::find(partition.refused, node, &xnnpack::Partition::Refused::node);
        where = fmt::format(
            "runs on a kernel outside delegates: {}",
            refused == partition.refused.end() ? "not worth a delegate of its own" : refused->why);
      }
      nodes.push_back({node->result()->name(), node->origin(), std::string(name(node->op())),
                       to_string(node->result()->type()), std::move(where)});
    }
  }
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

Compiled compile(const std::string& model, const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.target != "xnnpack")
    throw UserError("there is no target `{}`; there is xnnpack", options.target);
  Compiled compiled;
  compiled.report.version = LAYLINE_VERSION;
  compiled.report.model = model;
  compiled.report.target = options.target;

  Permutes& permutes = compiled.report.permutes;
  std::vector<Graph> graphs = load(model, permutes.source);
  for (Graph& graph : graphs) name_boundary(graph);
  order_boundary(graphs, options.input_orders, options.output_orders);
  for (const Graph& graph : graphs)
    for (const Node* node : graph) permutes.implied += moves_data(*node);
  permutes.implied -= permutes.source;

  PipelineOptions pipeline;
  pipeline.target = options.profile.empty()
                        ? xnnpack::rules()
                        : xnnpack::rules(xnnpack::load_profile(options.profile));
  pipeline.disabled = options.disabled_passes;
  const bool delegate = std::erase(pipeline.disabled, kDelegate) == 0;
  if (!delegate) pipeline.target.legalise = legalise_for_kernels;
  pipeline.validate = options.verify;
  pipeline.explain = options.explain;
  const bool stop_at_import = options.emit == kImportStage;
  if (options.emit && !stop_at_import) pipeline.stop_after = options.emit;
  for (Graph& graph : graphs) {
    if (stop_at_import) break;
    PipelineReport passes = run_pipeline(graph, pipeline);
    add_passes(compiled, passes);
  }
  if (options.emit) {
    compiled.text = text_of(graphs);
    return compiled;
  }
  compiled.program = xnnpack::lower(graphs, compiled.report, delegate);
  if (options.explain)
    for (const Graph& graph : graphs) add_final_nodes(graph, delegate, compiled.nodes);
  prove(compiled);
  compiled.report.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return compiled;
}

}  // namespace layline
