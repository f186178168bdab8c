#include "targets/tosa/long_table.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "targets/tosa/rescale.h"

namespace layline::tosa {
namespace {

constexpr int64_t kEntries = 513;
constexpr int64_t kLargest = 32767;
constexpr int kExact = 7;  // the shift with which every whole operand has an entry

/// The function at each entry of a table, and halfway between them.
struct Points {
  int shift;
  std::vector<double> values;

  static size_t count() { return 2 * kEntries - 1; }
  double operand(size_t point) const {
    return std::ldexp(static_cast<double>(static_cast<int64_t>(point) * (kTableStep / 2) - 32768),
                      -shift);
  }
};

Points points(const Curve& curve, int shift) {
  Points result{shift, {}};
  std::vector<double> operands;
  for (size_t i = 0; i < Points::count(); ++i) operands.push_back(result.operand(i));
  result.values = curve(operands);
  return result;
}

/// Straight lines between points of a curve are all on one side of it. Lowering each point by half
/// of what the lines beside it are too high in their middle halves the error.
double entry(const std::vector<double>& values, size_t i) {
  const auto excess = [&](size_t middle) {
    const double line = (values[middle - 1] + values[middle + 1]) / 2;
    return std::isfinite(line) && std::isfinite(values[middle]) ? line - values[middle] : 0;
  };
  const double before = i > 0 ? excess(2 * i - 1) : 0;
  const double after = 2 * i + 1 < values.size() ? excess(2 * i + 1) : 0;
  // At a corner, or where one of the lines leaves the range of the result, the point is right.
  const bool curves = before * after > 0 && before / after < 2 && after / before < 2;
  return values[2 * i] - (curves ? (before + after) / 4 : 0);
}

int64_t rounded(double value) {
  const auto most = static_cast<double>(kLargest);
  return std::isnan(value) ? 0 : std::llrint(std::clamp(value, -most, most));
}

/// One table, its entries `factor` times the results.
struct SingleTable {
  std::vector<int64_t> entries;
  double factor;
};

SingleTable single_table(const std::vector<double>& values, double factor) {
  SingleTable table{{}, factor};
  for (size_t i = 0; 2 * i < values.size(); ++i)
    table.entries.push_back(rounded(entry(values, i) * factor));
  return table;
}

/// How far the result is off, at the entries and between them: in bits, so that what happens beside
/// a pole does not outweigh the rest.
double error(const SingleTable& table, const std::vector<double>& values, double least,
             double greatest) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    const double there =
        static_cast<double>(table.entries[i / 2] + table.entries[(i + 1) / 2]) / 2 / table.factor;
    const double off = std::clamp(there, least, greatest) - std::clamp(values[i], least, greatest);
    sum += std::log2(1 + std::abs(off));
  }
  return sum;
}

/// The finer the numbers of the table are, the less is lost in rounding them; the further they
/// reach beyond what the result can be, the better the line that leaves it. The best of a few is
/// taken.
TableLevel one_table(const std::vector<double>& values, double least, double greatest) {
  // The largest entry within the result's range, and the largest that has such a neighbour.
  const auto within = [&](size_t i) { return least <= values[i] && values[i] <= greatest; };
  double most = 1, most_beside = 1;
  for (size_t i = 0; i < values.size(); i += 2) {
    if (std::isnan(values[i])) continue;
    most = std::max(most, std::abs(std::clamp(values[i], least, greatest)));
    if (within(i) || (i > 0 && within(i - 2)) || (i + 2 < values.size() && within(i + 2)))
      most_beside = std::max(most_beside, std::abs(values[i]));
  }
  SingleTable best = single_table(values, static_cast<double>(kLargest) / most);
  if (std::isfinite(most_beside) && most_beside > most) {
    SingleTable other = single_table(values, static_cast<double>(kLargest) / most_beside);
    if (error(other, values, least, greatest) < error(best, values, least, greatest))
      best = std::move(other);
  }
  return {0, list(DType::i16, best.entries), 1 / (best.factor * static_cast<double>(kTableStep))};
}

