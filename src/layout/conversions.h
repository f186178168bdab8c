// What it costs to have a value in several forms.
#pragma once

#include <optional>
#include <vector>

#include "layout/candidates.h"

namespace layline {

/// The conversions between the forms of one value, each worked out when it is first asked for.
class Conversions {
 public:
  Conversions(const PlacedValue& value, const MoveCosts& moves);

  /// The cost of a value that is written in form `written` and read in all of `read`. Each movement
  /// is paid once, however many read it; further shapes of the same bytes are views.
  Cost cost(int written, std::vector<int> read);

  /// Forms with the same movement have the same number.
  int movement(int form) const { return movement_[static_cast<size_t>(form)]; }

 private:
  Cost convert(int from, int to);

  const PlacedValue& value_;
  const MoveCosts& moves_;
  std::vector<int> movement_;
  std::vector<std::optional<Cost>> between_;  // movements, row by row
  size_t movements_ = 0;
};

}  // namespace layline
