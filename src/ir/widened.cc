#include "ir/widened.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "ir/computed_block.h"
#include "ir/tensor.h"

namespace layline {

namespace {

// Only what is not seen outside becomes part of a loop, and the loop vectors.

float widen(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t narrow(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  const uint32_t nan = ((bits >> 16) & 0x8000) | 0x7fc0;
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(is_nan ? nan : rounded);
}

/// The constant with each element converted.
template <typename From, typename To, To (*convert)(From)>
Constant converted(const Constant& source, DType dtype) {
  const size_t bytes = source.byte_count() / sizeof(From) * sizeof(To);
  if (bytes == 0) return Constant::owned(dtype, source.shape(), {});
  const auto one = [](std::span<const std::byte> stored) {
    From element;
    std::memcpy(&element, stored.data(), sizeof element);
    const To result = convert(element);
    std::array<std::byte, 8> known{};
    std::memcpy(known.data(), &result, sizeof result);
    return known;
  };
  // Movement keeps the first and the last element in place.
  const ComputedBlock::Part part{0, bytes, one(source.stored().first(sizeof(From))),
                                 one(source.stored().last(sizeof(From)))};
  const auto stream = [source](const ComputedBlock::Write& write) {
    // A fixed number of lanes is what makes the compiler use vectors.
    constexpr size_t kLanes = 2048;
    std::array<From, kLanes> from{};
    std::array<To, kLanes> to;
    source.stream([&](std::span<const std::byte> piece) {
      while (!piece.empty()) {
        const size_t count = std::min(piece.size() / sizeof(From), kLanes);
        std::memcpy(from.data(), piece.data(), count * sizeof(From));
        for (size_t i = 0; i < kLanes; ++i) to[i] = convert(from[i]);
        write(std::as_bytes(std::span(to).first(count)));
        piece = piece.subspan(count * sizeof(From));
      }
    });
  };
  return Constant::computed(dtype, source.shape(), std::make_shared<ComputedBlock>(part, stream),
                            0);
}

}  // namespace

float bfloat_to_float(uint16_t bits) { return widen(bits); }

uint16_t float_to_bfloat(float value) { return narrow(value); }

Constant widened(const Constant& bf16) {
  return converted<uint16_t, float, widen>(bf16, DType::f32);
}

Constant narrowed(const Constant& f32) {
  return converted<float, uint16_t, narrow>(f32, DType::bf16);
}

void round_to_bfloat(std::span<float> numbers) {
  for (float& number : numbers) number = widen(narrow(number));
}

}  // namespace layline
