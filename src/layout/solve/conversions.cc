#include "layout/solve/conversions.h"

#include <algorithm>

namespace layline {

void Conversions::number_movements() {
  while (movement_.size() < value_->forms.size()) {
    const FormIndex next = movement_.next();
    const Relayout& form = value_->forms[next];
    const auto known = std::ranges::find_if(
        first_, [&](FormIndex first) { return value_->forms[first].moves_like(form); });
    movement_.push_back(MovementIndex(static_cast<size_t>(known - first_.begin())));
    if (known == first_.end()) first_.push_back(next);
  }
}

bool Conversions::contains(std::span<const FormIndex> forms, FormIndex form) {
  return std::ranges::any_of(forms,
                             [&](FormIndex other) { return movement(other) == movement(form); });
}

Cost Conversions::convert(FormIndex from, FormIndex to) {
  const MovementIndex source = movement(from), target = movement(to);
  if (!known_.contains(source)) known_.resize(first_.size());
  Indexed<MovementIndex, Cost>& known = known_[source];
  if (!known.contains(target)) known.resize(first_.size(), Cost::forbidden());
  if (known[target].is_forbidden()) known[target] = work_out(from, to);
  return known[target];
}

Cost Conversions::work_out(FormIndex from, FormIndex to) {
  const auto& forms = value_->forms;
  while (in_digits_ && orders_.count() < first_.size())
    in_digits_ = orders_.add(forms[first_[MovementIndex(orders_.count())]]);
  const DType dtype = value_->root->dtype();
  if (in_digits_) return orders_.between(movement(from).number(), movement(to).number(), dtype);
  const Relayout back = forms[from].inverse();
  if (const auto both = back.then(forms[to])) return move_cost(*moves_, *both, dtype);
  // Two steps, through the value's own form, where the two are not one relayout.
  return move_cost(*moves_, back, dtype) + move_cost(*moves_, forms[to], dtype);
}

Cost Conversions::cheapest(std::span<const FormIndex> from, std::span<const FormIndex> to) {
  Cost best = Cost::forbidden();
  for (FormIndex f : from)
    for (FormIndex t : to) best = std::min(best, between(f, t));
  return best;
}

Cost Conversions::added(FormIndex written, std::span<const FormIndex> read, FormIndex form) {
  if (form == written || std::ranges::find(read, form) != read.end()) return {};
  const bool paid = movement(form) == movement(written) || contains(read, form);
  return paid ? Cost{0, 0, 1, 0} : convert(written, form);
}

Cost Conversions::cost(FormIndex written, std::span<const FormIndex> read) {
  Cost cost;
  for (size_t i = 0; i < read.size(); ++i) cost += added(written, read.first(i), read[i]);
  return cost;
}

}  // namespace layline
