#include "ir/widened.h"

#include <array>
#include <cstring>
#include <memory>

#include "ir/computed_block.h"
#include "ir/tensor.h"

namespace layline {
namespace {

void widen(std::span<const std::byte> from, std::byte* to) {
  for (size_t i = 0; i < from.size() / sizeof(uint16_t); ++i) {
    uint16_t bits;
    std::memcpy(&bits, &from[i * sizeof bits], sizeof bits);
    const float number = bfloat_to_float(bits);
    std::memcpy(to + i * sizeof number, &number, sizeof number);
  }
}

}  // namespace

Constant widened(const Constant& bf16) {
  const size_t bytes = bf16.byte_count() * 2;
  if (bytes == 0) return Constant::owned(DType::f32, bf16.shape(), {});
  // Movement keeps the first and the last element in place.
  const std::span<const std::byte> stored = bf16.stored();
  ComputedBlock::Part part{0, bytes, {}, {}};
  widen(stored.first(sizeof(uint16_t)), part.first.data());
  widen(stored.last(sizeof(uint16_t)), part.last.data());
  auto block =
      std::make_shared<ComputedBlock>(bytes, std::vector{part}, [bf16](std::span<std::byte> out) {
        std::byte* to = out.data();
        bf16.stream([&](std::span<const std::byte> piece) {
          widen(piece, to);
          to += piece.size() * 2;
        });
      });
  return Constant::computed(DType::f32, bf16.shape(), std::move(block), 0);
}

}  // namespace layline
