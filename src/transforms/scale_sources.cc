#include "transforms/scale_sources.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/evaluate.h"
#include "transforms/weighted_op.h"

namespace layline {
namespace {

// Limits on the search. Either factor of a product may lead to sources, so that each product in a
// chain doubles the ways to look at.
constexpr size_t kMostNodes = 64;
constexpr size_t kMostVisits = 4 * kMostNodes;
constexpr int kMostSteps = 4;

/// The channels that a value's elements come from, numbered through all sources.
struct Channels {
  /// The channel of each element, broadcast to the value's shape; nothing if elements mix.
  std::optional<Tensor> places;
  std::vector<bool> all;
};

bool overlap(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i]) return true;
  return false;
}

/// The part of a slice that concerns the axes of `places`; one that is broadcast is not cut.
SliceAttrs slice_of_places(const SliceAttrs& slice, const Shape& places) {
  const size_t missing = slice.start.size() - places.size();
  SliceAttrs own{Ints(places.size(), 0), places, Ints(places.size(), 1)};
  for (size_t a = 0; a < places.size(); ++a) {
    if (places[a].is_one()) continue;
    own.start[a] = slice.start[a + missing];
    own.size[a] = slice.size[a + missing];
    own.step[a] = slice.step[a + missing];
  }
  return own;
}

std::optional<Tensor> moved(const Node& node, const Tensor& places) {
  const Shape& shape = places.type().shape;
  if (node.is(Op::slice)) {
    const SliceAttrs slice = slice_of_places(node.attrs<SliceAttrs>(), shape);
    if (!is_static(slice.size)) return std::nullopt;
    return evaluate_op(Op::slice, std::span(&places, 1), slice);
  }
  if (!node.is(Op::relayout)) return places;  // elementwise, or expanded
  const auto relayout = node.attrs<RelayoutAttrs>().relayout.for_broadcast(shape);
  if (!relayout) return std::nullopt;
  return evaluate_op(Op::relayout, std::span(&places, 1), RelayoutAttrs{*relayout});
}

/// The channels after `node`, which alone reads them.
Channels after(const Node& node, const Channels& before) {
  Channels result{std::nullopt, before.all};
  if (!before.places) return result;
  result.places = moved(node, *before.places);
  if (!result.places) return result;
  result.all.assign(before.all.size(), false);
  for (int64_t i = 0; i < result.places->count(); ++i)
    result.all[static_cast<size_t>(result.places->get_int(i))] = true;
  return result;
}

bool is_unbounded(const Node& node) { return node.attrs<BinaryAttrs>().bounds.unbounded(); }

class Search {
 public:
  std::optional<std::vector<ScaleSource>> run(const Node* reader, int operand) {
    Value* value = reader->operand(operand);
    if (!trace(value)) return std::nullopt;
    on_the_way_.insert({reader, operand});
    number_channels();
    if (channels_.empty()) return std::nullopt;
    wanted_ = channels_.at(value).all;
    for (const Node* node : order_)
      if (is_read_elsewhere(node->result(), channels_.at(node->result()), kMostSteps))
        return std::nullopt;
    return sources();
  }

 private:
  /// Follows a value back to sources; false if it has another origin, or does not scale with them.
  bool trace(Value* value) {
    Node* node = value->def();
    if (node == nullptr || !is_float(value->dtype())) return false;
    if (std::ranges::find(order_, node) != order_.end()) return true;
    if (order_.size() >= kMostNodes || ++visits_ > kMostVisits) return false;
    std::vector<int> operands;
    switch (node->op()) {
      case Op::linear:
      case Op::conv:
      case Op::conv_transpose:
        if (!is_weighted_op(node) || !bounds_of(node->attributes())->unbounded() ||
            !node->operand(1)->has_one_use())
          return false;
        break;
      case Op::relayout:
      case Op::slice:
      case Op::expand:
      case Op::convert:
      case Op::neg:
      case Op::roll:
      case Op::flip:
        operands = {0};
        break;
      case Op::add:
      case Op::sub:
        if (!is_unbounded(*node)) return false;
        operands = {0, 1};
        break;
      case Op::concat:
        for (int i = 0; i < node->operand_count(); ++i) operands.push_back(i);
        break;
      case Op::div:
        if (!is_unbounded(*node)) return false;
        operands = {0};
        break;
      case Op::mul:
        return is_unbounded(*node) && (trace_through(node, {0}) || trace_through(node, {1}));
      default:
        return false;
    }
    return trace_through(node, operands);
  }

