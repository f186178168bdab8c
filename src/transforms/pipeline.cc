#include "transforms/pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include "base/error.h"
#include "ir/verify.h"
#include "transforms/passes.h"
#include "transforms/validate.h"

namespace layline {
namespace {

// The passes in the order in which they first run. The schedule below must keep to it.
constexpr std::array kPasses = {
    Pass{"scan_bodies", "runs all passes on the bodies of loops", scan_bodies},
    Pass{"fold_constants", "computes what depends on constants only", fold_constants},
    Pass{"expand_scatters", "writes out slices that are written to no state in place",
         expand_scatters},
    Pass{"recognise_gelu", "finds gelu in its written-out forms", recognise_gelu},
    Pass{"dead_code", "removes what no output depends on", dead_code},
    Pass{"simplify", "drops what does nothing", simplify},
    Pass{"merge_duplicates", "computes once what is computed twice", merge_duplicates},
    Pass{"fold_relayouts", "composes and cancels relayouts", fold_relayouts},
    Pass{"recognise_hardswish", "finds hardswish in its written-out forms", recognise_hardswish},
    Pass{"type_quantised", "runs ops on quantised numbers where the model says so", type_quantised},
    Pass{"gather_quantised", "reads rows of integers before they are dequantised",
         gather_quantised},
    Pass{"fold_affine", "folds batch norms into weights", fold_affine},
    Pass{"fold_branches", "makes one convolution of parallel ones that are added", fold_branches},
    Pass{"recognise_attention", "finds attention, its scale, masks and guards",
         recognise_attention},
    Pass{"fold_repeats", "multiplies by a repeated matrix once", fold_repeats},
    Pass{"fold_scale", "multiplies numbers into the weights that they scale", fold_scale},
    Pass{"fold_signs", "negates a factor that several products share", fold_signs},
    Pass{"gather_one_hot", "reads rows of matrices that one-hot rows are multiplied by",
         gather_one_hot},
    Pass{"quantise_dynamically", "lets contractions quantise what they read", quantise_dynamically,
         true},
    Pass{"cut_before_products", "computes only those rows of products that are read",
         cut_before_products},
    Pass{"merge_linears", "makes one product of several on one value", merge_linears},
    Pass{"recognise_causal_attention", "finds attention on the filled part of a cache",
         recognise_causal_attention},
    Pass{"attend_to_filled", "lets attention read that part of a cache which is filled",
         attend_to_filled},
    Pass{"place_layouts", "gives every op the order that moves the least data", place_layouts,
         false, true},
    Pass{"fuse_pad", "lets convolutions and pools pad", fuse_pad},
    Pass{"legalise", "rewrites what the target cannot run as it stands", legalise},
    Pass{"slice_quantised", "cuts integers before they are dequantised", slice_quantised},
    Pass{"fuse_clamp", "lets ops clamp their results", fuse_clamp},
    Pass{"real_depthwise", "runs depthwise convolutions of integers on reals, where that is faster",
         real_depthwise},
    Pass{"split_depthwise", "makes depthwise convolutions with large windows of small ones",
         split_depthwise},
    Pass{"block_convs", "makes convolutions with few outputs compute several places at once",
         block_convs},
    Pass{"winograd_convs", "convolves with fewer products, where that is faster", winograd_convs},
    Pass{"unfold_convs", "makes convolutions of pointwise ones, where those are faster",
         unfold_convs},
};

constexpr size_t place_of(std::string_view name) {
  for (size_t i = 0; i < kPasses.size(); ++i)
    if (kPasses[i].name == name) return i;
  throw std::logic_error("no such pass");
}

// The schedule: groups of passes, each group until nothing in it changes. Folding comes before
// placement, which has less to place then, and after it, for what it has brought together.
// Placement comes again when the target has had its say, and proves its choice then; and the target
// again for what it has reordered. Fusions come late, since they take away structure that others
// look for; the target then undoes what its kernels cannot have.
using Group = std::span<const size_t>;
constexpr size_t kBodies[] = {place_of("scan_bodies")};
// First of all, before numbers are moved about; and once, since a target may write it out again.
constexpr size_t kRecognise[] = {place_of("fold_constants"), place_of("expand_scatters"),
                                 place_of("recognise_gelu")};
constexpr size_t kFold[] = {
    place_of("dead_code"),        place_of("fold_constants"),      place_of("simplify"),
    place_of("merge_duplicates"), place_of("fold_relayouts"),      place_of("recognise_hardswish"),
    place_of("type_quantised"),   place_of("gather_quantised"),    place_of("fold_affine"),
    place_of("fold_branches"),    place_of("recognise_attention"), place_of("fold_repeats"),
    place_of("fold_scale"),       place_of("fold_signs"),          place_of("gather_one_hot")};
constexpr size_t kDynamic[] = {place_of("quantise_dynamically")};
constexpr size_t kAttend[] = {place_of("recognise_causal_attention"), place_of("attend_to_filled")};
constexpr size_t kMerge[] = {place_of("cut_before_products"), place_of("merge_linears")};
constexpr size_t kPlace[] = {place_of("place_layouts")};
constexpr size_t kFusePad[] = {place_of("fuse_pad")};
constexpr size_t kLegalise[] = {place_of("legalise")};
constexpr size_t kFuse[] = {place_of("slice_quantised"), place_of("fuse_clamp")};
constexpr size_t kConvs[] = {place_of("real_depthwise"), place_of("split_depthwise"),
                             place_of("block_convs"), place_of("winograd_convs"),
                             place_of("unfold_convs")};
constexpr Group kSchedule[] = {kBodies,   kRecognise, kFold,    kDynamic, kFold,     kMerge,
                               kFold,     kAttend,    kFold,    kPlace,   kFold,     kFusePad,
                               kLegalise, kFold,      kPlace,   kFold,    kLegalise, kFold,
                               kFuse,     kConvs,     kLegalise};

/// Whether every pass first runs right after those that are listed before it have.
constexpr bool runs_in_the_order_listed() {
  size_t begun = 0;
  for (const Group group : kSchedule)
    for (const size_t pass : group) {
      if (pass > begun) return false;
      if (pass == begun) ++begun;
    }
  return begun == kPasses.size();
}
static_assert(runs_in_the_order_listed(), "kPasses lists passes in the order of their first run");

// Rounds are few in practice; the limit is for graphs that are simplified one op a round.
constexpr int kMostRounds = 16;

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  return names;
}

void check_name(const std::string& name) {
  const auto names = pass_names();
  if (std::ranges::find(names, name) == names.end())
    throw UserError("there is no pass `{}`; the passes are {}", name, fmt::join(names, ", "));
}

class Run {
 public:
  Run(Graph& graph, const PipelineOptions& options) : graph_(graph), options_(options) {
    for (const std::string& name : options.disabled) check_name(name);
    if (options.stop_after) check_name(*options.stop_after);
    for (const Pass& pass : kPasses) report_.passes.push_back({pass.name});
    seen_.fill(-1);
    verify(graph);
    if (options.validate) validate_from_here();
  }

