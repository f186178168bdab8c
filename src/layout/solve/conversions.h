// What it costs to have a value in several forms.
#pragma once

#include <span>
#include <vector>

#include "layout/digit_orders.h"
#include "layout/placement_problem.h"

namespace layline {

/// Forms of one value that have the same movement have the same index.
using MovementIndex = Index<struct MovementSort>;

/// The conversions between the forms of one value, which may get further forms.
class Conversions {
 public:
  Conversions(const PlacedValue& value, const MoveCosts& moves)
      : value_(&value), moves_(&moves), orders_(moves) {}

  /// The cost of a value that is written in form `written` and read in all of `read`. Each movement
  /// is paid once, however many read it; further shapes of the same bytes are views.
  Cost cost(FormIndex written, std::span<const FormIndex> read);
  /// What one more form that is read adds to that.
  Cost added(FormIndex written, std::span<const FormIndex> read, FormIndex form);

  /// The cost of one conversion.
  Cost between(FormIndex from, FormIndex to) {
    return movement(from) == movement(to) ? Cost{} : convert(from, to);
  }

  /// The least cost of a conversion from one of some forms to one of others.
  Cost cheapest(std::span<const FormIndex> from, std::span<const FormIndex> to);

  MovementIndex movement(FormIndex form) {
    if (!movement_.contains(form)) number_movements();
    return movement_[form];
  }
  /// Whether one of the forms moves like this one.
  bool contains(std::span<const FormIndex> forms, FormIndex form);

 private:
  Cost convert(FormIndex from, FormIndex to);
  Cost work_out(FormIndex from, FormIndex to);
  void number_movements();

  const PlacedValue* value_;
  const MoveCosts* moves_;
  Indexed<FormIndex, MovementIndex> movement_;
  Indexed<MovementIndex, FormIndex> first_;  // the first form with the movement
  DigitOrders orders_;                       // of the movements
  bool in_digits_ = true;                    // the movements have digits in common
  /// What conversions between two movements cost; forbidden until somebody asks.
  Indexed<MovementIndex, Indexed<MovementIndex, Cost>> known_;
};

}  // namespace layline
