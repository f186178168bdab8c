// The digits that a relayout moves, told apart by the dims they come from and go to.
#pragma once

#include <cstdint>
#include <optional>

#include "algebra/relayout.h"
#include "base/few.h"

namespace layline {

/// The number of a digit among all digits of a relayout, or of a loop nest.
using Digit = uint32_t;
using DigitList = Few<Digit, 4>;
using DigitLists = Few<DigitList, 6>;

/// The digits of a relayout: every source dim and every target dim is a sequence of digits,
/// outermost first. Dims of size 1 have none.
///
///   [6,4] -> [3,8]:  size (3,2,4), source ((0,1),(2)), target ((0),(1,2))
struct Digits {
  Dims size;          // of each digit
  DigitLists source;  // the digits of each source dim
  DigitLists target;  // the digits of each target dim
};

/// The law: relayout_of_digits(d.size, d.source, d.target) == relayout. Nullopt where the sizes do
/// not divide (a symbolic dim that cannot be split; [2,3] read as [3,2]), and for an empty tensor.
std::optional<Digits> digits(const Relayout& relayout);

/// The relayout that takes a tensor with dims made of the digits in `source` to one with those in
/// `target`, which holds the same digits.
Relayout relayout_of_digits(const Dims& size, const DigitLists& source, const DigitLists& target);

}  // namespace layline
