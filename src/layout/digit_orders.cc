#include "layout/digit_orders.h"

#include <limits>

namespace layline {

bool DigitOrders::add(const Relayout& form) {
  if (forms_.empty()) digits_ = {element_count(form.source())};
  const auto shared = refine(digits_, form.factors());
  if (!shared || shared->size() > std::numeric_limits<uint8_t>::max()) return false;
  forms_.push_back(form);
  if (shared->size() == size_.size()) {
    add_order(form, {shared->data(), shared->size()});
    return true;
  }
  // The others are made of finer digits now.
  digits_.clear();
  size_.clear();
  order_.clear();
  place_.clear();
  elements_ = 1;
  for (const SharedDigit& digit : *shared) {
    digits_.push_back(digit.size);
    size_.push_back(moves_->size(digit.size));
    elements_ = MoveCosts::product(elements_, size_.back());
  }
  for (const Relayout& each : forms_) {
    const SharedDigits parts = *refine(digits_, each.factors());
    add_order(each, {parts.data(), parts.size()});
  }
  return true;
}

void DigitOrders::add_order(const Relayout& form, std::span<const SharedDigit> digits) {
  const size_t begin = order_.size();
  place_.resize(begin + digits.size());
  for (int factor : form.order())
    for (size_t d = 0; d < digits.size(); ++d)
      if (digits[d].right == factor) {
        place_[begin + d] = static_cast<uint8_t>(order_.size() - begin);
        order_.push_back(static_cast<uint8_t>(d));
      }
}

Cost DigitOrders::between(size_t from, size_t to, DType dtype) const {
  const uint8_t* source = row(order_, from);
  const uint8_t* target_place = row(place_, to);
  const uint8_t innermost = row(order_, to)[size_.size() - 1];  // of the target
  Movement movement{.elements = elements_};
  int64_t factor = size_[source[0]];
  for (size_t i = 1; i < size_.size(); ++i) {
    if (target_place[source[i]] == target_place[source[i - 1]] + 1) {
      factor = MoveCosts::product(factor, size_[source[i]]);
      continue;
    }
    ++movement.factors;
    if (source[i - 1] == innermost) movement.target_row = factor;
    factor = size_[source[i]];
  }
  movement.source_row = factor;
  movement.keeps_row = source[size_.size() - 1] == innermost;
  return move_cost(*moves_, movement, dtype);
}

}  // namespace layline
