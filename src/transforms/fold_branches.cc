// Turns branches that read the same value and are added up or subtracted into one convolution.
// Networks that are trained with parallel branches (RepVGG, MobileOne, FastViT) so get back the one
// convolution that they are meant to run with.
//
//   V x + W x      =  (V + W) x, a tap of W being added to the tap of V at the same place
//   W x + (s x+t)  =  (W + s I) x + t
//
// This is exact in real arithmetic. Nothing grows: if the larger window lacks a tap at a place of
// the smaller one, nothing is done.
#include "ir/evaluate.h"
#include "transforms/affine.h"
#include "transforms/passes.h"
#include "transforms/weighted_op.h"

namespace layline {
namespace {

/// A convolution whose result nothing else reads; null otherwise.
const Node* branch(const Value* value) {
  const Node* conv = value->def();
  if (!value->has_one_use() || conv == nullptr || !conv->is(Op::conv) || !is_weighted_op(conv))
    return nullptr;
  const bool plain = conv->attrs<ConvAttrs>().bounds.unbounded();
  return plain && weight_of(*conv).byte_count() <= kMostRewrittenBytes ? conv : nullptr;
}

/// `value` as a scale and a shift of each channel of x, by ops that nothing else reads.
std::optional<Affine> scaled(Value* value, Value* x) {
  if (value->type() != x->type() || !x->shape().back().is_static()) return std::nullopt;
  const auto channels = static_cast<size_t>(x->shape().back().value());
  Affine all{x, std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  const Relayout identity = Relayout::identity(x->shape());
  while (value != x) {
    const Node* node = value->def();
    if (node == nullptr || !value->has_one_use()) return std::nullopt;
    const auto map = affine(*node, identity);
    if (!map || !node->attrs<BinaryAttrs>().bounds.unbounded()) return std::nullopt;
    for (size_t i = 0; i < channels; ++i) {
      all.shift[i] += all.scale[i] * map->shift[i];
      all.scale[i] *= map->scale[i];
    }
    value = map->x;
  }
  return all;
}

/// Where the taps of a convolution are.
class Window {
 public:
  explicit Window(const Node& conv) : attrs_(conv.attrs<ConvAttrs>()) {
    const Shape& weight = conv.operand(1)->shape();  // [outputs, ..., inputs of a group]
    for (size_t axis = 1; axis + 1 < weight.size(); ++axis) sizes_.push_back(weight[axis].value());
  }

  /// For each tap of `other`, the tap of this window at the same place; nullopt if one has none.
  std::optional<std::vector<int64_t>> taps_of(const Window& other) const {
    std::vector<int64_t> taps = {0};
    for (size_t axis = 0; axis < sizes_.size(); ++axis) {
      std::vector<int64_t> longer;
      for (const int64_t before : taps)
        for (int64_t k = 0; k < other.sizes_[axis]; ++k) {
          const auto tap = tap_at(axis, k * other.attrs_.dilation[axis] - other.attrs_.low[axis]);
          if (!tap) return std::nullopt;
          longer.push_back(before * sizes_[axis] + *tap);
        }
      taps = std::move(longer);
    }
    return taps;
  }

  /// The tap that reads the place of the result itself.
  std::optional<int64_t> centre() const {
    int64_t centre = 0;
    for (size_t axis = 0; axis < sizes_.size(); ++axis) {
      const auto tap = tap_at(axis, 0);
      if (attrs_.stride[axis] != 1 || !tap) return std::nullopt;
      centre = centre * sizes_[axis] + *tap;
    }
    return centre;
  }

 private:
  std::optional<int64_t> tap_at(size_t axis, int64_t place) const {
    const int64_t from_first = place + attrs_.low[axis];
    const int64_t tap = from_first / attrs_.dilation[axis];
    if (from_first < 0 || from_first % attrs_.dilation[axis] != 0 || tap >= sizes_[axis])
      return std::nullopt;
    return tap;
  }

  const ConvAttrs& attrs_;
  std::vector<int64_t> sizes_;  // along each axis
};

/// The weight and the bias of a convolution, as numbers that can be added to.
class Weights {
 public:
  explicit Weights(const Node& conv) : weight_(tensor_of(weight_of(conv))), bias_(bias_of(conv)) {}

  int64_t outputs() const { return weight_.dim(0); }
  int64_t inputs() const { return weight_.dims().back(); }  // in a group
  const Tensor& weight() const { return weight_; }
  const std::vector<double>& bias() const { return bias_; }

  void add(const Weights& other, const std::vector<int64_t>& taps, double sign) {
    for (int64_t output = 0; output < outputs(); ++output) {
      for (size_t k = 0; k < taps.size(); ++k)
        for (int64_t i = 0; i < inputs(); ++i) {
          const int64_t from = (output * ssize(taps) + static_cast<int64_t>(k)) * inputs() + i;
          add(output, taps[k], i, sign * other.weight_.get(from));
        }
      bias_[static_cast<size_t>(output)] += sign * other.bias_[static_cast<size_t>(output)];
    }
  }

  void add(const Affine& map, int64_t centre, double sign) {
    for (int64_t output = 0; output < outputs(); ++output) {
      // As many outputs as inputs: output i of a group is at the place of its input i.
      add(output, centre, output % inputs(), sign * map.scale[static_cast<size_t>(output)]);
      bias_[static_cast<size_t>(output)] += sign * map.shift[static_cast<size_t>(output)];
    }
  }

  void negate() {
    for (int64_t i = 0; i < weight_.count(); ++i) weight_.set(i, -weight_.get(i));
    for (double& bias : bias_) bias = -bias;
  }

 private:
  void add(int64_t output, int64_t tap, int64_t input, double number) {
    const int64_t taps = weight_.count() / (outputs() * inputs());
    const int64_t at = (output * taps + tap) * inputs() + input;
    weight_.set(at, weight_.get(at) + number);
  }

  Tensor weight_;
  std::vector<double> bias_;
};

/// conv ± other, where the window of `conv` has all taps of `other`.
std::optional<Weights> with_conv(const Node& conv, const Node& other, double sign) {
  const auto &attrs = conv.attrs<ConvAttrs>(), &theirs = other.attrs<ConvAttrs>();
  if (conv.operand(0) != other.operand(0) || attrs.stride != theirs.stride ||
      attrs.groups != theirs.groups)
    return std::nullopt;
  const auto taps = Window(conv).taps_of(Window(other));
  if (!taps) return std::nullopt;
  Weights weights(conv);
  weights.add(Weights(other), *taps, sign);
  return weights;
}

/// conv ± `value`, which scales and shifts each channel that `conv` reads.
std::optional<Weights> with_scaled(const Node& conv, Value* value, double sign) {
  const auto map = scaled(value, conv.operand(0));
  const auto centre = Window(conv).centre();
  if (!map || map->scale.empty() || !centre) return std::nullopt;
  Weights weights(conv);
  weights.add(*map, *centre, sign);
  return weights;
}

bool fold(Graph& graph, Node* node, PassContext& context) {
  if (!(node->is(Op::add) || node->is(Op::sub)) || is_quantised(*node)) return false;
  const double right_sign = node->is(Op::sub) ? -1 : 1;
  for (const int side : {0, 1}) {
    const Node* conv = branch(node->operand(side));
    Value* value = node->operand(1 - side);
    if (conv == nullptr || value->type() != node->result()->type() ||
        conv->result()->type() != node->result()->type())
      continue;
    const Node* other = branch(value);
    // Relative to this side's own sign.
    auto weights = other ? with_conv(*conv, *other, right_sign) : std::nullopt;
    if (!weights) weights = with_scaled(*conv, value, right_sign);
    if (!weights) continue;
    if (side == 1 && right_sign < 0) weights->negate();
    context.rewrite(*node, "{} folds into the weights of {}, which reads the same", value->name(),
                    conv->result()->name());
    const BuildBefore build(graph, node, conv->origin());
    ConvAttrs attrs = conv->attrs<ConvAttrs>();
    attrs.bounds = node->attrs<BinaryAttrs>().bounds;
    Value* folded = build.add(Op::conv,
                              {conv->operand(0), build.constant(weights->weight()),
                               build.constant(vector_constant(weights->bias()))},
                              std::move(attrs));
    replace(graph, node, folded);
    return true;
  }
  return false;
}

}  // namespace

bool fold_branches(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) changed = fold(graph, node, context) || changed;
  return changed;
}

}  // namespace layline