  PipelineReport run() {
    for (size_t i = 0; i < std::size(kSchedule); ++i) run_group(kSchedule[i], i);
    if (report_.certificate && options_.explain)
      report_.certificate->written = standing_cost(graph_, options_.target.orders_for(graph_));
    return std::move(report_);
  }

 private:
  void run_group(Group group, size_t place) {
    later_ = std::span(kSchedule).subspan(place + 1);
    for (size_t i : group)
      if (kPasses[i].proves && !comes_later(i)) seen_[i] = -1;
    for (int round = 0; round < kMostRounds && !stopped_; ++round) {
      bool changed = false;
      for (size_t i : group)
        if (!stopped_ && seen_[i] != version_) changed = run_pass(i) || changed;
      if (!changed) break;
    }
  }

  bool comes_later(size_t pass) const {
    return std::ranges::any_of(
        later_, [&](Group group) { return std::ranges::find(group, pass) != group.end(); });
  }

  /// Runs a pass and what belongs to it; returns whether the graph changed.
  bool run_pass(size_t index) {
    const Pass& pass = kPasses[index];
    bool changed = false;
    if (std::ranges::find(options_.disabled, pass.name) == options_.disabled.end()) {
      PassReport& report = report_.passes[index];
      PassContext context(pass.name, options_.target,
                          options_.explain ? &report_.explanations : nullptr, !comes_later(index),
                          options_.placement_limits, options_.proof ? &report_.proof : nullptr);
      const auto start = std::chrono::steady_clock::now();
      changed = pass.run(graph_, context);
      report.seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      report.rewrites += context.rewrites();
      if (const auto& made = context.certificate())
        report_.certificate = report_.certificate ? made->after(*report_.certificate) : *made;
      ++report.runs;
      report.changes += changed;
    }
    if (changed) {
      ++version_;
      check(pass);
    }
    seen_[index] = version_;
    if (options_.on_pass) options_.on_pass(pass, graph_);
    stopped_ = options_.stop_after == pass.name;
    return changed;
  }

  /// Compares, from now on, the graph's results with its present ones: for the inputs given, or for
  /// probes, at several sizes if they are dynamic.
  void validate_from_here() {
    validators_.clear();
    if (!options_.validation_inputs.empty()) {
      validators_.emplace_back(graph_, options_.validation_inputs);
      return;
    }
    const int rounds = graph_.symbols().empty() ? 1 : 3;
    for (int round = 0; round < rounds; ++round)
      validators_.emplace_back(graph_, probes(graph_, round));
  }

  void check(const Pass& pass) {
    try {
      verify(graph_);
    } catch (const InternalError& error) {
      throw InternalError(fmt::format("after pass {}: {}", pass.name, error.what()));
    }
    if (pass.rounds_anew && !validators_.empty())
      validate_from_here();
    else
      for (Validator& validator : validators_) validator.check(graph_, pass.name);
  }

  Graph& graph_;
  const PipelineOptions& options_;
  PipelineReport report_;
  std::vector<Validator> validators_;  // one for each set of inputs
  // Counts the changes of the graph, so that a pass is not run again on what it has seen.
  int version_ = 0;
  std::array<int, kPasses.size()> seen_;
  std::span<const Group> later_;  // the groups after the one that runs
  bool stopped_ = false;
};

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

PipelineReport run_pipeline(Graph& graph, const PipelineOptions& options) {
  return Run(graph, options).run();
}

}  // namespace layline
