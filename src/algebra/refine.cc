#include "algebra/refine.h"

#include <algorithm>

#include "base/error.h"

namespace layline {

std::optional<SharedDigits> refine(std::span<const Dim> left, std::span<const Dim> right) {
  SharedDigits digits;
  int l = static_cast<int>(left.size());
  int r = static_cast<int>(right.size());
  Dim left_rest, right_rest;  // what is not yet consumed of factors l and r, from the inside out
  while (true) {
    while (left_rest.is_one() && l > 0) left_rest = left[--l];
    while (right_rest.is_one() && r > 0) right_rest = right[--r];
    if (left_rest.is_one() && right_rest.is_one()) break;
    LAYLINE_ASSERT(!left_rest.is_zero() && !right_rest.is_zero(), "refining an empty tensor");
    LAYLINE_ASSERT(!left_rest.is_one() && !right_rest.is_one(), "refining unequal products");
    // Whichever divides the other ends here; the other goes on with the quotient.
    if (const auto outer_right = divide(right_rest, left_rest)) {
      digits.push_back({left_rest, l, r});
      left_rest = 1;
      right_rest = *outer_right;
    } else if (const auto outer_left = divide(left_rest, right_rest)) {
      digits.push_back({right_rest, l, r});
      right_rest = 1;
      left_rest = *outer_left;
    } else {
      return std::nullopt;
    }
  }
  std::ranges::reverse(digits);
  return digits;
}

}  // namespace layline
