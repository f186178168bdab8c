// Tables of 16 bits: every 128th number has an entry, and the results between lie on straight
// lines.
#pragma once

#include <functional>
#include <vector>

#include "ir/constant.h"
#include "ir/quantisation.h"

namespace layline::tosa {

constexpr int64_t kTableStep = 128;  // between entries, and what TABLE multiplies its result by

/// A table for operands near 0. It looks up the operand times 2^shift, saturated, so for operands
/// beyond its reach it always adds the same number.
struct TableLevel {
  int shift;
  Constant table;
  /// The factor from the result of TABLE to units of the function's result.
  double scale;
};

/// Gives the function for each of these operands, which need not be whole.
using Curve = std::function<std::vector<double>(const std::vector<double>& operands)>;

/// A function as the sum of tables, mostly of one. Where it curves so much that straight lines are
/// off by more than a unit, as 1/x and e^x do, finer tables cover the operands there. The coarser
/// tables come first, and hold differences to the values that the finer ones end with. `curve` is
/// in units of the result, whose integers less its zero point are `least` to `greatest`.
std::vector<TableLevel> long_tables(const Curve& curve, double least, double greatest);

}  // namespace layline::tosa
