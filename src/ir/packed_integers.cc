#include "ir/packed_integers.h"

#include <algorithm>
#include <memory>

#include "ir/computed_block.h"

namespace layline {
namespace {

class PackedRows {
 public:
  PackedRows(Constant integers, int bits)
      : integers_(std::move(integers)),
        bits_(static_cast<unsigned>(bits)),
        in_a_byte_(8 / bits_),
        lift_(integers_.dtype() == DType::i8 ? 1u << (bits_ - 1) : 0),
        columns_(static_cast<size_t>(integers_.shape().back().value())),
        rows_(columns_ == 0 ? 0 : integers_.byte_count() / columns_) {
    const Dim flat(static_cast<int64_t>(rows_));
    integers_ =
        integers_.relaid(Relayout::view(integers_.shape(), {flat, static_cast<int64_t>(columns_)}));
  }

  size_t rows() const { return rows_; }
  size_t row_bytes() const { return (columns_ + in_a_byte_ - 1) / in_a_byte_; }

  std::vector<std::byte> row(size_t index) const {
    std::vector<std::byte> bytes(row_bytes());
    write(integers_.rows(index, index + 1), bytes);
    return bytes;
  }

  void write_all(std::span<std::byte> out) const { write(integers_, out); }

 private:
  void write(const Constant& integers, std::span<std::byte> out) const {
    std::vector<std::byte> cut;  // the beginning of a row that goes on in the next piece
    const auto pack = [&](const std::byte* row) {
      pack_row(row, out.data());
      out = out.subspan(row_bytes());
    };
    integers.stream([&](std::span<const std::byte> piece) {
      while (!piece.empty()) {
        if (cut.empty() && piece.size() >= columns_) {
          pack(piece.data());
          piece = piece.subspan(columns_);
          continue;
        }
        const auto part = piece.first(std::min(piece.size(), columns_ - cut.size()));
        cut.insert(cut.end(), part.begin(), part.end());
        piece = piece.subspan(part.size());
        if (cut.size() < columns_) continue;
        pack(cut.data());
        cut.clear();
      }
    });
  }

  void pack_row(const std::byte* row, std::byte* out) const {
    const unsigned mask = (1u << bits_) - 1;
    const auto digit = [&](std::byte integer) {
      return (static_cast<unsigned>(integer) + lift_) & mask;
    };
    const size_t whole = columns_ / in_a_byte_;
    for (size_t i = 0; i < whole; ++i) {
      unsigned byte = 0;
      for (unsigned k = 0; k < in_a_byte_; ++k)
        byte |= digit(row[i * in_a_byte_ + k]) << (k * bits_);
      out[i] = static_cast<std::byte>(byte);
    }
    if (whole == row_bytes()) return;
    unsigned byte = 0;
    for (unsigned k = 0; k < in_a_byte_; ++k) {
      const size_t column = whole * in_a_byte_ + k;
      byte |= (column < columns_ ? digit(row[column]) : lift_) << (k * bits_);
    }
    out[whole] = static_cast<std::byte>(byte);
  }

  Constant integers_;
  unsigned bits_, in_a_byte_, lift_;
  size_t columns_, rows_;
};

}  // namespace

Constant packed(const Constant& integers, int bits) {
  const PackedRows rows(integers, bits);
  const size_t bytes = rows.rows() * rows.row_bytes();
  const Shape shape = {static_cast<int64_t>(rows.rows()), static_cast<int64_t>(rows.row_bytes())};
  if (bytes == 0) return Constant::owned(DType::u8, shape, {});
  ComputedBlock::Part part{0, bytes, {rows.row(0).front()}, {rows.row(rows.rows() - 1).back()}};
  auto block = std::make_shared<ComputedBlock>(
      bytes, std::vector{part}, [rows](std::span<std::byte> out) { rows.write_all(out); });
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
