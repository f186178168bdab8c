// Folds multiplications and additions of constants, one for each channel or one for all, into the
// convolution or linear op beside them: how batch norms disappear.
//
//   after:   (W x + b) * s + t  =  (s W) x + (s b + t)
//   before:  W (x * s + t) + b  =  (W s) x + (W t + b), the addition only where nothing is padded,
//            because padding is zero after the addition
//
// Exact in real arithmetic. Scaled rows and columns of a weight stay a view of the mapped file; a
// weight is rewritten in memory only where the inputs of each group are scaled differently.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/parallel.h"
#include "transforms/affine.h"
#include "transforms/passes.h"
#include "transforms/weighted_op.h"

namespace layline {
namespace {

// ---- After the op ----

/// Folds `node`, an affine map of a foldable op's result, perhaps through a relayout. Whether a
/// constant is one for each channel is asked in the op's own coordinates.
bool fold_after(Graph& graph, Node* node, PassContext& context) {
  if (node->operand_count() != 2) return false;
  Value* read = node->operand(constant_of(node->operand(0)) ? 1 : 0);
  Value* written = relayout_of(read) && read->has_one_use() ? read->def()->operand(0) : read;
  if (!written->has_one_use() || !is_weighted_op(written->def())) return false;
  const Relayout relayout =
      written == read ? Relayout::identity(read->shape()) : *relayout_of(read);
  const auto map = affine(*node, relayout.inverse());
  if (!map || map->x != read) return false;
  const Node& op = *written->def();
  if (!bounds_of(op.attributes())->unbounded()) return false;

  std::vector<double> bias = bias_of(op);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = bias[i] * map->scale[i] + map->shift[i];
  const bool is_bias = is_uniform(map->scale, 1);
  context.rewrite(*node, "{} of {}", is_bias ? "is taken in as the bias" : "folds into the weights",
                  written->name());
  const BuildBefore build(graph, node, op.origin());
  Value* weight = is_bias ? op.operand(1) : build.constant(scaled_rows(weight_of(op), map->scale));
  std::vector<Value*> operands = {op.operand(0), weight};
  if (op.operand_count() == 3 || !is_uniform(bias, 0))
    operands.push_back(build.constant(vector_constant(bias)));
  Attributes attributes = op.attributes();
  *bounds_of(attributes) = node->attrs<BinaryAttrs>().bounds;
  Value* folded = build.add(op.op(), std::move(operands), std::move(attributes));
  replace(graph, node, build.relayout(folded, relayout));
  return true;
}

// ---- Before the op ----

int64_t groups_of(const Node& op) {
  if (op.is(Op::conv)) return op.attrs<ConvAttrs>().groups;
  if (op.is(Op::conv_transpose)) return op.attrs<ConvTransposeAttrs>().groups;
  return 1;
}

/// Whether every result sees every tap: nothing is padded or cropped.
bool sees_all_taps(const Node& op) {
  if (op.is(Op::linear)) return true;
  if (!op.is(Op::conv)) return false;
  const ConvAttrs& conv = op.attrs<ConvAttrs>();
  const auto is_zero = [](int64_t size) { return size == 0; };
  return std::ranges::all_of(conv.low, is_zero) && std::ranges::all_of(conv.high, is_zero);
}

/// Calls visit(run of weights, output channel, input channel of the run's first weight): the runs
/// of consecutive input channels that make up the weight of some outputs, in its own order.
void each_run(const Node& op, size_t first_output, size_t end_output, auto&& visit) {
  const Constant& weight = weight_of(op);
  const auto outputs = static_cast<size_t>(weight.shape().front().value());
  const auto group_inputs = static_cast<size_t>(weight.shape().back().value());
  const size_t outputs_of_group = outputs / static_cast<size_t>(groups_of(op));
  const size_t row = weight.byte_count() / sizeof(float) / std::max<size_t>(outputs, 1);
  size_t position = first_output * row;
  weight.rows(first_output, end_output).stream([&](std::span<const std::byte> piece) {
    while (!piece.empty()) {
      const size_t output = position / row;
      const size_t input = position % group_inputs;
      const size_t count = std::min(group_inputs - input, piece.size() / sizeof(float));
      visit(piece.first(count * sizeof(float)), output,
            output / outputs_of_group * group_inputs + input);
      piece = piece.subspan(count * sizeof(float));
      position += count;
    }
  });
}

/// The sum of the products, in double precision; `weights` may stand anywhere in memory.
double dot(std::span<const std::byte> weights, const double* factors) {
  // As many sums as keep the adders busy; sums of their own also let the compiler use vectors.
  constexpr size_t kLanes = 16;
  std::array<double, kLanes> sums{};
  std::array<float, kLanes> lanes{};
  const size_t count = weights.size() / sizeof(float);
  size_t done = 0;
  for (; done + kLanes <= count; done += kLanes) {
    std::memcpy(lanes.data(), &weights[done * sizeof(float)], sizeof lanes);
    for (size_t i = 0; i < kLanes; ++i) sums[i] += lanes[i] * factors[done + i];
  }
  for (size_t i = 0; done + i < count; ++i) {
    std::memcpy(&lanes[i], &weights[(done + i) * sizeof(float)], sizeof(float));
    sums[i] += lanes[i] * factors[done + i];
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

Constant scaled_inputs(const Node& op, const std::vector<double>& scale) {
  const Constant& weight = weight_of(op);
  const auto outputs = static_cast<size_t>(weight.shape().front().value());
  const size_t outputs_of_group = outputs / static_cast<size_t>(groups_of(op));
  const bool uniform = is_uniform(scale, scale[0]);
  // With one input for each output channel (depthwise), inputs are rows.
  if (uniform || weight.shape().back().is_one()) {
    std::vector<double> rows(outputs, scale[0]);
    for (size_t i = 0; i < outputs && !uniform; ++i) rows[i] = scale[i / outputs_of_group];
    return scaled_rows(weight, rows);
  }
  const std::vector<float> factors(scale.begin(), scale.end());
  if (groups_of(op) == 1) return weight.scaled_columns(factors);
  std::vector<std::byte> bytes;
  bytes.reserve(weight.byte_count());
  each_run(op, 0, outputs, [&](std::span<const std::byte> run, size_t, size_t input) {
    for (size_t i = 0; i < run.size(); i += sizeof(float)) {
      float element;
      std::memcpy(&element, &run[i], sizeof element);
      element *= factors[input + i / sizeof(float)];
      const auto scaled = std::as_bytes(std::span(&element, 1));
      bytes.insert(bytes.end(), scaled.begin(), scaled.end());
    }
  });
  return Constant::owned(DType::f32, weight.shape(), std::move(bytes));
}

/// Folds an affine map that `op` reads, perhaps through a relayout.
bool fold_before(Graph& graph, Node* op, PassContext& context) {
  if (!is_weighted_op(op) || weight_of(*op).byte_count() > kMostRewrittenBytes) return false;
  Value* read = op->operand(0);
  Value* mapped = relayout_of(read) && read->has_one_use() ? read->def()->operand(0) : read;
  const Relayout relayout = mapped == read ? Relayout::identity(read->shape()) : *relayout_of(read);
  if (mapped->def() == nullptr || !mapped->has_one_use()) return false;
  const auto map = affine(*mapped->def(), relayout);
  if (!map || map->scale.empty() || !mapped->def()->attrs<BinaryAttrs>().bounds.unbounded())
    return false;
  const bool shifts = !is_uniform(map->shift, 0);
  if (shifts && !sees_all_taps(*op)) {
    context.explain(*op, "{} does not fold into it: it pads with zeros", mapped->name());
    return false;
  }

  context.rewrite(*op, "takes {} into its weights", mapped->name());
  const BuildBefore build(graph, op);
  std::vector<Value*> operands(op->operands().begin(), op->operands().end());
  operands[0] = build.relayout(map->x, relayout);
  if (!is_uniform(map->scale, 1)) operands[1] = build.constant(scaled_inputs(*op, map->scale));
  if (shifts) {
    std::vector<double> bias = bias_of(*op);
    // Most of the time goes into fetching the weights.
    in_parallel_pieces(bias.size(), weight_of(*op).byte_count() / std::max<size_t>(1, bias.size()),
                       [&](size_t begin, size_t end) {
                         each_run(*op, begin, end,
                                  [&](std::span<const std::byte> run, size_t output, size_t input) {
                                    bias[output] += dot(run, &map->shift[input]);
                                  });
                       });
    operands.resize(2);
    operands.push_back(build.constant(vector_constant(bias)));
  }
  replace(graph, op, build.add(op->op(), std::move(operands), op->attributes()));
  return true;
}

}  // namespace

bool fold_affine(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph)
    changed = fold_after(graph, node, context) || fold_before(graph, node, context) || changed;
  return changed;
}

}  // namespace layline
