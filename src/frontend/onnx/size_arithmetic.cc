#include "frontend/onnx/size_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "base/error.h"
#include "ir/evaluate.h"

namespace layline::onnx {
namespace {

constexpr int64_t kMostElements = 1 << 20;       // of a tensor that is computed here
constexpr size_t kMostNumbers = 1 << 12;         // of a tensor of sums
constexpr int64_t kLargestDivisor = 1 << 20;     // of a float that counts as a fraction
constexpr double kLargestNumerator = 1LL << 52;  // doubles count exactly up to there

bool is_small(const Shape& shape) {
  if (!is_static(shape)) return false;
  const auto count = checked_product(static_dims(shape));
  return count && *count <= kMostElements;
}

std::optional<Fraction> fraction(double value) {
  for (int64_t divisor = 1; divisor <= kLargestDivisor; divisor *= 2) {
    const double numerator = value * static_cast<double>(divisor);
    if (std::abs(numerator) > kLargestNumerator) return std::nullopt;
    if (numerator == std::trunc(numerator))
      return Fraction{Sum::number(static_cast<int64_t>(numerator)), divisor};
  }
  return std::nullopt;
}

/// The fraction with the least divisor that divides all terms.
std::optional<Fraction> reduced_fraction(Sum numerator, int64_t divisor) {
  int64_t common = divisor;
  for (const auto& [monomial, coefficient] : numerator.terms())
    common = std::gcd(common, coefficient);
  if (common <= 1) return Fraction{std::move(numerator), divisor};
  Sum quotient;
  for (const auto& [monomial, coefficient] : numerator.terms())
    quotient = quotient + Sum(monomial) * Sum::number(coefficient / common);
  return Fraction{std::move(quotient), divisor / common};
}

std::optional<Numbers> numbers_of(const Tensor& tensor) {
  if (static_cast<size_t>(tensor.count()) > kMostNumbers) return std::nullopt;
  Numbers numbers{tensor.dims(), {}};
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const auto element = is_float(tensor.dtype()) ? fraction(tensor.get(i))
                                                  : Fraction{Sum::number(tensor.get_int(i)), 1};
    if (!element) return std::nullopt;
    numbers.elements.push_back(*element);
  }
  return numbers;
}

/// Numbers the elements of a tensor of these dims from `first` on.
Tensor places(const std::vector<int64_t>& dims, int64_t first) {
  Tensor tensor({DType::i64, Shape(dims.begin(), dims.end())});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_int(i, first + i);
  return tensor;
}

/// What is found for a value and, first, for all that it is computed from: operands in order, and
/// none after one of which nothing is known. Values may hang on chains of thousands, as those of
/// unrolled loops do, so that finding them out one inside the other would exhaust the stack.
template <typename Found>
void settle(const Value* value, std::unordered_map<const Value*, std::optional<Found>>& known,
            const auto& find) {
  const auto next_open = [&](const Value* each) -> const Value* {
    const layline::Node* node = each->def();
    if (node == nullptr || !is_small(each->shape())) return nullptr;
    for (const Value* operand : node->operands()) {
      const auto found = known.find(operand);
      if (found == known.end()) return operand;
      if (!found->second) return nullptr;
    }
    return nullptr;
  };
  std::vector<const Value*> chain = {value};
  while (!chain.empty()) {
    const Value* each = chain.back();
    if (const Value* operand = known.contains(each) ? nullptr : next_open(each)) {
      chain.push_back(operand);
      continue;
    }
    if (!known.contains(each)) known.emplace(each, find(each));
    chain.pop_back();
  }
}

Sum scaled(const Sum& sum, int64_t factor) { return sum * Sum::number(factor); }

}  // namespace

const Tensor* SizeArithmetic::constant(const Value* value) {
  settle(value, constants_, [&](const Value* each) { return evaluate(each); });
  const auto& found = constants_.at(value);
  return found ? &*found : nullptr;
}

std::optional<Tensor> SizeArithmetic::evaluate(const Value* value) {
  const layline::Node* node = value->def();
  if (node == nullptr || !is_small(value->shape())) return std::nullopt;
  if (node->is(Op::constant)) return tensor_of(value);
  std::vector<Tensor> operands;
  for (const Value* operand : node->operands()) {
    const Tensor* known = constant(operand);
    if (known == nullptr) return std::nullopt;
    operands.push_back(*known);
  }
  return evaluate_node(*node, operands);
}

const Numbers* SizeArithmetic::numbers(const Value* value) {
  settle(value, numbers_, [&](const Value* each) { return compute(each); });
  const auto& found = numbers_.at(value);
  return found ? &*found : nullptr;
}

