#include "ir/constant.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "ir/computed_block.h"
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

/// Scales each element by its own factor.
void scale(Bytes in, std::span<const float> factors, std::byte* out) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> lanes;
  size_t done = 0;
  for (; done + kLanes <= factors.size(); done += kLanes) {
    std::memcpy(lanes.data(), &in[done * sizeof(float)], sizeof lanes);
    for (size_t i = 0; i < kLanes; ++i) lanes[i] *= factors[done + i];
    std::memcpy(out + done * sizeof(float), lanes.data(), sizeof lanes);
  }
  const size_t rest = factors.size() - done;
  if (rest == 0) return;
  std::memcpy(lanes.data(), &in[done * sizeof(float)], rest * sizeof(float));
  for (size_t i = 0; i < rest; ++i) lanes[i] *= factors[done + i];
  std::memcpy(out + done * sizeof(float), lanes.data(), rest * sizeof(float));
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

/// Scales `in`, which stands at byte `position` of the stored data, each column by its own factor.
void scale_columns(Bytes in, std::span<const float> factors, size_t position, std::byte* out) {
  while (!in.empty()) {
    const size_t column = position / sizeof(float) % factors.size();
    const size_t count = std::min(factors.size() - column, in.size() / sizeof(float));
    scale(in, factors.subspan(column, count), out);
    in = in.subspan(count * sizeof(float));
    position += count * sizeof(float);
    out += count * sizeof(float);
  }
}

