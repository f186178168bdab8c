#include "layout/conversions.h"

#include <algorithm>

namespace layline {

Conversions::Conversions(const PlacedValue& value, const MoveCosts& moves)
    : value_(value), moves_(moves) {
  for (size_t f = 0; f < value.forms.size(); ++f) {
    size_t known = 0;
    while (!value.forms[known].moves_like(value.forms[f])) ++known;
    movement_.push_back(known == f ? static_cast<int>(movements_++) : movement_[known]);
  }
  between_.resize(movements_ * movements_);
}

Cost Conversions::convert(int from, int to) {
  const auto row = static_cast<size_t>(movement(from)), column = static_cast<size_t>(movement(to));
  std::optional<Cost>& known = between_[row * movements_ + column];
  if (known) return *known;
  const DType dtype = value_.root->dtype();
  const Relayout back = value_.forms[static_cast<size_t>(from)].inverse();
  const Relayout& forth = value_.forms[static_cast<size_t>(to)];
  const auto both = back.then(forth);
  // Two steps, through the value's own form, where the two are not one relayout.
  known = both ? move_cost(moves_, *both, dtype)
               : move_cost(moves_, back, dtype) + move_cost(moves_, forth, dtype);
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
