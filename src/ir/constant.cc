#include "ir/constant.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "ir/tensor.h"

namespace layline {
namespace {

// Constants up to this size are hashed whole.
constexpr size_t kSampleBytes = 4096;
// What is scaled and moved at a time: a piece and its two copies stay in the second-level cache.
constexpr size_t kPieceBytes = size_t{1} << 17;

using Bytes = std::span<const std::byte>;

bool equal(Bytes a, Bytes b) {
  if (a.size() != b.size()) return false;
  return a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0;
}

void scale(Bytes in, float factor, std::byte* out) {
  // A fixed number of lanes is what makes the compiler use vectors.
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> lanes;
  while (!in.empty()) {
    const size_t size = std::min(in.size(), sizeof lanes);
    if (size == sizeof lanes) {
      std::memcpy(lanes.data(), in.data(), sizeof lanes);
      for (float& lane : lanes) lane *= factor;
      std::memcpy(out, lanes.data(), sizeof lanes);
    } else {
      std::memcpy(lanes.data(), in.data(), size);
      for (size_t i = 0; i < size / sizeof(float); ++i) lanes[i] *= factor;
      std::memcpy(out, lanes.data(), size);
    }
    in = in.subspan(size);
    out += size;
  }
}

/// Scales the bytes of `stored` from `begin` to `end`, each row by its own factor.
void scale_rows(Bytes stored, std::span<const float> factors, size_t begin, size_t end,
                std::byte* out) {
  const size_t row_bytes = stored.size() / factors.size();
  while (begin < end) {
    const size_t row = begin / row_bytes;
    const size_t size = std::min(end, (row + 1) * row_bytes) - begin;
    scale(stored.subspan(begin, size), factors[row], out);
    begin += size;
    out += size;
  }
}

/// A relayout whose outermost digit stays outermost moves every value of that digit alike: this is
/// what it does to `count` of them.
Relayout leading_part(const Relayout& relayout, int64_t count) {
  std::vector<Dim> factors = relayout.factors();
  factors[0] = count;
  const Shape flat = {element_count(factors)};
  return Relayout::from_factors(flat, std::move(factors), relayout.order(), flat);
}

/// Whether the outermost digit, of size `rows`, is the same before and after.
bool keeps_rows(const Relayout& relayout, Dim rows) {
  return relayout.is_view() ||
         (relayout.order()[0] == 0 && divide(relayout.factors()[0], rows).has_value());
}

}  // namespace

Constant::Constant(DType dtype, Relayout pending, std::span<const std::byte> stored,
                   std::shared_ptr<const void> keep_alive)
    : dtype_(dtype),
      pending_(std::move(pending)),
      stored_(stored),
      keep_alive_(std::move(keep_alive)) {
  LAYLINE_ASSERT(stored_.size() == layline::byte_count({dtype_, shape()}),
                 "a constant of {} bytes is not {}", stored_.size(),
                 to_string(TensorType{dtype_, shape()}));
}

Constant Constant::view(DType dtype, Shape shape, std::span<const std::byte> stored,
                        std::shared_ptr<const void> keep_alive) {
  return Constant(dtype, Relayout::identity(std::move(shape)), stored, std::move(keep_alive));
}

Constant Constant::owned(DType dtype, Shape shape, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> stored = *owner;
  return Constant(dtype, Relayout::identity(std::move(shape)), stored, std::move(owner));
}

Constant Constant::scalar(DType dtype, double value) {
  Tensor tensor({dtype, {}});
  tensor.set(0, value);
  return owned(dtype, {}, {tensor.bytes().begin(), tensor.bytes().end()});
}

std::span<const float> Constant::row_factors() const {
  return row_factors_ ? std::span<const float>(*row_factors_) : std::span<const float>();
}

Constant Constant::relaid(const Relayout& relayout) const {
  if (auto composed = pending_.then(relayout)) {
    Constant result = *this;
    result.pending_ = std::move(*composed);
    return result;
  }
  Constant result = owned(dtype_, shape(), bytes());
  result.pending_ = relayout;
  return result;
}

Constant Constant::scaled_rows(std::span<const float> factors) const {
  LAYLINE_ASSERT(dtype_ == DType::f32 && !shape().empty() &&
                     shape()[0] == Dim(static_cast<int64_t>(factors.size())),
                 "{} factors for the rows of {}", factors.size(), to_string(shape()));
  // The factors apply to what is stored, so the rows must be rows there too.
  const bool same_rows =
      keeps_rows(pending_, shape()[0]) && (!row_factors_ || row_factors_->size() == factors.size());
  Constant result = same_rows ? *this : owned(dtype_, shape(), bytes());
  // And they are its leading axis, as row_factors() says, whatever other view it was stored in.
  const Shape stored = result.pending_.source();
  if (!stored_.empty() && (stored.empty() || stored[0] != shape()[0])) {
    const Shape rows = {shape()[0], *divide(element_count(shape()), shape()[0])};
    const auto composed = Relayout::view(rows, stored).then(result.pending_);
    LAYLINE_ASSERT(composed, "a view before {} is one relayout", to_string(result.pending_));
    result.pending_ = *composed;
  }
  std::vector<float> product(factors.begin(), factors.end());
  for (size_t i = 0; i < product.size() && result.row_factors_; ++i)
    product[i] *= (*result.row_factors_)[i];
  result.row_factors_ = std::make_shared<const std::vector<float>>(std::move(product));
  return result;
}

void Constant::stream(const std::function<void(Bytes)>& write) const {
  if (stored_.empty()) return;
  const bool moves = !pending_.is_view();
  if (!moves && !row_factors_) return write(stored_);

  // Blocks that move within themselves: a convolution's filters, or everything at once.
  const size_t element = byte_size(dtype_);
  size_t blocks = 1;
  if (!moves) {
    blocks = stored_.size() / element;
  } else if (pending_.order()[0] == 0) {
    blocks = static_cast<size_t>(pending_.factors()[0].value());
  }
  const size_t block_bytes = stored_.size() / blocks;
  const size_t blocks_a_piece = std::clamp<size_t>(kPieceBytes / block_bytes, 1, blocks);
  const size_t piece_bytes = blocks_a_piece * block_bytes;

  const auto scaled = std::make_unique_for_overwrite<std::byte[]>(row_factors_ ? piece_bytes : 0);
  const auto moved = std::make_unique_for_overwrite<std::byte[]>(moves ? piece_bytes : 0);
  Relayout movement = pending_;
  for (size_t begin = 0, moved_blocks = blocks; begin < stored_.size(); begin += piece_bytes) {
    Bytes piece = stored_.subspan(begin, std::min(piece_bytes, stored_.size() - begin));
    if (row_factors_) {
      scale_rows(stored_, *row_factors_, begin, begin + piece.size(), scaled.get());
      piece = {scaled.get(), piece.size()};
    }
    if (moves) {
      if (const size_t count = piece.size() / block_bytes; count != moved_blocks) {
        movement = leading_part(pending_, static_cast<int64_t>(count));
        moved_blocks = count;
      }
      apply(movement, piece, {moved.get(), piece.size()}, element);
      piece = {moved.get(), piece.size()};
    }
    write(piece);
  }
}

void Constant::materialise(std::span<std::byte> out) const {
  LAYLINE_ASSERT(out.size() == stored_.size(), "materialising {} bytes into {}", stored_.size(),
                 out.size());
  stream([&out](Bytes piece) {
    std::memcpy(out.data(), piece.data(), piece.size());
    out = out.subspan(piece.size());
  });
}

std::vector<std::byte> Constant::bytes() const {
  std::vector<std::byte> out(stored_.size());
  materialise(out);
  return out;
}

bool Constant::operator==(const Constant& other) const {
  return dtype_ == other.dtype_ && pending_ == other.pending_ &&
         std::ranges::equal(row_factors(), other.row_factors()) && equal(stored_, other.stored_);
}

bool Constant::same_bytes(const Constant& other) const {
  if (stored_.size() != other.stored_.size()) return false;
  const bool same_work = pending_.moves_like(other.pending_) &&
                         byte_size(dtype_) == byte_size(other.dtype_) &&
                         std::ranges::equal(row_factors(), other.row_factors());
  return same_work ? equal(stored_, other.stored_) : equal(bytes(), other.bytes());
}

size_t Constant::sample_hash() const {
  // Only what is the same for every constant with these bytes may enter: the ends of the data when
  // nothing moves them, otherwise the materialised ends. Movement keeps the first and the last
  // element in place, so one element from each end serves all cases alike.
  const size_t element = byte_size(dtype_);
  if (stored_.size() <= kSampleBytes) {
    const auto all = bytes();
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(all.data()), all.size()});
  }
  auto end = [&](size_t offset, float factor) {
    std::array<std::byte, 8> sample{};
    std::memcpy(sample.data(), &stored_[offset], element);
    if (row_factors_) scale(std::span(sample).first(element), factor, sample.data());
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(sample.data()), element});
  };
  const size_t front = end(0, row_factors_ ? row_factors_->front() : 1);
  const size_t back = end(stored_.size() - element, row_factors_ ? row_factors_->back() : 1);
  return front * 31 + back + stored_.size();
}

}  // namespace layline
