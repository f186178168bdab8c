#include "ir/constant.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string_view>

#include "base/error.h"
#include "ir/tensor.h"

namespace layline {
namespace {

// Constants up to this size are hashed whole.
constexpr size_t kSampleBytes = 4096;


void scale(std::span<const std::byte> in, float factor, std::span<std::byte> out) {
  for (size_t i = 0; i < in.size(); i += sizeof(float)) {
    float value;
    std::memcpy(&value, &in[i], sizeof value);
    value *= factor;
    std::memcpy(&out[i], &value, sizeof value);
  }
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
  Constant result =
      keeps_rows(pending_, shape()[0]) ? *this : owned(dtype_, shape(), bytes());
  std::vector<float> product(factors.begin(), factors.end());
  for (size_t i = 0; i < product.size() && result.row_factors_; ++i)
    product[i] *= (*result.row_factors_)[i];
  result.row_factors_ = std::make_shared<const std::vector<float>>(std::move(product));
  return result;
}

void Constant::materialise(std::span<std::byte> out) const {
  LAYLINE_ASSERT(out.size() == stored_.size(), "materialising {} bytes into {}", stored_.size(),
                 out.size());
  if (stored_.empty()) return;
  if (!row_factors_) return apply(pending_, stored_, out, byte_size(dtype_));

  const std::vector<float>& factors = *row_factors_;
  const size_t row_bytes = stored_.size() / factors.size();
  auto row = [&](auto span, size_t i) { return span.subspan(i * row_bytes, row_bytes); };
  const auto& moved = pending_.factors();
  const Dim rows = static_cast<int64_t>(factors.size());
  if (pending_.is_view()) {
    for (size_t i = 0; i < factors.size(); ++i) scale(row(stored_, i), factors[i], row(out, i));
  } else if (moved[0] == rows && pending_.order()[0] == 0) {
    // Rows stay where they are (a convolution's filters): scale and reorder one at a time, in cache.
    std::vector<int> order(pending_.order().begin() + 1, pending_.order().end());
    for (int& factor : order) --factor;
    const Shape row_shape = {static_cast<int64_t>(row_bytes / sizeof(float))};
    const Relayout within = Relayout::from_factors(
        row_shape, std::vector<Dim>(moved.begin() + 1, moved.end()), std::move(order), row_shape);
    std::vector<std::byte> scaled(row_bytes);
    for (size_t i = 0; i < factors.size(); ++i) {
      scale(row(stored_, i), factors[i], scaled);
      apply(within, scaled, row(out, i), sizeof(float));
    }
  } else {
    std::vector<std::byte> scaled(stored_.size());
    for (size_t i = 0; i < factors.size(); ++i)
      scale(row(stored_, i), factors[i], row(std::span(scaled), i));
    apply(pending_, scaled, out, sizeof(float));
  }
}

std::vector<std::byte> Constant::bytes() const {
  std::vector<std::byte> out(stored_.size());
  materialise(out);
  return out;
}

bool Constant::operator==(const Constant& other) const {
  return dtype_ == other.dtype_ && pending_ == other.pending_ &&
         std::ranges::equal(row_factors(), other.row_factors()) &&
         (stored_.data() == other.stored_.data() ? stored_.size() == other.stored_.size()
                                                 : std::ranges::equal(stored_, other.stored_));
}

bool Constant::same_bytes(const Constant& other) const {
  if (stored_.size() != other.stored_.size()) return false;
  const bool same_work = pending_.moves_like(other.pending_) && byte_size(dtype_) == byte_size(other.dtype_) &&
                         std::ranges::equal(row_factors(), other.row_factors());
  if (same_work)
    return stored_.data() == other.stored_.data() || std::ranges::equal(stored_, other.stored_);
  return bytes() == other.bytes();
}

size_t Constant::sample_hash() const {
  // Only what is the same for every constant with these bytes may enter: the ends of the data when
  // nothing moves them, otherwise the materialised ends. Movement keeps the first and the last
  // element in place, so one element from each end serves all cases alike.
  const size_t element = byte_size(dtype_);
  if (stored_.size() <= kSampleBytes) {
    const auto all = bytes();
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(all.data()), all.size()});
  }
  auto end = [&](size_t offset, float factor) {
    std::array<std::byte, 8> sample{};
    std::memcpy(sample.data(), &stored_[offset], element);
    if (row_factors_) scale(std::span(sample).first(element), factor, std::span(sample).first(element));
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(sample.data()), element});
  };
  const size_t front = end(0, row_factors_ ? row_factors_->front() : 1);
  const size_t back = end(stored_.size() - element, row_factors_ ? row_factors_->back() : 1);
  return front * 31 + back + stored_.size();
}

}  // namespace layline