  bool trace_through(Node* node, const std::vector<int>& operands) {
    const size_t before = order_.size();
    const auto ways_before = on_the_way_;
    for (int i : operands) {
      on_the_way_.insert({node, i});
      if (trace(node->operand(i))) continue;
      order_.resize(before);
      on_the_way_ = ways_before;
      return false;
    }
    order_.push_back(node);
    return true;
  }

  void number_channels() {
    size_t total = 0;
    for (const Node* node : order_)
      if (is_weighted_op(node)) total += channel_count(*node);
    size_t first = 0;
    for (const Node* node : order_) {
      Channels channels{std::nullopt, std::vector<bool>(total, false)};
      if (is_weighted_op(node)) {
        const auto count = static_cast<int64_t>(channel_count(*node));
        channels.places.emplace(TensorType{DType::i64, {count}});
        for (int64_t i = 0; i < count; ++i) {
          channels.places->set_int(i, static_cast<int64_t>(first) + i);
          channels.all[first + static_cast<size_t>(i)] = true;
        }
        first += static_cast<size_t>(count);
      } else {
        channels = combined(*node, std::move(channels));
      }
      channels_.emplace(node->result(), std::move(channels));
    }
  }

  /// The channels of the operands that are on the way.
  Channels combined(const Node& node, Channels none) const {
    std::vector<const Channels*> parts;
    for (int i = 0; i < node.operand_count(); ++i)
      if (on_the_way_.contains({&node, i})) parts.push_back(&channels_.at(node.operand(i)));
    const bool keeps_places =
        parts.size() == 1 && !(node.is(Op::roll) || node.is(Op::flip) || node.is(Op::concat));
    if (keeps_places) return after(node, *parts[0]);
    for (const Channels* part : parts)
      for (size_t i = 0; i < none.all.size(); ++i) none.all[i] = none.all[i] || part->all[i];
    return none;
  }

  /// Whether anything off the way reads a wanted channel, directly or through moves.
  bool is_read_elsewhere(const Value* value, const Channels& channels, int steps) const {
    if (!overlap(channels.all, wanted_)) return false;
    if (value->output_uses() > 0 || steps == 0) return true;
    for (const Use& use : value->uses()) {
      if (on_the_way_.contains({use.user, use.operand})) continue;
      if (!use.user->is(Op::slice) && !use.user->is(Op::relayout)) return true;
      if (is_read_elsewhere(use.user->result(), after(*use.user, channels), steps - 1)) return true;
    }
    return false;
  }

  static size_t channel_count(const Node& op) {
    return static_cast<size_t>(weight_of(op).shape()[0].value());
  }

  std::vector<ScaleSource> sources() const {
    std::vector<ScaleSource> result;
    auto next = wanted_.begin();
    for (Node* node : order_) {
      if (!is_weighted_op(node)) continue;
      const auto end = next + static_cast<std::ptrdiff_t>(channel_count(*node));
      result.push_back({node, {next, end}});
      next = end;
    }
    return result;
  }

  std::vector<Node*> order_;  // what is on the way, operands first
  size_t visits_ = 0;
  std::set<std::pair<const Node*, int>> on_the_way_;
  std::unordered_map<const Value*, Channels> channels_;
  std::vector<bool> wanted_;
};

}  // namespace

std::optional<std::vector<ScaleSource>> scale_sources(const Node* reader, int operand) {
  return Search().run(reader, operand);
}

}  // namespace layline
