#include "layout/choices.h"

#include <algorithm>

namespace layline {

Choices::Choices(const PlacementProblem& problem, const MoveCosts& moves)
    : problem_(problem), left_(problem.nodes.size()), ports_(problem.values.size()) {
  conversions_.reserve(problem.values.size());
  for (const PlacedValue& value : problem.values) conversions_.emplace_back(value, moves);
}

int Choices::orders(int node) const {
  const auto& left = left_[static_cast<size_t>(node)];
  return static_cast<int>(left.empty() ? this->node(node).orders.size() : left.size());
}

int Choices::order_at(int node, int place) const {
  const auto& left = left_[static_cast<size_t>(node)];
  return left.empty() ? place : left[static_cast<size_t>(place)];
}

bool Choices::is_known(int node, const std::vector<bool>& inside) const {
  return inside[static_cast<size_t>(node)] || (this->node(node).complete && !has_choice(node));
}

Ports& Choices::look_at(int value, const std::vector<bool>* inside) {
  const PlacedValue& placed = problem_.values[static_cast<size_t>(value)];
  Ports& ports = ports_[static_cast<size_t>(value)] = {};
  if (placed.producer >= 0) {
    if (has_choice(placed.producer))
      ports.writer = placed.producer;
    else
      ports.written = node(placed.producer).writes[0];
  }
  for (const PlacedValue::Reader& reader : placed.readers) {
    if (reader.node < 0) {
      ports.fixed.push_back(problem_.outputs[static_cast<size_t>(reader.operand)].form);
    } else if (inside != nullptr && !is_known(reader.node, *inside)) {
      continue;
    } else if (has_choice(reader.node)) {
      if (std::ranges::find(ports.readers, reader.node) == ports.readers.end())
        ports.readers.push_back(reader.node);
    } else {
      ports.fixed.push_back(node(reader.node).reads[0][static_cast<size_t>(reader.operand)]);
    }
  }
  return ports;
}

int Choices::written(const Ports& ports, int order) const {
  return ports.writer < 0 ? ports.written : node(ports.writer).writes[static_cast<size_t>(order)];
}

void Choices::add_reads(int node, int order, int value, std::vector<int>& forms) const {
  const PlacedNode& placed = this->node(node);
  for (size_t i = 0; i < placed.operands.size(); ++i)
    if (placed.operands[i] == value) forms.push_back(placed.reads[static_cast<size_t>(order)][i]);
}

Cost Choices::cost_of_value(int value, const std::vector<int>& order) {
  auto of = [&](int node) { return order[static_cast<size_t>(node)]; };
  const Ports& p = ports(value);
  std::vector<int> read = p.fixed;
  for (int reader : p.readers) add_reads(reader, of(reader), value, read);
  return conversions(value).cost(written(p, p.writer < 0 ? 0 : of(p.writer)), read);
}

Cost Choices::cost_in(const Region& region, const std::vector<int>& order) {
  Cost cost;
  for (int node : region.nodes) cost += node_cost(node, order[static_cast<size_t>(node)]);
  for (int value : region.values) cost += cost_of_value(value, order);
  return cost;
}

}  // namespace layline
