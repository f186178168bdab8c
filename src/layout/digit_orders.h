// What conversions between the forms of one value cost, without composing relayouts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/refine.h"
#include "layout/cost.h"

namespace layline {

/// The forms of a value as orders of the digits that all of them are made of. Going from one order
/// to another moves the digits that stay neighbours together, as the factors of the relayout
/// between the two do.
///
///   [N,C,H,W] as NCHW, NHWC and [N,C,2,H/2,W]: digits N C 2 H/2 W, in the orders 01234, 02341,
///   01234
class DigitOrders {
 public:
  explicit DigitOrders(const MoveCosts& moves) : moves_(&moves) {}

  /// Adds a form. Returns false if it has no digits in common with the others: their strides do not
  /// divide each other. No form can be added after that.
  bool add(const Relayout& form);
  size_t count() const { return forms_.size(); }

  /// What going from one form to the other costs. Both were added.
  /// The law: between(from, to) == move_cost of the inverse of `from`, then `to`.
  Cost between(size_t from, size_t to, DType dtype) const;

 private:
  void add_order(const Relayout& form, std::span<const SharedDigit> digits);
  const uint8_t* row(const std::vector<uint8_t>& table, size_t form) const {
    return table.data() + form * size_.size();
  }

  const MoveCosts* moves_;
  std::vector<Relayout> forms_;
  Dims digits_;
  std::vector<int64_t> size_;   // for each digit
  std::vector<uint8_t> order_;  // for each form, the digits as they stand in memory
  std::vector<uint8_t> place_;  // for each form and digit, where that is
  int64_t elements_ = 1;
};

}  // namespace layline
