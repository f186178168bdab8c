#include "layout/crossings.h"

#include <algorithm>

#include "base/hash.h"
#include "layout/joint_order.h"

namespace layline {
namespace {

size_t mixed_dims(size_t hash, const Dims& dims) {
  for (const Dim& dim : dims) hash = mixed(hash, dim.hash());
  return mixed(hash, dims.size());
}

bool alike(const Node& a, const Node& b) {
  return a.op() == b.op() && a.result()->type() == b.result()->type() &&
         std::ranges::equal(
             a.operands(), b.operands(),
             [](const Value* x, const Value* y) { return x->type() == y->type(); }) &&
         a.attributes() == b.attributes();
}

}  // namespace

Crossings::Kind Crossings::kind_of(const Node& node) {
  const auto [entry, added] = kind_.emplace(&node, first_.size());
  if (!added) return entry->second;
  size_t hash = static_cast<size_t>(node.op());
  for (const Value* operand : node.operands()) hash = mixed_dims(hash, operand->shape());
  const auto [begin, end] = kinds_.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (alike(*first_[known->second], node)) return entry->second = known->second;
  kinds_.emplace(hash, entry->second);
  first_.push_back(&node);
  first_alike_.emplace_back();
  return entry->second;
}

int Crossings::first_alike(Kind kind, int port) {
  if (port == kResultPort) return port;
  std::vector<int>& alike = first_alike_[kind];
  if (alike.empty()) {
    const Node& node = *first_[kind];
    const Signature ports = signature(node);
    for (int i = 0; i < node.operand_count(); ++i) {
      int first = 0;
      while (first < i && (node.operand(first)->type() != node.operand(i)->type() ||
                           ports.port(first) != ports.port(i)))
        ++first;
      alike.push_back(first);
    }
  }
  return alike[static_cast<size_t>(port)];
}

template <typename WorkOut>
const std::vector<LoopOrder>& Crossings::remembered(Kind kind, const LoopOrder* from, int port,
                                                    const Relayout& relayout,
                                                    const WorkOut& work_out) {
  size_t hash = mixed(mixed(kind, static_cast<size_t>(port + 1)), relayout.hash());
  if (from != nullptr) hash = mixed(hash, from->result.hash());
  const auto [begin, end] = known_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const Crossed& crossed = known->second;
    const bool same_from = from == nullptr ? !crossed.from : crossed.from == *from;
    if (crossed.kind == kind && crossed.port == port && crossed.relayout == relayout && same_from)
      return crossed.orders;
  }
  Crossed crossed{kind, {}, port, relayout, work_out()};
  if (from != nullptr) crossed.from = *from;
  return known_.emplace(hash, std::move(crossed))->second.orders;
}

const std::vector<LoopOrder>& Crossings::cross(const Node& node, int given,
                                               const Relayout& relayout) {
  const Kind kind = kind_of(node);
  const int port = first_alike(kind, given);
  return remembered(kind, nullptr, port, relayout,
                    [&] { return layline::cross(node, port, relayout); });
}

const std::vector<LoopOrder>& Crossings::cross_from(const Node& node, const LoopOrder& order,
                                                    int port, const Relayout& relayout) {
  return remembered(kind_of(node), &order, port, relayout,
                    [&] { return layline::cross_from(node, order, port, relayout, symbols_); });
}

}  // namespace layline
