// Constants: bytes that usually stay where they are, in the mapped model file, together with what
// has yet to happen to them. Nothing is copied until the program is written: `stream` then scales
// and reorders each weight once, a piece at a time, on its way into the file.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "algebra/relayout.h"
#include "ir/dtype.h"

namespace layline {

class ComputedBlock;
class Tensor;

class Constant {
 public:
  /// Bytes that live elsewhere (a mapped file); `keep_alive` owns them. Row-major over `shape`.
  static Constant view(DType dtype, Shape shape, std::span<const std::byte> stored,
                       std::shared_ptr<const void> keep_alive);
  static Constant owned(DType dtype, Shape shape, std::vector<std::byte> bytes);
  /// Bytes that are computed whenever they are read.
  static Constant computed(DType dtype, Shape shape, std::shared_ptr<ComputedBlock> block,
                           size_t part);
  /// A copy of the tensor's numbers.
  static Constant of(const Tensor& tensor);
  /// A rank-0 constant.
  static Constant scalar(DType dtype, double value);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return pending_.target(); }
  size_t byte_count() const { return byte_count_; }

  /// This constant after `relayout`, whose source is shape(). The relayout is composed with the
  /// pending one if one relayout can do both; otherwise the constant is materialised first.
  Constant relaid(const Relayout& relayout) const;
  /// The f32 constant whose row i, along the leading axis of shape(), is multiplied by factors[i].
  Constant scaled_rows(std::span<const float> factors) const;
  /// The f32 constant whose elements at j along the last axis of shape() are multiplied by
  /// factors[j].
  Constant scaled_columns(std::span<const float> factors) const;

  /// The elements from `begin` to `end` along the leading axis of shape(); no copy, if they are
  /// stored like that.
  Constant rows(size_t begin, size_t end) const;

  /// Gives the constant, row-major over shape(), to `write` in consecutive pieces. If nothing is
  /// pending, it is one piece, straight from where it is stored, or pieces as they are computed.
  void stream(const std::function<void(std::span<const std::byte>)>& write) const;
  /// Writes the constant, row-major over shape(), into `out` (byte_count() bytes).
  void materialise(std::span<std::byte> out) const;
  std::vector<std::byte> bytes() const;

  /// Value equality of the bytes that materialise() would write; cheap when both are the same view.
  bool same_bytes(const Constant& other) const;
  /// Equal for constants with equal bytes; reads only a sample of large ones.
  size_t sample_hash() const;

  /// This constant with its stored bytes in memory, computed now if they were not there.
  Constant loaded() const;
  bool is_loaded() const { return block_ == nullptr; }
  /// Whether stream() computes the bytes in pieces, without having them all in memory.
  bool is_computed_in_pieces() const;
  /// The stored bytes. The constant must be loaded.
  std::span<const std::byte> stored() const;
  const Relayout& pending() const { return pending_; }
  /// Empty, or one factor for each row of the stored data's leading axis.
  std::span<const float> row_factors() const;
  /// Empty, or factors[i % size] for the stored element i.
  std::span<const float> column_factors() const;

  /// Exact identity of what is recorded (not of the bytes): same stored bytes, pending work, dtype.
  bool operator==(const Constant& other) const;

 private:
  Constant(DType dtype, Shape shape, size_t byte_count);

  DType dtype_;
  Relayout pending_;  // from the stored shape to shape()
  size_t byte_count_;
  std::span<const std::byte> stored_;  // empty while the bytes have yet to be computed
  std::shared_ptr<const void> keep_alive_;
  std::shared_ptr<ComputedBlock> block_;  // null if the bytes are there
  size_t part_ = 0;
  // Both are applied before pending_, the row factors first.
  std::shared_ptr<const std::vector<float>> row_factors_;
  std::shared_ptr<const std::vector<float>> column_factors_;
};

}  // namespace layline
