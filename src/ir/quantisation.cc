#include "ir/quantisation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/error.h"

namespace layline {
namespace {

Shape shape_of(const std::vector<int64_t>& dims) { return {dims.begin(), dims.end()}; }

template <typename Entry>
std::vector<Entry> moved_table(const std::vector<Entry>& table, const Relayout& relayout) {
  if (relayout.is_view()) return table;
  std::vector<Entry> result(table.size());
  for (size_t i = 0; i < table.size(); ++i)
    result[static_cast<size_t>(relayout.map_position(static_cast<int64_t>(i)))] = table[i];
  return result;
}

bool is_positive_and_normal(float scale) {
  return scale >= std::numeric_limits<float>::min() && scale <= std::numeric_limits<float>::max();
}

/// Whether each dim of the table is the tensor's or 1: then the table broadcasts.
bool broadcasts(const Shape& table, const Shape& tensor) {
  for (size_t axis = 0; axis < tensor.size(); ++axis)
    if (!table[axis].is_one() && table[axis] != tensor[axis]) return false;
  return true;
}

/// [..., k] as [..., k / group, group].
std::optional<Shape> grouped(Shape shape, const Dim& group) {
  if (shape.empty()) return std::nullopt;
  const auto groups = divide(shape.back(), group);
  if (!groups) return std::nullopt;
  shape.back() = *groups;
  shape.push_back(group);
  return shape;
}

/// The relayout of the table that belongs to this one of the tensor. A table that broadcasts moves
/// as the algebra says; one with groups along the last axis broadcasts once groups are an axis.
std::optional<Relayout> table_relayout(const Shape& table, const Relayout& relayout) {
  if (broadcasts(table, relayout.source())) return relayout.for_broadcast(table);
  const auto group = divide(relayout.source().back(), table.back());
  const auto source = group ? grouped(relayout.source(), *group) : std::nullopt;
  const auto target = group ? grouped(relayout.target(), *group) : std::nullopt;
  if (!source || !target) return std::nullopt;
  Shape with_groups = table;
  with_groups.push_back(1);
  if (!broadcasts(with_groups, *source)) return std::nullopt;
  const auto both = relayout.with_source(*source).with_target(*target).for_broadcast(with_groups);
  if (!both || !both->target().back().is_one()) return std::nullopt;
  const Shape without(both->target().begin(), both->target().end() - 1);
  return both->with_source(table).with_target(without);
}

}  // namespace

int64_t Quantisation::quantised(float real, size_t entry) const {
  const auto inverse = static_cast<float>(1.0 / static_cast<double>(scale(entry)));
  const float number = std::nearbyint(real * inverse) + static_cast<float>(zero_point(entry));
  if (std::isnan(number)) return std::clamp<int64_t>(zero_point(entry), min, max);
  if (number <= static_cast<float>(min)) return min;
  if (number >= static_cast<float>(max)) return max;
  return static_cast<int64_t>(number);
}

float Quantisation::real(int64_t integer, size_t entry) const {
  return static_cast<float>(integer - zero_point(entry)) * scale(entry);
}

std::pair<int64_t, int64_t> integer_range(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return {-128, 127};
    case DType::u8:
      return {0, 255};
    case DType::i16:
      return {-32768, 32767};
    case DType::u16:
      return {0, 65535};
    case DType::i32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default:
      throw UserError("quantised numbers are integers of 8, 16 or 32 bits, not {}", name(dtype));
  }
}

Quantisation per_tensor(DType dtype, float scale, int32_t zero_point) {
  const auto [min, max] = integer_range(dtype);
  Quantisation result{dtype, min, max, {}, {scale}, {}};
  if (zero_point != 0) result.zero_points = {zero_point};
  return result;
}

std::vector<size_t> table_entries(const Quantisation& quantisation,
                                  const std::vector<int64_t>& tensor_dims) {
  int64_t count = 1;
  for (const int64_t dim : tensor_dims) count *= dim;
  std::vector<size_t> entries(static_cast<size_t>(count), 0);
  if (quantisation.per_tensor() || count == 0) return entries;
  for (int64_t position = 0; position < count; ++position) {
    int64_t rest = position, entry = 0, stride = 1;
    for (size_t axis = tensor_dims.size(); axis-- > 0;) {
      const int64_t block = tensor_dims[axis] / quantisation.dims[axis];
      entry += rest % tensor_dims[axis] / block * stride;
      rest /= tensor_dims[axis];
      stride *= quantisation.dims[axis];
    }
    entries[static_cast<size_t>(position)] = static_cast<size_t>(entry);
  }
  return entries;
}

bool can_move(const QuantisationRef& quantisation, const Relayout& relayout) {
  return !quantisation || quantisation->per_tensor() || relayout.is_identity() ||
         table_relayout(shape_of(quantisation->dims), relayout);
}

std::optional<QuantisationRef> moved(const QuantisationRef& quantisation,
                                     const Relayout& relayout) {
  if (!quantisation || quantisation->per_tensor()) return quantisation;
  if (relayout.is_identity()) return quantisation;
  const auto table = table_relayout(shape_of(quantisation->dims), relayout);
  if (!table) return std::nullopt;
  Quantisation result = *quantisation;
  result.dims = static_dims(table->target());
  result.scales = moved_table(quantisation->scales, *table);
  if (!quantisation->zero_points.empty())
    result.zero_points = moved_table(quantisation->zero_points, *table);
  return QuantisationRef(std::move(result));
}

void expect_quantisation(const Quantisation& quantisation, const Shape& shape) {
  const auto [least, greatest] = integer_range(quantisation.dtype);
  if (quantisation.min > quantisation.max || quantisation.min < least ||
      quantisation.max > greatest)
    throw UserError("the range [{},{}] is none of {}", quantisation.min, quantisation.max,
                    name(quantisation.dtype));
  int64_t entries = 1;
  if (!quantisation.per_tensor()) {
    if (quantisation.dims.size() != shape.size())
      throw UserError("expected a table of scales with {} axes for {}, found {}", shape.size(),
                      to_string(shape), quantisation.dims.size());
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t dim = quantisation.dims[axis];
      const bool divides =
          dim == 1 || (dim > 0 && shape[axis].is_static() && shape[axis].value() % dim == 0);
      if (!divides)
        throw UserError("{} scales do not divide axis {} of {}", dim, axis, to_string(shape));
      entries *= dim;
    }
  }
  if (std::ssize(quantisation.scales) != entries ||
      (!quantisation.zero_points.empty() && std::ssize(quantisation.zero_points) != entries))
    throw UserError("expected {} scales and zero points, found {} and {}", entries,
                    quantisation.scales.size(), quantisation.zero_points.size());
  for (std::span<const float> rest = quantisation.scales; !rest.empty();) {
    // Looking at several at once is much faster.
    const auto some = rest.first(std::min<size_t>(rest.size(), 1024));
    bool normal = true;
    for (const float scale : some) normal &= is_positive_and_normal(scale);
    if (!normal)
      throw UserError("expected scales from 1.2e-38 to 3.4e+38, found {}",
                      *std::ranges::find_if_not(some, is_positive_and_normal));
    rest = rest.subspan(some.size());
  }
}

}  // namespace layline
