#include "ir/ops/checks.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/error.h"

namespace layline::rules {

TensorType result_type(DType dtype, Shape shape) {
  TensorType type{dtype, std::move(shape)};
  const bool empty = std::ranges::any_of(type.shape, &Dim::is_zero);
  std::optional<int64_t> bytes = static_cast<int64_t>(byte_size(dtype));
  for (const Dim& dim : type.shape)
    if (bytes && !empty) bytes = checked_mul(*bytes, dim.coefficient());
  if (!bytes) throw UserError("the result {} is too large", to_string(type));
  return type;
}

void expect_float(const TensorType& x) {
  if (!is_float(x.dtype)) throw UserError("expected a float operand, found {}", to_string(x));
}

void expect_numeric(const TensorType& x) {
  if (x.dtype == DType::boolean)
    throw UserError("expected a float or integer operand, found {}", to_string(x));
}

void expect_same_dtype(Types operands) {
  for (const TensorType& operand : operands)
    if (operand.dtype != operands[0].dtype)
      throw UserError("expected operands of one element type, found {} and {}",
                      to_string(operands[0]), to_string(operand));
}

void expect_rank(const TensorType& x, int64_t rank, std::string_view operand) {
  if (x.rank() != rank)
    throw UserError("expected a {}-D {}, found {}", rank, operand, to_string(x));
}

void expect_entries(const Ints& list, size_t count, std::string_view list_name) {
  if (list.size() != count)
    throw UserError("expected {} entries in {}, found {}", count, list_name, list.size());
}

void expect_at_least(const Ints& list, int64_t minimum, std::string_view list_name) {
  for (const int64_t entry : list)
    if (entry < minimum)
      throw UserError("{} must be at least {}, found {}", list_name, minimum, entry);
}

void expect_axis(int64_t axis, const TensorType& x) {
  if (axis < 0 || axis >= x.rank()) throw UserError("axis {} is outside {}", axis, to_string(x));
}

void expect_axes(const Ints& axes, const TensorType& x) {
  for (size_t i = 0; i < axes.size(); ++i) {
    expect_axis(axes[i], x);
    if (i > 0 && axes[i] <= axes[i - 1])
      throw UserError("axes must ascend, found {} after {}", axes[i], axes[i - 1]);
  }
}

void expect_bounds(const Bounds& bounds) {
  if (std::isnan(bounds.min) || std::isnan(bounds.max))
    throw UserError("the bounds of a clamp must be numbers, found NaN");
  if (bounds.min > bounds.max)
    throw UserError("a clamp to [{}, {}] is one to its second bound, to be written [{}, {}]",
                    bounds.min, bounds.max, bounds.max, bounds.max);
}

int64_t static_size(const Dim& dim, std::string_view what) {
  if (!dim.is_static())
    throw UserError("{} must be static, found {}; export the model with a fixed size there", what,
                    to_string(dim));
  return dim.value();
}

}  // namespace layline::rules