/// Where a table is finer than another, it stands for the operands up to this one.
double reach(int shift) { return std::ldexp(32768, -shift); }

/// By how much lines between the entries are off in their middle, at most, where no finer table
/// stands for the operand.
double worst_line(const Points& points, double finer) {
  if (points.shift >= kExact) return 0;
  double worst = 0;
  for (size_t i = 1; i < points.values.size(); i += 2)
    if (std::abs(points.operand(i)) > finer) {
      const double line = (points.values[i - 1] + points.values[i + 1]) / 2;
      worst = std::max(worst, std::abs(line - points.values[i]));
    }
  return worst;
}

/// What a level's table has to add at each entry: coarser than another, the difference to what that
/// one gives at its end.
std::vector<double> additions(const Points& points, double finer, double below, double above) {
  std::vector<double> result;
  for (size_t i = 0; 2 * i < points.values.size(); ++i) {
    const double x = points.operand(2 * i);
    const double y = points.shift < kExact ? entry(points.values, i) : points.values[2 * i];
    const bool is_finer = finer > 0 && std::abs(x) <= finer;
    result.push_back(is_finer ? 0 : y - (x < 0 ? below : above));
  }
  return result;
}

/// Levels from the coarsest to the finest; the function is within the range of the result. Each has
/// entries as fine as 16 bits allow, and makes up for what is lost in rounding those of the finer.
std::vector<TableLevel> tables_of(const std::vector<Points>& levels) {
  std::vector<TableLevel> tables;
  double finer = 0, below = 0, above = 0;
  for (const Points& level : std::views::reverse(levels)) {
    const std::vector<double> added = additions(level, finer, below, above);
    double most = 1;
    for (double value : added) most = std::max(most, std::abs(value));
    const double factor = static_cast<double>(kLargest) / most;
    std::vector<int64_t> entries;
    for (double value : added) entries.push_back(rounded(value * factor));
    const auto step = static_cast<double>(kTableStep);
    tables.insert(tables.begin(), {level.shift, list(DType::i16, entries), 1 / (factor * step)});
    // The operand saturates at 32767, which is not quite the last entry.
    const auto last = static_cast<double>(entries.back()),
               before = static_cast<double>(entries[entries.size() - 2]);
    below += static_cast<double>(entries.front()) / factor;
    above += (last + (before - last) / step) / factor;
    finer = reach(level.shift);
  }
  return tables;
}

double worst_of(const std::vector<Points>& levels) {
  double worst = 0;
  for (size_t i = 0; i < levels.size(); ++i)
    worst = std::max(worst,
                     worst_line(levels[i], i + 1 < levels.size() ? reach(levels[i + 1].shift) : 0));
  return worst;
}

}  // namespace

std::vector<TableLevel> long_tables(const Curve& curve, double least, double greatest) {
  constexpr double kLittle = 2;  // units; half of it once the entries are lowered
  constexpr int kMiddle = 4;
  const Curve within = [&](const std::vector<double>& operands) {
    std::vector<double> values = curve(operands);
    for (double& value : values) value = std::isnan(value) ? 0 : std::clamp(value, least, greatest);
    return values;
  };
  const Points whole = points(within, 0);
  const double worst = worst_line(whole, 0);
  if (worst > kLittle) {
    for (const std::vector<int>& shifts : {std::vector{kMiddle}, {kExact}, {kMiddle, kExact}}) {
      std::vector<Points> levels = {whole};
      for (int shift : shifts) levels.push_back(points(within, shift));
      const double left = worst_of(levels);
      if (left <= kLittle || (shifts.size() == 2 && left < worst / 4)) return tables_of(levels);
    }
  }
  return {one_table(points(curve, 0).values, least, greatest)};
}

}  // namespace layline::tosa
