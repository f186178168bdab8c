#include "targets/tosa/long_table.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "targets/tosa/rescale.h"

namespace layline::tosa {
namespace {

constexpr int64_t kEntries = 513;
constexpr int64_t kLargest = 32766;  // half of twice as much is a step of 16 bits, too
constexpr int kExact = 7;            // the shift with which every whole operand has an entry

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

/// The entry at a point. Straight lines between points of a curve all lie on one side of it. Each
/// line is most wrong in its middle; lowering each point by half of the error of the lines beside
/// it halves that.
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

/// How far the result is off, at the entries and between them. It is in bits, so that what happens
/// beside a pole does not outweigh the rest.
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

/// TABLE takes steps of 16 bits between its entries (TOSA 1.0, TABLE). If one is larger, as for 1/x
/// at 0, two tables have half of it each.
std::vector<TableLevel> with_small_steps(int shift, const std::vector<int64_t>& entries,
                                         double factor) {
  const double scale = 1 / (factor * static_cast<double>(kTableStep));
  constexpr int64_t kLargestStep = 32767;
  const auto is_large = [](int64_t a, int64_t b) { return std::abs(a - b) > kLargestStep; };
  if (std::ranges::adjacent_find(entries, is_large) == entries.end())
    return {{shift, list(DType::i16, entries), scale}};
  std::vector<int64_t> half, rest;
  for (int64_t value : entries) {
    half.push_back(value / 2);
    rest.push_back(value - value / 2);
  }
  return {{shift, list(DType::i16, half), scale}, {shift, list(DType::i16, rest), scale}};
}

/// The best of a few tables. The finer the numbers of a table are, the less is lost in rounding
/// them. The further they reach beyond the range of the result, the better is the line that leaves
/// it.
std::vector<TableLevel> one_table(const std::vector<double>& values, double least,
                                  double greatest) {
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
  return with_small_steps(0, best.entries, best.factor);
}

/// The greatest operand that a table stands for, if it is finer than another.
double reach(int shift) { return std::ldexp(32768, -shift); }

/// A table for the operands beyond those that a finer one stands for.
struct Level {
  Points points;
  double finer;  // the reach of the finer one; 0 if there is none

  bool stands_for(size_t point) const {
    return finer == 0 || std::abs(points.operand(point)) > finer;
  }
};

/// The values clamped to the range of the result. Where lines of this table leave the range, it
/// reaches as far as they end: a line that stops at the range's end would be wrong before it.
std::vector<double> bounded(const Level& level, double least, double greatest) {
  const std::vector<double>& values = level.points.values;
  const auto within = [&](size_t i) { return least <= values[i] && values[i] <= greatest; };
  double low = least, high = greatest;
  for (size_t i = 2; i < values.size() && level.points.shift < kExact; i += 2)
    for (const auto& [inside, beyond] : {std::pair{i - 2, i}, {i, i - 2}})
      if (within(inside) && level.stands_for(inside) && std::isfinite(values[beyond])) {
        low = std::max(std::min(low, values[beyond]), 2 * least);
        high = std::min(std::max(high, values[beyond]), 2 * greatest);
      }
  std::vector<double> result;
  for (double value : values)
    result.push_back(std::isnan(value) ? 0 : std::clamp(value, low, high));
  return result;
}

/// The most by which lines between the entries are off in their middle.
double worst_line(const Level& level, double least, double greatest) {
  if (level.points.shift >= kExact) return 0;
  const std::vector<double> values = bounded(level, least, greatest);
  double worst = 0;
  for (size_t i = 1; i < values.size(); i += 2)
    if (level.stands_for(i)) {
      const double line = std::clamp((values[i - 1] + values[i + 1]) / 2, least, greatest);
      worst = std::max(worst, std::abs(line - std::clamp(values[i], least, greatest)));
    }
  return worst;
}

double worst_line(const std::vector<Level>& levels, double least, double greatest) {
  double worst = 0;
  for (const Level& level : levels) worst = std::max(worst, worst_line(level, least, greatest));
  return worst;
}

/// What a level's table has to add at each entry. If there is a finer table, that is the difference
/// to what the finer one gives at its end.
std::vector<double> additions(const Level& level, const std::vector<double>& values, double below,
                              double above) {
  std::vector<double> result;
  for (size_t i = 0; 2 * i < values.size(); ++i) {
    const double y = level.points.shift < kExact ? entry(values, i) : values[2 * i];
    const double beyond = level.points.operand(2 * i) < 0 ? below : above;
    result.push_back(level.stands_for(2 * i) ? y - beyond : 0);
  }
  return result;
}

/// The tables of all levels, from the coarsest to the finest. Each has entries as fine as 16 bits
/// allow, and makes up for what is lost in rounding those of the finer.
std::vector<TableLevel> tables_of(const std::vector<Level>& levels, double least, double greatest) {
  std::vector<TableLevel> tables;
  double below = 0, above = 0;
  for (const Level& level : std::views::reverse(levels)) {
    const std::vector<double> added =
        additions(level, bounded(level, least, greatest), below, above);
    double most = 1;
    for (double value : added) most = std::max(most, std::abs(value));
    const double factor = static_cast<double>(kLargest) / most;
    std::vector<int64_t> entries;
    for (double value : added) entries.push_back(rounded(value * factor));
    const auto step = static_cast<double>(kTableStep);
    const std::vector<TableLevel> own = with_small_steps(level.points.shift, entries, factor);
    tables.insert(tables.begin(), own.begin(), own.end());
    // The operand saturates at 32767, which is not quite the last entry.
    const auto last = static_cast<double>(entries.back()),
               before = static_cast<double>(entries[entries.size() - 2]);
    below += static_cast<double>(entries.front()) / factor;
    above += (last + (before - last) / step) / factor;
  }
  return tables;
}

}  // namespace

std::vector<TableLevel> long_tables(const Curve& curve, double least, double greatest) {
  constexpr double kLittle = 1;  // a unit; half of it once the entries are lowered
  const Points whole = points(curve, 0);
  const double worst = worst_line(Level{whole, 0}, least, greatest);
  if (worst > kLittle) {
    std::vector<Points> at = {whole};
    for (int shift = 1; shift <= kExact; ++shift) at.push_back(points(curve, shift));
    std::vector<Level> best;
    double left = worst / 4;  // more tables for less than that are not worth it
    const auto consider = [&](const std::vector<size_t>& shifts) {
      std::vector<Level> levels;
      for (size_t i = 0; i < shifts.size(); ++i)
        levels.push_back(
            {at[shifts[i]], i + 1 < shifts.size() ? reach(at[shifts[i + 1]].shift) : 0});
      const double off = worst_line(levels, least, greatest);
      if (off >= left) return;
      left = off;
      best = std::move(levels);
    };
    for (size_t shift = 1; shift <= kExact; ++shift) consider({0, shift});
    for (size_t finest = 2; finest <= kExact && left > kLittle; ++finest)
      for (size_t middle = 1; middle < finest; ++middle) consider({0, middle, finest});
    for (size_t fine = 2; fine < kExact && left > kLittle; ++fine)
      for (size_t middle = 1; middle < fine; ++middle) consider({0, middle, fine, kExact});
    if (!best.empty()) return tables_of(best, least, greatest);
  }
  return one_table(points(curve, 0).values, least, greatest);
}

}  // namespace layline::tosa
