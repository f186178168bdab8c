// A tensor in host memory: what the reference evaluator computes with. Elements are read and
// written as double (floats) or int64 (integers, bool), whatever they are stored as.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/type.h"

namespace layline {

class Tensor {
 public:
  /// Zero-filled. The type must be static.
  explicit Tensor(TensorType type);
  Tensor(TensorType type, std::vector<std::byte> bytes);

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t dim(int64_t axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t count() const { return count_; }

  double get(int64_t i) const;
  int64_t get_int(int64_t i) const;
  /// Rounds to the stored type as torch's casts do: nearest even for floats, towards zero for
  /// integers, != 0 for bool.
  void set(int64_t i, double value);
  void set_int(int64_t i, int64_t value);

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }

 private:
  TensorType type_;
  std::vector<int64_t> dims_;
  int64_t count_;
  std::vector<std::byte> bytes_;
};

/// The number without its fraction; the nearest int64 where it does not fit, and 0 for NaN.
int64_t saturated(double value);

/// IEEE binary16 and bfloat16, nearest even.
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat_to_float(uint16_t bits);
uint16_t float_to_bfloat(float value);

}  // namespace layline
