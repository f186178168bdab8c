#include "ir/packed_integers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>

#include "ir/computed_block.h"

namespace layline {
namespace {

static_assert(std::endian::native == std::endian::little, "integers are read as words");

/// Packs integers to `count` bytes. Those that share a byte are a word of `in`, each in a byte of
/// its own. Adding half of the range flips the highest bit that an integer keeps.
template <typename Word, unsigned bits>
void pack(const std::byte* in, bool is_signed, std::byte* out, size_t count) {
  constexpr Word kEach = std::numeric_limits<Word>::max() / 0xff;  // 1 in every byte
  const Word lift = is_signed ? kEach << (bits - 1) : 0;
  const auto byte = [&](Word word) {
    word = static_cast<Word>((word ^ lift) & (kEach * ((1u << bits) - 1)));
    Word digits = word;
    for (unsigned k = 1; k < sizeof(Word); ++k)
      digits = static_cast<Word>(digits | word >> (k * (8 - bits)));
    return static_cast<std::byte>(digits);
  };
  // A fixed number of lanes is what makes the compiler use vectors.
  constexpr size_t kLanes = 32;
  std::array<Word, kLanes> words{};
  std::array<std::byte, kLanes> packed;
  const auto pack_some = [&](size_t some) {
    std::memcpy(words.data(), in, some * sizeof(Word));
    for (size_t i = 0; i < kLanes; ++i) packed[i] = byte(words[i]);
    std::memcpy(out, packed.data(), some);
    in += some * sizeof(Word);
    out += some;
  };
  for (; count >= kLanes; count -= kLanes) pack_some(kLanes);
  pack_some(count);
}

class PackedRows {
 public:
  PackedRows(Constant integers, int bits)
      : integers_(std::move(integers)),
        bits_(bits),
        in_a_byte_(static_cast<size_t>(Packing{bits}.in_a_byte())),
        is_signed_(integers_.dtype() == DType::i8),
        columns_(static_cast<size_t>(integers_.shape().back().value())),
        rows_(columns_ == 0 ? 0 : integers_.byte_count() / columns_) {
    const Dim flat(static_cast<int64_t>(rows_));
    integers_ =
        integers_.relaid(Relayout::view(integers_.shape(), {flat, static_cast<int64_t>(columns_)}));
  }

  size_t rows() const { return rows_; }
  size_t row_bytes() const { return (columns_ + in_a_byte_ - 1) / in_a_byte_; }

  std::vector<std::byte> row(size_t index) const {
    std::vector<std::byte> bytes;
    pack_row(integers_.rows(index, index + 1).bytes().data(), bytes);
    return bytes;
  }

  /// Gives all rows to `write`, a piece at a time.
  void stream(const ComputedBlock::Write& write) const {
    std::vector<std::byte> packed;
    std::vector<std::byte> cut;  // the beginning of a row that goes on in the next piece
    const auto add = [&](const std::byte* row) {
      pack_row(row, packed);
      if (packed.size() < kPieceBytes) return;
      write(packed);
      packed.clear();
    };
    integers_.stream([&](std::span<const std::byte> piece) {
      while (!piece.empty()) {
        if (cut.empty() && piece.size() >= columns_) {
          add(piece.data());
          piece = piece.subspan(columns_);
          continue;
        }
        const auto part = piece.first(std::min(piece.size(), columns_ - cut.size()));
        cut.insert(cut.end(), part.begin(), part.end());
        piece = piece.subspan(part.size());
        if (cut.size() < columns_) continue;
        add(cut.data());
        cut.clear();
      }
    });
    if (!packed.empty()) write(packed);
  }

 private:
  // A piece stays in the second-level cache until it is copied.
  static constexpr size_t kPieceBytes = size_t{1} << 16;

  /// Adds a row to `packed`. What fills up its last byte is 0, which is lifted as the others are.
  void pack_row(const std::byte* row, std::vector<std::byte>& packed) const {
    const size_t whole = columns_ / in_a_byte_, begin = packed.size();
    packed.resize(begin + row_bytes());
    pack(row, &packed[begin], whole);
    if (whole == row_bytes()) return;
    std::array<std::byte, 4> last{};
    std::copy(row + whole * in_a_byte_, row + columns_, last.begin());
    pack(last.data(), &packed.back(), 1);
  }

