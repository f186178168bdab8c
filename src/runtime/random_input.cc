#include "runtime/random_input.h"

#include <cstring>

#include "base/checked.h"
#include "base/error.h"
#include "ir/tensor.h"

namespace layline {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

/// SplitMix64 (Steele, Lea, Flood 2014). The distributions of <random> differ between libraries,
/// and a seed must mean the same input everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// The sum of four uniform 16-bit numbers, centred and scaled to variance 1: within ±3.47.
  double bell() {
    const uint64_t bits = next();
    const int64_t sum = static_cast<int64_t>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                             (bits >> 32 & 0xffff) + (bits >> 48));
    constexpr double kDeviation = 37837.2;  // sqrt(4 (2^32 - 1) / 12)
    return static_cast<double>(sum - 2 * 65535) / kDeviation;
  }

 private:
  uint64_t state_;
};

template <typename T, typename Make>
void fill(std::vector<std::byte>& bytes, Make make) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    const T value = make();
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

void fill_random(HostTensor& tensor, Random& random) {
  const auto small = [&] { return random.next() & 3; };
  switch (tensor.dtype) {
    case DType::f32:
      return fill<float>(tensor.bytes, [&] { return static_cast<float>(random.bell()); });
    case DType::f64:
      return fill<double>(tensor.bytes, [&] { return random.bell(); });
    case DType::f16:
      return fill<uint16_t>(tensor.bytes,
                            [&] { return float_to_half(static_cast<float>(random.bell())); });
    case DType::bf16:
      return fill<uint16_t>(tensor.bytes,
                            [&] { return float_to_bfloat(static_cast<float>(random.bell())); });
    case DType::i8:
    case DType::u8:
      return fill<uint8_t>(tensor.bytes, small);
    case DType::i16:
    case DType::u16:
      return fill<uint16_t>(tensor.bytes, small);
    case DType::i32:
    case DType::i64:
      return;  // may_be_index: 0, as the bytes are
    case DType::boolean:
      return fill<uint8_t>(tensor.bytes, [&] { return random.next() & 1; });
  }
}

}  // namespace

bool may_be_index(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

std::vector<HostTensor> random_inputs(const std::vector<IoInfo>& inputs, uint64_t seed) {
  std::vector<HostTensor> tensors(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != IoKind::tensor) continue;
    tensors[i].dtype = inputs[i].dtype;
    tensors[i].shape = inputs[i].shape;
    const auto count = checked_product(inputs[i].shape);
    const auto bytes =
        count ? checked_mul<uint64_t>(*count, byte_size(inputs[i].dtype)) : std::nullopt;
    if (!bytes || *bytes > kMaxBytes) {
      throw UserError("input `{}` may be as large as {}: give one with --input {}=FILE.npy",
                      inputs[i].name, describe(inputs[i]), inputs[i].name);
    }
    tensors[i].bytes.resize(*bytes);
    Random position(seed + i);  // an input's values do not depend on the shapes before it
    Random random(position.next());
    fill_random(tensors[i], random);
  }
  return tensors;
}

}  // namespace layline
