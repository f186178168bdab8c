#include "layout/solve/choices.h"

#include <algorithm>

namespace layline {

Choices::Choices(const PlacementProblem& problem, const MoveCosts& moves)
    : problem_(problem), left_(problem.nodes.size()), ports_(problem.values.size()) {
  conversions_.reserve(problem.values.size());
  for (const PlacedValue& value : problem.values) conversions_.push_back({value, moves});
}

size_t Choices::left_count(NodeIndex node) const {
  return left_[node].empty() ? this->node(node).orders.size() : left_[node].size();
}

OrderIndex Choices::left_at(NodeIndex node, size_t place) const {
  return left_[node].empty() ? OrderIndex(place) : left_[node][place];
}

bool Choices::is_known(NodeIndex node, const Indexed<NodeIndex, bool>& inside) const {
  return inside[node] || (this->node(node).complete && !this->node(node).has_choice());
}

Ports& Choices::look_at(ValueIndex value, const Indexed<NodeIndex, bool>* inside) {
  const PlacedValue& placed = problem_.values[value];
  Ports& ports = ports_[value] = {};
  if (placed.producer) {
    if (node(*placed.producer).has_choice())
      ports.writer = placed.producer;
    else
      ports.written = node(*placed.producer).writes[kSourceOrder];
  }
  for (const PlacedValue::Reader& reader : placed.readers) {
    if (!reader.node) {
      ports.fixed.push_back(problem_.outputs[reader.operand]->form);
    } else if (inside != nullptr && !is_known(*reader.node, *inside)) {
      continue;
    } else if (node(*reader.node).has_choice()) {
      if (std::ranges::find(ports.readers, *reader.node) == ports.readers.end())
        ports.readers.push_back(*reader.node);
    } else {
      ports.fixed.push_back(*node(*reader.node).reads[kSourceOrder][reader.operand]);
    }
  }
  return ports;
}

FormIndex Choices::written(const Ports& ports, OrderIndex order) const {
  return ports.writer ? node(*ports.writer).writes[order] : ports.written;
}

void Choices::add_reads(NodeIndex node, OrderIndex order, ValueIndex value,
                        std::vector<FormIndex>& forms) const {
  const PlacedNode& placed = this->node(node);
  for (size_t i = 0; i < placed.operands.size(); ++i)
    if (placed.operands[i] && placed.operands[i]->value == value)
      forms.push_back(*placed.reads[order][i]);
}

Cost Choices::cost_of_value(ValueIndex value, const ChosenOrders& chosen) {
  const Ports& p = ports(value);
  std::vector<FormIndex> read = p.fixed;
  for (NodeIndex reader : p.readers) add_reads(reader, chosen[reader], value, read);
  return conversions(value).cost(written(p, p.writer ? chosen[*p.writer] : kSourceOrder), read);
}

Cost Choices::cost_in(const Region& region, const ChosenOrders& chosen) {
  Cost cost;
  for (NodeIndex node : region.nodes) cost += node_cost(node, chosen[node]);
  for (ValueIndex value : region.values) cost += cost_of_value(value, chosen);
  return cost;
}

}  // namespace layline
