// What it costs to have a value in several forms.
#pragma once

#include <span>
#include <vector>

#include "layout/candidates.h"
#include "layout/digit_orders.h"

namespace layline {

/// The conversions between the forms of one value, which may get further forms.
class Conversions {
 public:
  Conversions(const PlacedValue& value, const MoveCosts& moves)
      : value_(&value), moves_(&moves), orders_(moves) {}

  /// The cost of a value that is written in form `written` and read in all of `read`. Each movement
  /// is paid once, however many read it; further shapes of the same bytes are views.
  Cost cost(int written, std::span<const int> read);
  /// What one more form that is read adds to that.
  Cost added(int written, std::span<const int> read, int form);

  /// The cost of one conversion.
  Cost between(int from, int to) {
    return movement(from) == movement(to) ? Cost{} : convert(from, to);
  }

  /// The least cost of a conversion from one of some forms to one of others.
  Cost cheapest(std::span<const int> from, std::span<const int> to);

  /// Forms with the same movement have the same number.
  int movement(int form) {
    if (movement_.size() <= static_cast<size_t>(form)) number_movements();
    return movement_[static_cast<size_t>(form)];
  }
  /// Whether one of the forms moves like this one.
  bool contains(std::span<const int> forms, int form);

 private:
  Cost convert(int from, int to);
  Cost work_out(int from, int to);
  void number_movements();

  const PlacedValue* value_;
  const MoveCosts* moves_;
  std::vector<int> movement_;             // of each form
  std::vector<int> first_;                // a form for each movement
  DigitOrders orders_;                    // of the movements
  bool in_digits_ = true;                 // they have digits in common
  std::vector<std::vector<Cost>> known_;  // of conversions between movements, as far as asked for
};

}  // namespace layline
