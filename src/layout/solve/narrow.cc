#include "layout/solve/narrow.h"

#include <algorithm>
#include <optional>

namespace layline {
namespace {

/// What an op costs at least, with all values at it.
struct Least {
  std::vector<Cost> with;  // for each order that is left
  Cost own;                // the op's share in what everything costs at least
};

/// Some movements of a value, and a form for each.
class Movements {
 public:
  explicit Movements(Conversions& conversions) : conversions_(conversions) {}

  bool contains(FormIndex form) const {
    const MovementIndex movement = conversions_.movement(form);
    return contained_.contains(movement) && contained_[movement];
  }
  void add(FormIndex form) {
    if (contains(form)) return;
    const MovementIndex movement = conversions_.movement(form);
    contained_.extend_to(movement, false);
    contained_[movement] = true;
    forms_.push_back(form);
  }
  const std::vector<FormIndex>& forms() const { return forms_; }

 private:
  Conversions& conversions_;
  Indexed<MovementIndex, bool> contained_;
  std::vector<FormIndex> forms_;
};

/// Adds what a value costs at least with each order of each op at it, and returns what it costs at
/// least with any.
Cost add_least(Choices& choices, ValueIndex value, std::unordered_map<NodeIndex, Least>& least) {
  const Ports& p = choices.ports(value);
  Conversions& conversions = choices.conversions(value);
  const size_t writer_orders = p.writer ? choices.left_count(*p.writer) : 0;
  const auto written_at = [&](size_t place) {
    return choices.written(p, choices.left_at(*p.writer, place));
  };
  Movements written(conversions);
  if (!p.writer) written.add(p.written);
  for (size_t i = 0; i < writer_orders; ++i) written.add(written_at(i));
  const std::vector<FormIndex>& written_forms = written.forms();
  // The conversion to a movement from the cheapest form that may be written.
  Indexed<MovementIndex, std::optional<Cost>> cheapest;
  const auto cheapest_to = [&](FormIndex form) {
    if (written.contains(form)) return Cost{};
    const MovementIndex movement = conversions.movement(form);
    cheapest.extend_to(movement);
    std::optional<Cost>& known = cheapest[movement];
    if (!known) known = conversions.cheapest(written_forms, {&form, 1});
    return *known;
  };
  // A copy may serve all readers, so only the dearest of them counts.
  std::vector<Cost> of_writer;
  for (FormIndex form : written_forms) of_writer.push_back(conversions.cost(form, p.fixed));
  std::vector<FormIndex> read;
  for (NodeIndex reader : p.readers) {
    Movements any_read(conversions);
    std::vector<Cost>& with = least.at(reader).with;
    for (size_t i = 0; i < choices.left_count(reader); ++i) {
      read.clear();
      choices.add_reads(reader, choices.left_at(reader, i), value, read);
      Cost most;
      for (FormIndex form : read) {
        most = std::max(most, cheapest_to(form));
        any_read.add(form);
      }
      with[i] += most;
    }
    for (size_t f = 0; f < written_forms.size(); ++f)
      if (!any_read.contains(written_forms[f]))
        of_writer[f] =
            std::max(of_writer[f], conversions.cheapest({&written_forms[f], 1}, any_read.forms()));
  }
  const Cost any = *std::ranges::min_element(of_writer);
  if (p.writer) {
    Least& writer = least.at(*p.writer);
    writer.own += any;
    for (size_t i = 0; i < writer_orders; ++i) {
      const MovementIndex movement = conversions.movement(written_at(i));
      size_t f = 0;
      while (conversions.movement(written_forms[f]) != movement) ++f;
      writer.with[i] += of_writer[f];
    }
  }
  for (NodeIndex reader : p.readers) least.at(reader).own += any;
  return any;
}

}  // namespace

std::optional<Narrowed> narrow(Choices& choices, const Region& region, Cost limit) {
  for (NodeIndex node : region.nodes) {
    auto& left = choices.left(node);
    if (!left.empty()) continue;
    for (OrderIndex order : choices.node(node).orders.indices()) left.push_back(order);
  }
  Narrowed result;
  auto& [most_paid, all, left_orders] = result;
  for (bool fewer = true; fewer;) {
    fewer = false;
    std::unordered_map<NodeIndex, Least> least;
    all = {};
    for (NodeIndex node : region.nodes) {
      Least& at = least[node];
      for (OrderIndex order : choices.left(node)) at.with.push_back(choices.node_cost(node, order));
      at.own = *std::ranges::min_element(at.with);
      all += at.own;
    }
    for (ValueIndex value : region.values)
      all += most_paid[value] = add_least(choices, value, least);
    for (auto& [value, cost] : most_paid) cost = limit - (all - cost);
    for (NodeIndex node : region.nodes) {
      auto& left = choices.left(node);
      const Least& at = least.at(node);
      const Cost elsewhere = all - at.own;
      std::vector<OrderIndex> useful;
      for (size_t i = 0; i < left.size(); ++i)
        if ((at.with[i] + elsewhere).price() < limit.price()) useful.push_back(left[i]);
      fewer = fewer || useful.size() < left.size();
      left = std::move(useful);
      if (left.empty()) return std::nullopt;
    }
  }
  for (NodeIndex node : region.nodes) left_orders.push_back(choices.left(node));
  return result;
}

}  // namespace layline