  void pack(const std::byte* in, std::byte* out, size_t count) const {
    bits_ == 4 ? layline::pack<uint16_t, 4>(in, is_signed_, out, count)
               : layline::pack<uint32_t, 2>(in, is_signed_, out, count);
  }

  Constant integers_;
  int bits_;
  size_t in_a_byte_;
  bool is_signed_;
  size_t columns_, rows_;
};

}  // namespace

Constant packed(const Constant& integers, int bits) {
  const PackedRows rows(integers, bits);
  const size_t bytes = rows.rows() * rows.row_bytes();
  const Shape shape = {static_cast<int64_t>(rows.rows()), static_cast<int64_t>(rows.row_bytes())};
  if (bytes == 0) return Constant::owned(DType::u8, shape, {});
  const ComputedBlock::Part part{
      0, bytes, {rows.row(0).front()}, {rows.row(rows.rows() - 1).back()}};
  auto block = std::make_shared<ComputedBlock>(
      part, [rows](const ComputedBlock::Write& write) { rows.stream(write); });
  return Constant::computed(DType::u8, shape, std::move(block), 0);
}

Constant unpacked(const Constant& bytes, int bits, int64_t columns) {
  const int64_t rows = bytes.shape()[0].value(), row_bytes = bytes.shape()[1].value();
  const Shape shape = {rows, columns};
  const auto count = static_cast<size_t>(rows * columns);
  if (count == 0) return Constant::owned(DType::i8, shape, {});
  const auto integer = [bits](const std::byte* row, int64_t column) {
    const int64_t first_bit = column * bits;
    const unsigned digit = (static_cast<unsigned>(row[first_bit / 8]) >> (first_bit % 8)) &
                           ((1u << static_cast<unsigned>(bits)) - 1);
    return static_cast<std::byte>(digit - (1u << static_cast<unsigned>(bits - 1)));
  };
  const auto compute = [=](std::span<std::byte> out) {
    const std::vector<std::byte> all = bytes.bytes();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        out[static_cast<size_t>(i * columns + j)] = integer(all.data() + i * row_bytes, j);
  };
  const std::vector<std::byte> first = bytes.rows(0, 1).bytes();
  const std::vector<std::byte> last =
      bytes.rows(static_cast<size_t>(rows - 1), static_cast<size_t>(rows)).bytes();
  const ComputedBlock::Part part{
      0, count, {integer(first.data(), 0)}, {integer(last.data(), columns - 1)}};
  auto block = std::make_shared<ComputedBlock>(count, std::vector{part}, compute);
  return Constant::computed(DType::i8, shape, std::move(block), 0);
}

Value* unpacked(const Builder& build, Value* bytes, const Packing& packing) {
  const double base = 1 << packing.bits;
  const auto number = [&](double value) { return build.scalar(DType::f32, value); };
  Shape one = bytes->shape(), all = bytes->shape();
  one.push_back(1);
  all.back() = all.back() * Dim(packing.in_a_byte());
  // The lowest digit is what remains of a division by the base; all numbers are exact in f32.
  std::vector<Value*> digits;
  Value* rest = bytes;
  for (int i = 1; i < packing.in_a_byte(); ++i) {
    Value* higher = build.add(Op::floor, {build.add(Op::mul, {rest, number(1 / base)})});
    digits.push_back(build.add(Op::sub, {rest, build.add(Op::mul, {higher, number(base)})}));
    rest = higher;
  }
  if (digits.empty()) return bytes;
  digits.push_back(rest);
  if (!packing.low_first) std::ranges::reverse(digits);
  for (Value*& digit : digits) digit = build.view(digit, one);
  const auto axis = static_cast<int64_t>(one.size()) - 1;
  return build.view(build.concat(std::move(digits), axis), all);
}

}  // namespace layline
