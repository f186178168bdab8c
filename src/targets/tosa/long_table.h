// Tables of 16 bits: every 128th number has an entry, and the results between lie on straight
// lines.
#pragma once

#include <functional>
#include <vector>

#include "ir/constant.h"
#include "ir/quantisation.h"

namespace layline::tosa {

constexpr int64_t kTableStep = 128;  // between entries, and what TABLE multiplies its result by

/// A table for operands near 0: what is looked up is the operand times 2^shift, which saturates, so
/// that beyond them the table adds the same number always.
struct TableLevel {
  int shift;
  Constant table;
  /// What the result of TABLE is to be multiplied with to be in units of the function's result.
  double scale;
};

/// Gives the function for each of these operands, which need not be whole.
using Curve = std::function<std::vector<double>(const std::vector<double>& operands)>;

/// A function as the sum of tables, mostly of one. Where it curves so much that straight lines are
/// off by more than a unit, as 1/x does and e^x, finer tables are for the operands there, and the
/// coarser ones, which come first, have differences to what those end with. `curve` is in units of
/// the result, whose integers less its zero point are `least` to `greatest`.
std::vector<TableLevel> long_tables(const Curve& curve, double least, double greatest);

}  // namespace layline::tosa