std::optional<Numbers> SizeArithmetic::compute(const Value* value) {
  const layline::Node* node = value->def();
  if (node == nullptr || value->type().quantisation || !is_small(value->shape()))
    return std::nullopt;
  if (const Tensor* tensor = constant(value)) return numbers_of(*tensor);
  switch (node->op()) {
    case Op::relayout:
    case Op::slice:
    case Op::concat:
    case Op::expand:
    case Op::flip:
    case Op::gather:
      return moved(*node);
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_max:
    case Op::reduce_min:
      return reduced(*node);
    default:
      return is_elementwise(node->op()) ? elementwise(*node) : std::nullopt;
  }
}

/// Ops that only move elements are done on the elements' numbers, by the reference evaluator.
std::optional<Numbers> SizeArithmetic::moved(const layline::Node& node) {
  std::vector<Tensor> operands;
  std::vector<const Numbers*> sources;
  int64_t count = 0;
  for (const Value* operand : node.operands()) {
    if (node.is(Op::gather) && !operands.empty()) {
      const Tensor* index = constant(operand);
      if (index == nullptr) return std::nullopt;
      operands.push_back(*index);
      continue;
    }
    const Numbers* source = numbers(operand);
    if (source == nullptr) return std::nullopt;
    sources.push_back(source);
    operands.push_back(places(source->dims, count));
    count += std::ssize(source->elements);
  }
  std::vector<const Fraction*> elements;
  for (const Numbers* source : sources)
    for (const Fraction& element : source->elements) elements.push_back(&element);
  const Tensor result = evaluate_op(node.op(), operands, node.attributes());
  if (static_cast<size_t>(result.count()) > kMostNumbers) return std::nullopt;
  Numbers numbers{result.dims(), {}};
  for (int64_t i = 0; i < result.count(); ++i)
    numbers.elements.push_back(*elements[static_cast<size_t>(result.get_int(i))]);
  return numbers;
}

std::optional<Numbers> SizeArithmetic::reduced(const layline::Node& node) {
  // A size as a tensor is the sum of so many ones.
  const Value* x = node.operand(0);
  if (const layline::Node* expand = x->def(); expand && expand->is(Op::expand) &&
                                              node.is(Op::reduce_sum) && !is_static(x->shape()) &&
                                              x->shape().size() == 1) {
    const Numbers* one = numbers(expand->operand(0));
    if (one == nullptr || one->elements.size() != 1) return std::nullopt;
    const Fraction& each = one->elements[0];
    const Sum size = graph_.symbol_table().expand(x->shape()[0]);
    return Numbers{{1}, {{each.numerator * size, each.divisor}}};
  }
  const Numbers* operand = numbers(x);
  if (operand == nullptr || operand->elements.empty() ||
      element_count(node.result()->shape()) != Dim(1))
    return std::nullopt;
  static constexpr std::pair<Op, Op> kSteps[] = {{Op::reduce_sum, Op::add},
                                                 {Op::reduce_prod, Op::mul},
                                                 {Op::reduce_max, Op::maximum},
                                                 {Op::reduce_min, Op::minimum}};
  Fraction total = operand->elements[0];
  for (size_t i = 1; i < operand->elements.size(); ++i) {
    const Fraction pair[] = {total, operand->elements[i]};
    std::optional<Fraction> next;
    for (const auto& [reduction, step] : kSteps)
      if (node.is(reduction)) next = combine(step, pair[0], pair[1]);
    if (!next) return std::nullopt;
    total = *next;
  }
  return Numbers{static_dims(node.result()->shape()), {total}};
}

std::optional<Numbers> SizeArithmetic::elementwise(const layline::Node& node) {
  const std::vector<int64_t> dims = static_dims(node.result()->shape());
  const Shape shape = node.result()->shape();
  std::vector<const Numbers*> sources;
  std::vector<Tensor> at;  // for each element of the result, the place of the operand's
  for (const Value* operand : node.operands()) {
    const Numbers* source = numbers(operand);
    if (source == nullptr) return std::nullopt;
    sources.push_back(source);
    const Tensor own[] = {places(source->dims, 0)};
    at.push_back(evaluate_op(Op::expand, own, ShapeAttrs{shape}));
  }
  Numbers result{dims, {}};
  const int64_t count = at.front().count();
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Fraction> operands;
    for (size_t j = 0; j < sources.size(); ++j)
      operands.push_back(sources[j]->elements[static_cast<size_t>(at[j].get_int(i))]);
    const auto element = apply(node, operands);
    if (!element) return std::nullopt;
    result.elements.push_back(*element);
  }
  return result;
}