/// A relayout whose outermost digit stays outermost moves every value of that digit alike: this is
/// what it does to `count` of them.
Relayout leading_part(const Relayout& relayout, int64_t count) {
  Dims factors = relayout.factors();
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

Constant::Constant(DType dtype, Shape shape, size_t byte_count)
    : dtype_(dtype), pending_(Relayout::identity(std::move(shape))), byte_count_(byte_count) {
  LAYLINE_ASSERT(byte_count_ == layline::byte_count({dtype_, pending_.target()}),
                 "a constant of {} bytes is not {}", byte_count_,
                 to_string(TensorType{dtype_, pending_.target()}));
}

Constant Constant::view(DType dtype, Shape shape, std::span<const std::byte> stored,
                        std::shared_ptr<const void> keep_alive) {
  Constant result(dtype, std::move(shape), stored.size());
  result.stored_ = stored;
  result.keep_alive_ = std::move(keep_alive);
  return result;
}

Constant Constant::owned(DType dtype, Shape shape, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> stored = *owner;
  return view(dtype, std::move(shape), stored, std::move(owner));
}

Constant Constant::computed(DType dtype, Shape shape, std::shared_ptr<ComputedBlock> block,
                            size_t part) {
  Constant result(dtype, std::move(shape), block->part(part).size);
  result.block_ = std::move(block);
  result.part_ = part;
  return result;
}

Constant Constant::of(const Tensor& tensor) {
  return owned(tensor.dtype(), tensor.type().shape, {tensor.bytes().begin(), tensor.bytes().end()});
}

Constant Constant::scalar(DType dtype, double value) {
  Tensor tensor({dtype, {}});
  tensor.set(0, value);
  return of(tensor);
}

std::span<const float> Constant::row_factors() const {
  return row_factors_ ? std::span<const float>(*row_factors_) : std::span<const float>();
}

std::span<const float> Constant::column_factors() const {
  return column_factors_ ? std::span<const float>(*column_factors_) : std::span<const float>();
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
  const bool same_rows = keeps_rows(pending_, shape()[0]) &&
                         (!row_factors_ || row_factors_->size() == factors.size()) &&
                         (!column_factors_ || pending_.source()[0] == shape()[0]);
  Constant result = same_rows ? *this : owned(dtype_, shape(), bytes());
  // And they are its leading axis, as row_factors() says, whatever other view it was stored in.
  const Shape stored = result.pending_.source();
  if (byte_count_ != 0 && (stored.empty() || stored[0] != shape()[0])) {
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

Constant Constant::scaled_columns(std::span<const float> factors) const {
  LAYLINE_ASSERT(dtype_ == DType::f32 && !shape().empty() &&
                     shape().back() == Dim(static_cast<int64_t>(factors.size())),
                 "{} factors for the columns of {}", factors.size(), to_string(shape()));
  // The factors apply to what is stored, so the columns must be columns there too.
  const auto fits = [](const auto& list, Dim axis) {
    return !list || Dim(static_cast<int64_t>(list->size())) == axis;
  };
  const bool same_columns = pending_.is_view() && fits(row_factors_, shape().front()) &&
                            fits(column_factors_, shape().back());
  Constant result = same_columns ? *this : owned(dtype_, shape(), bytes());
  result.pending_ = Relayout::identity(shape());
  std::vector<float> product(factors.begin(), factors.end());
  for (size_t i = 0; i < product.size() && result.column_factors_; ++i)
    product[i] *= (*result.column_factors_)[i];
  result.column_factors_ = std::make_shared<const std::vector<float>>(std::move(product));
  return result;
}

Constant Constant::rows(size_t begin, size_t end) const {
  const auto count = static_cast<size_t>(shape()[0].value());
  LAYLINE_ASSERT(begin <= end && end <= count, "rows {} to {} of {}", begin, end, count);
  const size_t row = byte_count_ / std::max<size_t>(1, count);
  const auto some = [&](Bytes all) { return all.subspan(begin * row, (end - begin) * row); };
  Shape some_shape = shape();
  some_shape[0] = Dim(static_cast<int64_t>(end - begin));
  // What is pending applies to what is stored, so the rows must be rows there too.
  const bool same_rows = !block_ && begin * row < end * row && keeps_rows(pending_, shape()[0]) &&
                         (!row_factors_ || row_factors_->size() == count) &&
                         (!column_factors_ || row / sizeof(float) % column_factors_->size() == 0);
  if (!same_rows) {
    const auto all = std::make_shared<const std::vector<std::byte>>(bytes());
    return view(dtype_, std::move(some_shape), some(*all), all);
  }
  Constant result = view(dtype_, some_shape, some(stored_), keep_alive_);
  if (!pending_.is_view()) {
    const int64_t digits = pending_.factors()[0].value() / shape()[0].value();
    result.pending_ = leading_part(pending_, static_cast<int64_t>(end - begin) * digits)
                          .with_target(std::move(some_shape));
  }
  if (row_factors_) {
    const auto factors = row_factors().subspan(begin, end - begin);
    result.row_factors_ =
        std::make_shared<const std::vector<float>>(factors.begin(), factors.end());
  }
  result.column_factors_ = column_factors_;
  return result;
}

Constant Constant::loaded() const {
  if (!block_) return *this;
  Constant result = *this;
  ComputedBlock::Bytes part = block_->read(part_);
  result.stored_ = part.bytes;
  result.keep_alive_ = std::move(part.keep_alive);
  result.block_ = nullptr;
  return result;
}

bool Constant::is_computed_in_pieces() const {
  return block_ && block_->has_pieces() && pending_.is_view() && !row_factors_ && !column_factors_;
}

Bytes Constant::stored() const {
  LAYLINE_ASSERT(!block_, "the bytes of a constant are not computed yet");
  return stored_;
}

void Constant::stream(const std::function<void(Bytes)>& write) const {
  if (byte_count_ == 0) return;
  if (is_computed_in_pieces()) return block_->stream(write);
  if (block_) return loaded().stream(write);
  const bool moves = !pending_.is_view();
  const bool scales = row_factors_ || column_factors_;
  if (!moves && !scales) return write(stored_);

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

  const auto scaled = std::make_unique_for_overwrite<std::byte[]>(scales ? piece_bytes : 0);
  const auto moved = std::make_unique_for_overwrite<std::byte[]>(moves ? piece_bytes : 0);
  Relayout movement = pending_;
  for (size_t begin = 0, moved_blocks = blocks; begin < stored_.size(); begin += piece_bytes) {
    Bytes piece = stored_.subspan(begin, std::min(piece_bytes, stored_.size() - begin));
    if (row_factors_) {
      scale_rows(stored_, *row_factors_, begin, begin + piece.size(), scaled.get());
      piece = {scaled.get(), piece.size()};
    }
    if (column_factors_) {
      scale_columns(piece, *column_factors_, begin, scaled.get());
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
  LAYLINE_ASSERT(out.size() == byte_count_, "materialising {} bytes into {}", byte_count_,
                 out.size());
  stream([&out](Bytes piece) {
    std::memcpy(out.data(), piece.data(), piece.size());
    out = out.subspan(piece.size());
  });
}

std::vector<std::byte> Constant::bytes() const {
  if (!block_ && pending_.is_view() && !row_factors_ && !column_factors_)
    return {stored_.begin(), stored_.end()};
  std::vector<std::byte> out(byte_count_);
  materialise(out);
  return out;
}

namespace {

bool same_factors(const Constant& a, const Constant& b) {
  return std::ranges::equal(a.row_factors(), b.row_factors()) &&
         std::ranges::equal(a.column_factors(), b.column_factors());
}

}  // namespace

bool Constant::operator==(const Constant& other) const {
  if (dtype_ != other.dtype_ || pending_ != other.pending_ || !same_factors(*this, other))
    return false;
  return (block_ && block_ == other.block_ && part_ == other.part_) ||
         equal(loaded().stored_, other.loaded().stored_);
}

bool Constant::same_bytes(const Constant& other) const {
  if (byte_count_ != other.byte_count_) return false;
  const bool same_work = pending_.moves_like(other.pending_) &&
                         byte_size(dtype_) == byte_size(other.dtype_) && same_factors(*this, other);
  if (same_work && block_ && block_ == other.block_ && part_ == other.part_) return true;
  return same_work ? equal(loaded().stored_, other.loaded().stored_)
                   : equal(bytes(), other.bytes());
}

size_t Constant::sample_hash() const {
  // Only what is the same for every constant with these bytes may enter: the ends of the data when
  // nothing moves them, otherwise the materialised ends. Movement keeps the first and the last
  // element in place, so one element from each end serves all cases alike.
  const size_t element = byte_size(dtype_);
  if (byte_count_ <= kSampleBytes) {
    const auto all = bytes();
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(all.data()), all.size()});
  }
  auto end = [&](const std::byte* stored, float row_factor, float column_factor) {
    std::array<std::byte, 8> sample{};
    const std::span<std::byte> value = std::span(sample).first(element);
    std::memcpy(value.data(), stored, element);
    if (row_factors_) scale(value, row_factor, value.data());
    if (column_factors_) scale(value, column_factor, value.data());
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(value.data()), element});
  };
  const auto first = [](std::span<const float> list) { return list.empty() ? 1 : list.front(); };
  const auto last = [](std::span<const float> list) { return list.empty() ? 1 : list.back(); };
  const std::byte* begin = block_ ? block_->part(part_).first.data() : stored_.data();
  const std::byte* back = block_ ? block_->part(part_).last.data() : &stored_.last(element)[0];
  return end(begin, first(row_factors()), first(column_factors())) * 31 +
         end(back, last(row_factors()), last(column_factors())) + byte_count_;
}

}  // namespace layline
