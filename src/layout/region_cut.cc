#include "layout/region_cut.h"

#include <unordered_map>

#include "layout/min_cut.h"

namespace layline {
namespace {

// More permutes than this in one region would overflow the scalar cost of a cut.
constexpr int64_t kPermuteScale = int64_t{1} << 17;

/// Time and permutes as one number; views do not count in a cut.
int64_t scalar(Cost cost) { return cost.time_ps * kPermuteScale + cost.permutes; }

std::optional<CutValue> cut_value_of(Choices& choices, int value,
                                     const std::unordered_map<int, int>& index) {
  const Ports& p = choices.ports(value);
  Conversions& conversions = choices.conversions(value);
  std::vector<int> forms;  // one for each movement
  auto side = [&](int form) -> std::optional<bool> {
    for (size_t f = 0; f < forms.size(); ++f)
      if (conversions.movement(forms[f]) == conversions.movement(form)) return f == 1;
    if (forms.size() == 2) return std::nullopt;
    forms.push_back(form);
    return forms.size() == 2;
  };
  bool expressible = true;
  auto port = [&](int node, int first, int second) {
    const auto a = side(first), b = side(second);
    expressible = expressible && a && b;
    if (!expressible) return CutPort{};
    return *a == *b ? CutPort{-1, *a} : CutPort{index.at(node), *a};
  };
  CutValue result;
  result.producer = p.writer < 0 ? port(-1, p.written, p.written)
                                 : port(p.writer, choices.written(p, 0), choices.written(p, 1));
  for (int form : p.fixed) result.readers.push_back(port(-1, form, form));
  for (int reader : p.readers) {
    std::vector<int> first, second;
    choices.add_reads(reader, 0, value, first);
    choices.add_reads(reader, 1, value, second);
    for (size_t i = 0; i < first.size(); ++i)
      result.readers.push_back(port(reader, first[i], second[i]));
  }
  if (!expressible) return std::nullopt;
  if (forms.size() == 2) {
    result.to_b = scalar(conversions.between(forms[0], forms[1]));
    result.to_a = scalar(conversions.between(forms[1], forms[0]));
  }
  return result;
}

}  // namespace

std::optional<Minimum> minimum_by_cut(Choices& choices, const Region& region,
                                      std::vector<int>& order) {
  CutProblem problem;
  std::unordered_map<int, int> index;
  int64_t first_orders = 0;
  for (int node : region.nodes) {
    if (choices.orders(node) != 2) return std::nullopt;
    index.emplace(node, problem.nodes++);
    const int64_t first = scalar(choices.node_cost(node, 0));
    problem.second_order_cost.push_back(scalar(choices.node_cost(node, 1)) - first);
    first_orders += first;
  }
  for (int value : region.values) {
    auto cut_value = cut_value_of(choices, value, index);
    if (!cut_value) return std::nullopt;
    problem.values.push_back(*std::move(cut_value));
  }
  const auto cut = minimum_cut(problem);
  if (!cut) return std::nullopt;
  for (size_t i = 0; i < region.nodes.size(); ++i)
    order[static_cast<size_t>(region.nodes[i])] = cut->order[i];
  Minimum minimum;
  minimum.cost = minimum.bound = choices.cost_in(region, order);
  const int64_t bound = cut->cost + first_orders;
  if (scalar(minimum.cost) != bound)
    minimum.bound = Cost{bound / kPermuteScale, bound % kPermuteScale, 0, 0};
  return minimum;
}

}  // namespace layline
