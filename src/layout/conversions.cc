#include "layout/conversions.h"

#include <algorithm>

namespace layline {

void Conversions::number_movements() {
  while (movement_.size() < value_->forms.size()) {
    const Relayout& next = value_->forms[movement_.size()];
    size_t known = 0;
    while (known < first_.size() &&
           !value_->forms[static_cast<size_t>(first_[known])].moves_like(next))
      ++known;
    if (known == first_.size()) first_.push_back(static_cast<int>(movement_.size()));
    movement_.push_back(static_cast<int>(known));
  }
}

bool Conversions::contains(std::span<const int> forms, int form) {
  return std::ranges::any_of(forms, [&](int other) { return movement(other) == movement(form); });
}

Cost Conversions::convert(int from, int to) {
  const auto source = static_cast<size_t>(movement(from)),
             target = static_cast<size_t>(movement(to));
  if (known_.size() <= source) known_.resize(first_.size());
  std::vector<Cost>& known = known_[source];
  if (known.size() <= target) known.resize(first_.size(), Cost::forbidden());
  if (known[target].is_forbidden()) known[target] = work_out(from, to);
  return known[target];
}

Cost Conversions::work_out(int from, int to) {
  const auto form = [&](int index) -> const Relayout& {
    return value_->forms[static_cast<size_t>(index)];
  };
  while (in_digits_ && orders_.count() < first_.size())
    in_digits_ = orders_.add(form(first_[orders_.count()]));
  const DType dtype = value_->root->dtype();
  if (in_digits_)
    return orders_.between(static_cast<size_t>(movement(from)), static_cast<size_t>(movement(to)),
                           dtype);
  const Relayout back = form(from).inverse();
  if (const auto both = back.then(form(to))) return move_cost(*moves_, *both, dtype);
  // Two steps, through the value's own form, where the two are not one relayout.
  return move_cost(*moves_, back, dtype) + move_cost(*moves_, form(to), dtype);
}

Cost Conversions::cheapest(std::span<const int> from, std::span<const int> to) {
  Cost best = Cost::forbidden();
  for (int f : from)
    for (int t : to) best = std::min(best, between(f, t));
  return best;
}

Cost Conversions::added(int written, std::span<const int> read, int form) {
  if (form == written || std::ranges::find(read, form) != read.end()) return {};
  const bool paid = movement(form) == movement(written) || contains(read, form);
  return paid ? Cost{0, 0, 1, 0} : convert(written, form);
}

Cost Conversions::cost(int written, std::span<const int> read) {
  Cost cost;
  for (size_t i = 0; i < read.size(); ++i) cost += added(written, read.first(i), read[i]);
  return cost;
}

}  // namespace layline
