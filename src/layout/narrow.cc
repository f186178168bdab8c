#include "layout/narrow.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace layline {
namespace {

/// What each order of an op costs at least, with all values at the op; `own` is the part of what
/// everything costs at least that is at this op.
struct Least {
  std::vector<Cost> with;  // each order
  Cost own;
};

/// Some movements, and a form for each.
class Movements {
 public:
  explicit Movements(Conversions& conversions) : conversions_(conversions) {}

  bool contains(int form) const {
    const auto movement = static_cast<size_t>(conversions_.movement(form));
    return movement < contained_.size() && contained_[movement];
  }
  void add(int form) {
    if (contains(form)) return;
    const auto movement = static_cast<size_t>(conversions_.movement(form));
    if (contained_.size() <= movement) contained_.resize(movement + 1, false);
    contained_[movement] = true;
    forms_.push_back(form);
  }
  const std::vector<int>& forms() const { return forms_; }

 private:
  Conversions& conversions_;
  std::vector<bool> contained_;
  std::vector<int> forms_;
};

/// Adds what a value costs at least with each order of each op at it, and returns what it costs at
/// least with any.
Cost add_least(Choices& choices, int value, std::unordered_map<int, Least>& least) {
  const Ports& p = choices.ports(value);
  Conversions& conversions = choices.conversions(value);
  Movements written(conversions);
  if (p.writer < 0) written.add(p.written);
  for (int i = 0; p.writer >= 0 && i < choices.orders(p.writer); ++i)
    written.add(choices.written(p, choices.order_at(p.writer, i)));
  const std::vector<int>& written_forms = written.forms();
  // From the cheapest form that may be written, by the movement that is read.
  std::vector<std::optional<Cost>> cheapest;
  const auto cheapest_to = [&](int form) {
    if (written.contains(form)) return Cost{};
    const auto movement = static_cast<size_t>(conversions.movement(form));
    if (cheapest.size() <= movement) cheapest.resize(movement + 1);
    std::optional<Cost>& known = cheapest[movement];
    if (!known) known = conversions.cheapest(written_forms, {&form, 1});
    return *known;
  };
  // A copy may serve all readers: no more than the dearest of them counts.
  std::vector<Cost> of_writer;
  for (int form : written_forms) of_writer.push_back(conversions.cost(form, p.fixed));
  std::vector<int> read;
  for (int reader : p.readers) {
    Movements any_read(conversions);
    std::vector<Cost>& with = least.at(reader).with;
    for (int i = 0; i < choices.orders(reader); ++i) {
      read.clear();
      choices.add_reads(reader, choices.order_at(reader, i), value, read);
      Cost most;
      for (int form : read) {
        most = std::max(most, cheapest_to(form));
        any_read.add(form);
      }
      with[static_cast<size_t>(i)] += most;
    }
    for (size_t f = 0; f < written_forms.size(); ++f)
      if (!any_read.contains(written_forms[f]))
        of_writer[f] =
            std::max(of_writer[f], conversions.cheapest({&written_forms[f], 1}, any_read.forms()));
  }
  const Cost any = *std::ranges::min_element(of_writer);
  if (p.writer >= 0) {
    Least& writer = least.at(p.writer);
    writer.own += any;
    for (int i = 0; i < choices.orders(p.writer); ++i) {
      const int form = choices.written(p, choices.order_at(p.writer, i));
      size_t f = 0;
      while (conversions.movement(written_forms[f]) != conversions.movement(form)) ++f;
      writer.with[static_cast<size_t>(i)] += of_writer[f];
    }
  }
  for (int reader : p.readers) least.at(reader).own += any;
  return any;
}

}  // namespace

std::optional<Narrowed> narrow(Choices& choices, const Region& region, Cost limit) {
  for (int node : region.nodes) {
    auto& left = choices.left(node);
    if (!left.empty()) continue;
    left.resize(choices.node(node).orders.size());
    std::iota(left.begin(), left.end(), 0);
  }
  Narrowed result;
  auto& [most_paid, all, kept_orders] = result;
  for (bool fewer = true; fewer;) {
    fewer = false;
    std::unordered_map<int, Least> least;
    all = {};
    for (int node : region.nodes) {
      Least& at = least[node];
      for (int order : choices.left(node)) at.with.push_back(choices.node_cost(node, order));
      at.own = *std::ranges::min_element(at.with);
      all += at.own;
    }
    for (int value : region.values) all += most_paid[value] = add_least(choices, value, least);
    for (auto& [value, cost] : most_paid) cost = limit - (all - cost);
    for (int node : region.nodes) {
      auto& left = choices.left(node);
      const Least& at = least.at(node);
      const Cost elsewhere = all - at.own;
      std::vector<int> kept;
      for (size_t i = 0; i < left.size(); ++i)
        if ((at.with[i] + elsewhere).price() < limit.price()) kept.push_back(left[i]);
      fewer = fewer || kept.size() < left.size();
      left = std::move(kept);
      if (left.empty()) return std::nullopt;
    }
  }
  for (int node : region.nodes) kept_orders.push_back(choices.left(node));
  return result;
}

}  // namespace layline
