#include "layout/conversions.h"

#include <algorithm>

#include "base/hash.h"

namespace layline {

Cost ConversionCosts::between(const Relayout& from, const Relayout& to, DType dtype) {
  const size_t element = byte_size(dtype);
  const size_t hash = mixed(mixed(from.hash(), to.hash()), element);
  const auto [begin, end] = known_.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (known->second.element == element && known->second.from == from && known->second.to == to)
      return known->second.cost;
  const Relayout back = from.inverse();
  const auto both = back.then(to);
  // Two steps, through the value's own form, where the two are not one relayout.
  const Cost cost = both ? move_cost(*moves_, *both, dtype)
                         : move_cost(*moves_, back, dtype) + move_cost(*moves_, to, dtype);
  known_.emplace(hash, Known{from, to, element, cost});
  return cost;
}

int Conversions::movement(int form) {
  while (movement_.size() <= static_cast<size_t>(form)) {
    const Relayout& next = value_->forms[movement_.size()];
    size_t known = 0;
    while (known < first_.size() &&
           !value_->forms[static_cast<size_t>(first_[known])].moves_like(next))
      ++known;
    if (known == first_.size()) first_.push_back(static_cast<int>(movement_.size()));
    movement_.push_back(static_cast<int>(known));
  }
  return movement_[static_cast<size_t>(form)];
}

bool Conversions::contains(const std::vector<int>& forms, int form) {
  return std::ranges::any_of(forms, [&](int other) { return movement(other) == movement(form); });
}

Cost Conversions::convert(int from, int to) {
  const auto row = static_cast<size_t>(movement(from)), column = static_cast<size_t>(movement(to));
  if (between_.size() <= row) between_.resize(first_.size());
  if (between_[row].size() <= column) between_[row].resize(first_.size());
  std::optional<Cost>& known = between_[row][column];
  if (known) return *known;
  known = costs_->between(value_->forms[static_cast<size_t>(from)],
                          value_->forms[static_cast<size_t>(to)], value_->root->dtype());
  return *known;
}

Cost Conversions::cost(int written, std::vector<int> read) {
  std::ranges::sort(read);
  read.erase(std::unique(read.begin(), read.end()), read.end());
  Cost cost;
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i] == written) continue;
    const bool paid = movement(read[i]) == movement(written) ||
                      std::any_of(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](int other) { return movement(other) == movement(read[i]); });
    cost += paid ? Cost{0, 0, 1, 0} : convert(written, read[i]);
  }
  return cost;
}

}  // namespace layline