std::optional<Fraction> SizeArithmetic::round_down(const Fraction& x) {
  return Fraction{graph_.symbol_table().quotient(x.numerator, x.divisor), 1};
}

/// Two operands. Nothing, if the result is no fraction of a sum, or depends on the symbols' values.
std::optional<Fraction> SizeArithmetic::combine(Op op, const Fraction& a, const Fraction& b) {
  SymbolTable& symbols = graph_.symbol_table();
  const Sum left = scaled(a.numerator, b.divisor), right = scaled(b.numerator, a.divisor);
  const int64_t divisor = exact_mul(a.divisor, b.divisor);
  const auto difference = symbols.range(left - right);
  auto decided = [](bool yes, bool no) -> std::optional<Fraction> {
    if (!yes && !no) return std::nullopt;
    return Fraction{Sum::number(yes ? 1 : 0), 1};
  };
  switch (op) {
    case Op::add:
      return reduced_fraction(left + right, divisor);
    case Op::sub:
      return reduced_fraction(left - right, divisor);
    case Op::mul:
      return reduced_fraction(a.numerator * b.numerator, divisor);
    case Op::div:
    case Op::floor_div: {
      if (left == right && difference.min == 0 && symbols.range(right).min > 0)
        return Fraction{Sum::number(1), 1};
      if (!b.numerator.is_number() || b.numerator.constant() <= 0) return std::nullopt;
      auto quotient = reduced_fraction(scaled(a.numerator, b.divisor),
                                       exact_mul(a.divisor, b.numerator.constant()));
      return op == Op::div || !quotient ? quotient : round_down(*quotient);
    }
    case Op::remainder:
    case Op::fmod: {
      if (a.divisor != 1 || b.divisor != 1 || !b.numerator.is_number() ||
          b.numerator.constant() <= 0 || (op == Op::fmod && symbols.range(a.numerator).min < 0))
        return std::nullopt;
      const int64_t modulus = b.numerator.constant();
      return Fraction{a.numerator - scaled(symbols.quotient(a.numerator, modulus), modulus), 1};
    }
    case Op::maximum:
      return reduced_fraction(symbols.maximum({left, right}), divisor);
    case Op::minimum:
      return reduced_fraction(symbols.minimum({left, right}), divisor);
    case Op::equal:
      return decided(left == right, difference.min > 0 || difference.max < 0);
    case Op::not_equal:
      return decided(difference.min > 0 || difference.max < 0, left == right);
    case Op::less:
      return decided(difference.max < 0, difference.min >= 0);
    case Op::less_equal:
      return decided(difference.max <= 0, difference.min > 0);
    case Op::greater:
      return decided(difference.min > 0, difference.max <= 0);
    case Op::greater_equal:
      return decided(difference.min >= 0, difference.max < 0);
    case Op::logical_and:
      return reduced_fraction(a.numerator * b.numerator, divisor);
    default:
      return std::nullopt;
  }
}

std::optional<Fraction> SizeArithmetic::apply(const layline::Node& node,
                                              std::span<const Fraction> operands) {
  SymbolTable& symbols = graph_.symbol_table();
  const Fraction& x = operands[0];
  if (operands.size() == 2) return combine(node.op(), x, operands[1]);
  switch (node.op()) {
    case Op::where:
      if (!x.numerator.is_number()) return std::nullopt;
      return x.numerator.constant() != 0 ? operands[1] : operands[2];
    case Op::neg:
      return Fraction{scaled(x.numerator, -1), x.divisor};
    case Op::abs:
      if (symbols.range(x.numerator).min < 0) return std::nullopt;
      return x;
    case Op::floor:
      return round_down(x);
    case Op::ceil:
      return round_down({x.numerator + Sum::number(x.divisor - 1), x.divisor});
    case Op::trunc:
    case Op::convert: {
      const bool rounds = node.is(Op::trunc) || !is_float(node.result()->dtype());
      if (!rounds || x.divisor == 1) {
        if (node.result()->dtype() == DType::boolean && !x.numerator.is_number())
          return std::nullopt;
        return x;
      }
      if (symbols.range(x.numerator).min < 0) return std::nullopt;
      return round_down(x);
    }
    case Op::logical_not:
      if (!x.numerator.is_number()) return std::nullopt;
      return Fraction{Sum::number(x.numerator.constant() == 0 ? 1 : 0), 1};
    default:
      return std::nullopt;
  }
}

}  // namespace layline::onnx
