#include "targets/tosa/lookup.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/evaluate.h"
#include "ir/quantised_tensor.h"
#include "targets/tosa/rescale.h"

namespace layline::tosa {
namespace {

constexpr int64_t kShortTable = 256, kLongTable = 513;
constexpr int64_t kStep = 128;  // between the entries of a long table, and what it multiplies by
constexpr int64_t kLargest = 32767;

/// The real numbers that a function is looked at for: those of each integer of 8 bits; of 16 bits
/// those of each entry of the table, and halfway between them.
layline::Tensor arguments(const Quantisation& own) {
  const bool is_long = own.dtype == DType::i16;
  const int64_t count = is_long ? 2 * kLongTable - 1 : kShortTable, step = is_long ? kStep / 2 : 1;
  const int64_t least = integer_range(own.dtype).first;
  layline::Tensor reals({DType::f32, {Dim(count)}});
  for (int64_t i = 0; i < count; ++i) reals.set(i, static_cast<double>(own.real(least + i * step)));
  return reals;
}

/// Evaluates a graph of elementwise ops for all arguments at once.
class Evaluation {
 public:
  const Value* source() const { return source_; }

  /// What a value is for each argument; nothing if it depends on anything but one quantised value.
  const layline::Tensor* of(const Value* value) {
    if (auto found = known_.find(value); found != known_.end()) return &found->second;
    const Node* def = value->def();
    if (def == nullptr || ++nodes_ > kMostNodes) return nullptr;
    if (stored_constant(value) && !value->type().quantisation)
      return number(value, tensor_of(value));
    if (def->is(Op::dequantize)) return dequantized(value, def->operand(0));
    if (def->is(Op::relayout) && def->attrs<RelayoutAttrs>().relayout.is_view())
      return of(def->operand(0));
    if (!is_elementwise(def->op()) || is_quantised(*def)) return nullptr;
    std::vector<layline::Tensor> operands;
    for (const Value* operand : def->operands()) {
      const layline::Tensor* tensor = of(operand);
      if (tensor == nullptr) return nullptr;
      operands.push_back(*tensor);
    }
    return keep(value, evaluate_op(def->op(), operands, def->attributes()));
  }

 private:
  static constexpr int kMostNodes = 64;

  const layline::Tensor* keep(const Value* value, layline::Tensor tensor) {
    return &known_.emplace(value, std::move(tensor)).first->second;
  }

  /// A constant of one element is a number, whatever its axes.
  const layline::Tensor* number(const Value* value, const layline::Tensor& constant) {
    if (constant.count() != 1) return nullptr;
    return keep(value, layline::Tensor({constant.dtype(), {}},
                                       {constant.bytes().begin(), constant.bytes().end()}));
  }

  const layline::Tensor* dequantized(const Value* value, const Value* integers) {
    if (stored_constant(integers)) return number(value, real_tensor(tensor_of(integers)));
    if (!is_activation(integers) || (source_ && source_ != integers)) return nullptr;
    source_ = integers;
    return keep(value, arguments(quantisation(integers)));
  }

  const Value* source_ = nullptr;
  int nodes_ = 0;
  std::unordered_map<const Value*, layline::Tensor> known_;
};

/// A table of 513 entries, in the scale of the result divided by `factor`.
struct LongTable {
  std::vector<int64_t> entries;
  double factor;
};

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

LongTable long_table(const std::vector<double>& values, double factor) {
  LongTable table{{}, factor};
  for (size_t i = 0; 2 * i < values.size(); ++i) {
    const double value = entry(values, i) * factor;
    const auto most = static_cast<double>(kLargest);
    table.entries.push_back(std::isnan(value) ? 0 : std::llrint(std::clamp(value, -most, most)));
  }
  return table;
}

/// How far the result is off, at the entries and between them: in bits, so that what happens beside
/// a pole does not outweigh the rest.
double error(const LongTable& table, const std::vector<double>& values, double least,
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
Lookup long_lookup(const Value* source, const layline::Tensor& reals, const Quantisation& own) {
  const double least = static_cast<double>(own.min - own.zero_point()),
               greatest = static_cast<double>(own.max - own.zero_point());
  std::vector<double> values;
  for (int64_t i = 0; i < reals.count(); ++i)
    values.push_back(reals.get(i) / static_cast<double>(own.scale()));
  // The largest entry within the result's range, and the largest that has such a neighbour.
  const auto within = [&](size_t i) { return least <= values[i] && values[i] <= greatest; };
  double most = 1, most_beside = 1;
  for (size_t i = 0; i < values.size(); i += 2) {
    if (std::isnan(values[i])) continue;
    most = std::max(most, std::abs(std::clamp(values[i], least, greatest)));
    if (within(i) || (i > 0 && within(i - 2)) || (i + 2 < values.size() && within(i + 2)))
      most_beside = std::max(most_beside, std::abs(values[i]));
  }
  LongTable best = long_table(values, static_cast<double>(kLargest) / most);
  if (std::isfinite(most_beside) && most_beside > most) {
    LongTable other = long_table(values, static_cast<double>(kLargest) / most_beside);
    if (error(other, values, least, greatest) < error(best, values, least, greatest))
      best = std::move(other);
  }
  return {source, list(DType::i16, best.entries), 1 / (best.factor * static_cast<double>(kStep))};
}

/// The number itself, seen in other shapes at most.
bool is_identity(const Value* value) {
  while (value->def() && value->def()->is(Op::relayout)) value = value->def()->operand(0);
  return value->def() && value->def()->is(Op::dequantize);
}

}  // namespace

std::optional<Lookup> find_lookup(const Node& quantize) {
  if (!is_activation(quantize.result())) return std::nullopt;
  Evaluation evaluation;
  const layline::Tensor* reals = evaluation.of(quantize.operand(0));
  const Value* source = evaluation.source();
  if (reals == nullptr || source == nullptr || reals->type().rank() != 1 ||
      element_count(source->shape()) != element_count(quantize.result()->shape()))
    return std::nullopt;
  const Quantisation& own = quantisation(quantize.result());
  const bool wide = source->dtype() == DType::i16 || own.dtype == DType::i16;
  if (wide && is_identity(quantize.operand(0))) {
    const double factor = scale(source) / scale(quantize.result());
    if (!multiplier_of(factor)) return std::nullopt;
    return Lookup{source, std::nullopt, factor};
  }
  if (source->dtype() == DType::i16) return long_lookup(source, *reals, own);
  if (own.dtype != DType::i8) return std::nullopt;
  const layline::Tensor table = quantised_tensor(*reals, quantize.result()->type().quantisation);
  return Lookup{source, Constant::of(table)};
}

}  // namespace layline::tosa
