#include "frontend/pt2/promotion.h"

#include <algorithm>

namespace layline::pt2 {
namespace {

int category(DType dtype) {
  if (dtype == DType::boolean) return 0;
  return is_integer(dtype) ? 1 : 2;
}

/// The join of two dtypes in torch's promotion lattice.
DType join(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (is_float(a)) {
    if (byte_size(a) != byte_size(b)) return byte_size(a) > byte_size(b) ? a : b;
    return DType::f32;  // f16 with bf16
  }
  // Unsigned bytes need the next wider signed type to join a signed one of their width or less.
  const bool unsigned_a = a == DType::u8 || a == DType::u16;
  const bool unsigned_b = b == DType::u8 || b == DType::u16;
  if (unsigned_a == unsigned_b) return byte_size(a) > byte_size(b) ? a : b;
  const DType wide_unsigned = unsigned_a ? a : b;
  const DType other = unsigned_a ? b : a;
  if (byte_size(other) > byte_size(wide_unsigned)) return other;
  return wide_unsigned == DType::u8 ? DType::i16 : DType::i32;
}

void merge(std::optional<DType>& into, DType dtype) { into = into ? join(*into, dtype) : dtype; }

}  // namespace

Operand operand(const Call& call, std::string_view argument) {
  if (Value* number = call.computed(argument)) return {number, {}};
  if (auto scalar = call.scalar(argument)) return {nullptr, *scalar};
  return {call.tensor(argument), {}};
}

DType promote(const std::vector<Operand>& operands) {
  std::optional<DType> with_axes, without_axes, numbers;
  for (const Operand& operand : operands) {
    if (operand.tensor == nullptr)
      merge(numbers, operand.scalar.kind);
    else
      merge(operand.tensor->shape().empty() ? without_axes : with_axes, operand.tensor->dtype());
  }
  std::optional<DType> result = with_axes;
  for (const auto& lower : {without_axes, numbers})
    if (lower && (!result || category(*lower) > category(*result))) result = lower;
  return *result;
}

Value* as(const Call& call, const Operand& operand, DType to) {
  return operand.tensor ? call.convert(operand.tensor, to) : call.scalar(to, operand.scalar.value);
}

Value* as_recorded(const Call& call, std::string_view argument) {
  return as(call, operand(call, argument), call.recorded().dtype);
}

Value* self_as_recorded(const Call& call) {
  return call.convert(call.tensor("self"), call.recorded().dtype);
}

}  // namespace layline::pt2
