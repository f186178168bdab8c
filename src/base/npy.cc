#include "base/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/output_file.h"

namespace layline {
namespace {

struct TypeRow {
  NpyType type;
  std::string_view descr;
  size_t size;
};

// One row per NpyType, in its order.
constexpr std::array kTypes = {
    TypeRow{NpyType::kFloat16, "<f2", 2}, TypeRow{NpyType::kFloat32, "<f4", 4},
    TypeRow{NpyType::kFloat64, "<f8", 8}, TypeRow{NpyType::kBool, "|b1", 1},
    TypeRow{NpyType::kInt8, "|i1", 1},    TypeRow{NpyType::kUint8, "|u1", 1},
    TypeRow{NpyType::kInt16, "<i2", 2},   TypeRow{NpyType::kUint16, "<u2", 2},
    TypeRow{NpyType::kInt32, "<i4", 4},   TypeRow{NpyType::kInt64, "<i8", 8},
    TypeRow{NpyType::kRaw16, "|V2", 2},
};

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;

const TypeRow& row(NpyType type) { return kTypes[static_cast<size_t>(type)]; }

struct Header {
  std::optional<NpyType> type;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

/// The header is a Python dict literal with exactly three keys, in any order.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !header.type) {
        header.type = descr();
      } else if (key == "fortran_order" && !header.fortran_order) {
        header.fortran_order = boolean();
      } else if (key == "shape" && !header.shape) {
        header.shape = shape();
      } else {
        fail(fmt::format("unexpected key '{}'", key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail("text after the header");
    if (!header.type || !header.fortran_order || !header.shape)
      fail("descr, fortran_order and shape are required");
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw UserError("'{}': bad .npy header at column {}: {}", file_, at_ + 1, what);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("expected '{}'", c));
  }

  std::string_view quoted() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"' && !accept('"')) fail("expected a string");
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("unterminated string");
    const std::string_view result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::strlen(word);
        return value;
      }
    }
    fail("expected True or False");
  }

  NpyType descr() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[')
      fail("records are not supported; save plain numbers");
    const std::string_view code = quoted();
    for (const TypeRow& type : kTypes) {
      // '=' is this machine's order, little-endian; one-byte types have no order at all.
      if (code.size() < 2 || code.substr(1) != type.descr.substr(1)) continue;
      if (type.size == 1 || type.type == NpyType::kRaw16 || code[0] == '<' || code[0] == '=')
        return type.type;
    }
    fail(
        fmt::format("type '{}' is not supported (f2, f4, f8, b1, i1, u1, i2, u2, i4, i8, V2, "
                    "little-endian); convert it with array.astype",
                    code));
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t dim = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) fail("expected a non-negative size");
      at_ += static_cast<size_t>(end - begin);
      dims.push_back(dim);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  std::string_view text_;
  std::string_view file_;
  size_t at_ = 0;
};

/// Copies column-major `source` to row-major `target`, walking the target in order.
void to_row_major(std::span<const std::byte> source, std::span<const int64_t> shape, size_t size,
                  std::span<std::byte> target) {
  std::vector<int64_t> index(shape.size(), 0);
  std::vector<size_t> stride(shape.size());
  size_t step = size;
  for (size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= static_cast<size_t>(shape[d]);
  }
  size_t from = 0;
  for (size_t to = 0; to < target.size(); to += size) {
    std::memcpy(target.data() + to, source.data() + from, size);
    for (size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * static_cast<size_t>(shape[d]);
      index[d] = 0;
    }
  }
}

}  // namespace

std::string_view npy_descr(NpyType type) { return row(type).descr; }
size_t npy_element_size(NpyType type) { return row(type).size; }

NpyArray parse_npy(std::span<const std::byte> file, std::string_view name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) throw UserError("'{}' is not a .npy file", name);
  const auto byte_at = [&](size_t i) { return std::to_integer<size_t>(file[i]); };
  if (file.size() < 12) throw UserError("'{}' is cut short in its .npy header", name);
  const size_t version = byte_at(6);
  if (version != 1 && version != 2)
    throw UserError("'{}': .npy version {} is not supported, only 1 and 2", name, version);
  size_t length = byte_at(8) | byte_at(9) << 8;
  if (version == 2) length |= byte_at(10) << 16 | byte_at(11) << 24;
  const size_t header_start = version == 1 ? 10 : 12;
  if (length > file.size() - header_start)
    throw UserError("'{}' is cut short in its .npy header", name);
  const Header header = HeaderParser(text.substr(header_start, length), name).parse();

  NpyArray array{*header.type, *header.shape, {}};
  const size_t element = npy_element_size(array.type);
  const auto count = checked_product(array.shape);
  const auto size =
      count ? checked_mul(static_cast<uint64_t>(*count), uint64_t{element}) : std::nullopt;
  const auto data = file.subspan(header_start + length);
  if (!size || *size != data.size())
    throw UserError("'{}' holds {} bytes of data, but its shape ({}) of {} needs {}", name,
                    data.size(), fmt::join(array.shape, ", "), npy_descr(array.type),
                    size ? std::to_string(*size) : "more than fit in memory");
  if (*header.fortran_order && array.shape.size() > 1) {
    array.bytes.resize(data.size());
    to_row_major(data, array.shape, element, array.bytes);
  } else {
    array.bytes.assign(data.begin(), data.end());
  }
  return array;
}

NpyArray read_npy(const std::string& path) {
  return parse_npy(MappedFile::open(path)->bytes(), path);
}

void write_npy(const std::string& path, NpyType type, std::span<const int64_t> shape,
               std::span<const std::byte> bytes) {
  const auto count = checked_product(shape);
  LAYLINE_ASSERT(count && static_cast<uint64_t>(*count) * npy_element_size(type) == bytes.size(),
                 "{} bytes for shape ({})", bytes.size(), fmt::join(shape, ", "));
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", npy_descr(type),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // The data starts at a multiple of 64: spaces, then the newline that ends every header.
  const size_t start = kMagic.size() + 4;
  header.resize((start + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - start - 1,
                ' ');
  header += '\n';
  LAYLINE_ASSERT(header.size() <= 0xffff, "rank {} is beyond .npy version 1", shape.size());

  OutputFile file(path);
  file.write(kMagic);
  const auto length = static_cast<unsigned>(header.size());
  const std::array<char, 4> version = {1, 0, static_cast<char>(length & 0xff),
                                       static_cast<char>(length >> 8)};
  file.write(std::string_view(version.data(), version.size()));
  file.write(header);
  file.write(bytes);
  file.commit();
}

}  // namespace layline
