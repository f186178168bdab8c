// How integers stand for real numbers: real = (integer - zero point) * scale. Part of a value's
// type (docs/quantisation.md), so that scales and zero points travel with the data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "algebra/relayout.h"
#include "ir/dtype.h"

namespace layline {

/// One scale and zero point for the whole tensor, or a table of them. A table has the rank of the
/// tensor, and each of its dims divides the tensor's: the element at index i has the entry at
/// i / (tensor dim / table dim), axis by axis. So [C,1,1,1] is one scale a channel, and [N,K/32] on
/// a tensor [N,K] is one for each group of 32.
struct Quantisation {
  DType dtype = DType::i8;           // the type of the integers
  int64_t min = -128, max = 127;     // the integers in use: 4-bit numbers are i8 in [-8,7]
  std::vector<int64_t> dims;         // the shape of the table; empty for one entry
  std::vector<float> scales;         // row-major over dims
  std::vector<int32_t> zero_points;  // likewise, or empty: all 0

  bool per_tensor() const { return dims.empty(); }
  float scale(size_t entry = 0) const { return scales[entry]; }
  int32_t zero_point(size_t entry = 0) const {
    return zero_points.empty() ? 0 : zero_points[entry];
  }
  bool operator==(const Quantisation&) const = default;

  /// The integer for a real number: round to even, then clamp, in single precision as torch does.
  int64_t quantised(float real, size_t entry = 0) const;
  float real(int64_t integer, size_t entry = 0) const;
};

/// A shared quantisation, or none; compared by content.
class QuantisationRef {
 public:
  QuantisationRef() = default;
  QuantisationRef(Quantisation quantisation)
      : shared_(std::make_shared<const Quantisation>(std::move(quantisation))) {}

  explicit operator bool() const { return shared_ != nullptr; }
  const Quantisation& operator*() const { return *shared_; }
  const Quantisation* operator->() const { return shared_.get(); }
  bool operator==(const QuantisationRef& other) const {
    return shared_ == other.shared_ || (shared_ && other.shared_ && *shared_ == *other.shared_);
  }

 private:
  std::shared_ptr<const Quantisation> shared_;
};

/// One scale and zero point, over the whole range of the dtype.
Quantisation per_tensor(DType dtype, float scale, int32_t zero_point);

/// The table's entry for each element of a tensor of this shape, row-major.
std::vector<size_t> table_entries(const Quantisation& quantisation,
                                  const std::vector<int64_t>& tensor_dims);

/// The quantisation of a tensor after `relayout`: the table moves as the data does. Nullopt where
/// no table over the new dims gives every element its own entry.
std::optional<QuantisationRef> moved(const QuantisationRef& quantisation, const Relayout& relayout);
/// Whether there is one.
bool can_move(const QuantisationRef& quantisation, const Relayout& relayout);

/// The least and the greatest integer of a dtype that quantised numbers can have.
std::pair<int64_t, int64_t> integer_range(DType dtype);

/// Throws UserError unless this can be the quantisation of a tensor of this shape.
void expect_quantisation(const Quantisation& quantisation, const Shape& shape);

}  // namespace layline
