#include "frontend/ops/creation.h"

#include <cmath>

#include "base/checked.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

Shape bounds(const Builder& build, const Shape& shape) {
  constexpr int64_t kMostElements = 1 << 28;
  const Shape whole = build.graph().symbol_table().greatest(shape);
  const auto elements = checked_product(static_dims(whole));
  if (!elements || *elements > kMostElements)
    build.fail("a constant of {} elements is too large{}", to_string(whole),
               is_static(shape) ? "" : ": give the dynamic sizes a smaller upper bound");
  return whole;
}

std::vector<double> steps(const Builder& build, const TensorType& type, double start, double end) {
  if (!is_static(type.shape)) build.fail("of a dynamic length is not supported");
  const int64_t count = element_count(type.shape).value();
  const double step = count > 1 ? (end - start) / static_cast<double>(count - 1) : 0;
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(i < count / 2 || count == 1
                          ? start + step * static_cast<double>(i)
                          : end - step * static_cast<double>(count - 1 - i));
  return numbers;
}

Value* constant_of_numbers(const Builder& build, const TensorType& type,
                           const std::vector<double>& numbers) {
  Tensor tensor(type);
  for (size_t i = 0; i < numbers.size(); ++i) tensor.set(static_cast<int64_t>(i), numbers[i]);
  return build.constant(tensor);
}

/// A dynamic size as i64[]: the sum of so many ones.
Value* length_of(const Builder& build, const Dim& size) {
  Value* ones = build.expand(build.scalar(DType::i64, 1), {size});
  return build.view(build.add(Op::reduce_sum, {ones}, AxesAttrs{{0}}), {});
}

}  // namespace

Value* front_of_constant(const Builder& build, const Shape& shape,
                         const std::function<Constant(const Shape& whole)>& make) {
  Value* whole = build.constant(make(bounds(build, shape)));
  if (whole->shape() == shape) return whole;
  return build.add(Op::slice, {whole},
                   SliceAttrs{Ints(shape.size(), 0), shape, Ints(shape.size(), 1)});
}

Value* number(const Builder& build, const Sum& sum) {
  const auto literal = [&](int64_t value) {
    return build.scalar(DType::i64, static_cast<double>(value));
  };
  Value* total = nullptr;
  for (const auto& [monomial, coefficient] : sum.terms()) {
    Value* term = nullptr;
    const auto times = [&](Value* factor) {
      term = term ? build.add(Op::mul, {term, factor}) : factor;
    };
    for (const SymbolId id : monomial.symbols()) times(length_of(build, Dim::symbol(id)));
    if (coefficient != 1 || term == nullptr) times(literal(coefficient));
    total = total ? build.add(Op::add, {total, term}) : term;
  }
  return total ? total : literal(0);
}

Value* filled(const Builder& build, const TensorType& type, double value) {
  return build.expand(build.scalar(type.dtype, value), type.shape);
}

Value* arange(const Builder& build, const TensorType& type, double start, double step) {
  return front_of_constant(build, type.shape, [&](const Shape& whole) {
    Tensor numbers({type.dtype, whole});
    for (int64_t i = 0; i < numbers.count(); ++i)
      numbers.set(i, start + static_cast<double>(i) * step);
    return Constant::of(numbers);
  });
}

Value* linspace(const Builder& build, const TensorType& type, double start, double end) {
  return constant_of_numbers(build, type, steps(build, type, start, end));
}

Value* logspace(const Builder& build, const TensorType& type, double start, double end,
                double base) {
  std::vector<double> numbers = steps(build, type, start, end);
  for (double& number : numbers) number = std::pow(base, number);
  return constant_of_numbers(build, type, numbers);
}

}  // namespace layline::ops
