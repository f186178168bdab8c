#include "frontend/onnx/tensor.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/checked.h"
#include "base/error.h"
#include "base/parse_number.h"
#include "frontend/onnx/message.h"
#include "ir/widened.h"

namespace layline::onnx {
namespace {

namespace fs = std::filesystem;

struct Row {
  ElementType type;
  std::string_view name;
  std::optional<DType> dtype;
};

constexpr Row kTypes[] = {
    {ElementType::kUndefined, "of no type", std::nullopt},
    {ElementType::kFloat, "float", DType::f32},
    {ElementType::kUint8, "uint8", DType::u8},
    {ElementType::kInt8, "int8", DType::i8},
    {ElementType::kUint16, "uint16", DType::u16},
    {ElementType::kInt16, "int16", DType::i16},
    {ElementType::kInt32, "int32", DType::i32},
    {ElementType::kInt64, "int64", DType::i64},
    {ElementType::kString, "string", std::nullopt},
    {ElementType::kBool, "bool", DType::boolean},
    {ElementType::kFloat16, "float16", DType::f16},
    {ElementType::kDouble, "double", DType::f64},
    {ElementType::kUint32, "uint32", std::nullopt},
    {ElementType::kUint64, "uint64", std::nullopt},
    {ElementType::kBfloat16, "bfloat16", DType::bf16},
    {ElementType::kUint4, "uint4", std::nullopt},
    {ElementType::kInt4, "int4", std::nullopt},
};

const Row* row_of(ElementType type) {
  const auto* row = std::ranges::find(kTypes, type, &Row::type);
  return row == std::end(kTypes) ? nullptr : row;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// A TensorProto without its elements.
struct Header {
  std::vector<int64_t> dims;
  ElementType type = ElementType::kUndefined;
  std::optional<std::string_view> raw;
  bool external = false;
  std::string_view location;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

int64_t parse_place(std::string_view text) {
  const auto value = parse_number<int64_t>(text);
  if (!value || *value < 0) throw UserError("'{}' is no place in a file", text);
  return *value;
}

void read_external(Message entry, Header& header) {
  std::string_view key, value;
  while (entry.next()) {
    if (entry.field() == 1)
      key = entry.bytes();
    else if (entry.field() == 2)
      value = entry.bytes();
    else
      entry.skip();
  }
  if (key == "location") header.location = value;
  if (key == "offset") header.offset = parse_place(value);
  if (key == "length") header.length = parse_place(value);
}

Header read_header(const TensorMessage& tensor) {
  Header header;
  Message message(tensor.bytes);
  while (message.next()) {
    switch (message.field()) {
      case 1:
        message.integers([&](int64_t dim) { header.dims.push_back(dim); });
        break;
      case 2:
        header.type = static_cast<ElementType>(message.integer());
        break;
      case 9:
        header.raw = message.bytes();
        break;
      case 13:
        read_external(message.message(), header);
        break;
      case 14:
        header.external = message.integer() == 1;
        break;
      default:
        message.skip();
    }
  }
  return header;
}

/// The field that holds the elements of a tensor without raw data: ONNX's TensorProto says which.
int typed_field(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::f64:
      return 10;
    case DType::i64:
      return 7;
    default:
      return 5;  // int32_data, also for the bits of halves
  }
}

/// Elements as they are in memory, from a field of numbers.
std::vector<std::byte> read_typed(const TensorMessage& tensor, DType dtype, size_t byte_count) {
  std::vector<std::byte> bytes;
  bytes.reserve(std::min(byte_count, tensor.bytes.size() * 8));
  const size_t element = byte_size(dtype);
  // Little-endian: the first bytes of a wider integer are the narrower one.
  auto append = [&](auto value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), first, first + std::min(element, sizeof(value)));
  };
  const int field = typed_field(dtype);
  Message message(tensor.bytes);
  while (message.next(static_cast<uint32_t>(field))) {
    if (field == 4)
      message.floats(append);
    else if (field == 10)
      message.doubles(append);
    else
      message.integers(append);
  }
  return bytes;
}

}  // namespace

std::optional<DType> stored_dtype(ElementType type) {
  const Row* row = row_of(type);
  return row ? row->dtype : std::nullopt;
}

std::string_view name(ElementType type) {
  const Row* row = row_of(type);
  return row ? row->name : "of a type that layline does not know";
}

std::span<const std::byte> StoredTensors::external(std::string_view location, int64_t offset,
                                                   std::optional<int64_t> length,
                                                   std::shared_ptr<const void>& keep_alive) {
  auto known = files_.find(location);
  if (known == files_.end()) {
    const fs::path relative{std::string(location)};
    if (!file_->is_file())
      throw UserError("its elements are in the file '{}'; give the model as a file", location);
    if (location.empty() || relative.is_absolute())
      throw UserError("its elements are in '{}', which is no file in the model's folder", location);
    std::error_code error;
    const fs::path model = fs::absolute(file_->path(), error);
    const fs::path folder = fs::weakly_canonical(model.parent_path(), error);
    const fs::path path = fs::weakly_canonical(folder / relative, error);
    const fs::path inside = path.lexically_relative(folder);
    if (error || inside.empty() || *inside.begin() == "..")
      throw UserError("its elements are in '{}', which is outside of the model's folder", location);
    known = files_.emplace(std::string(location), MappedFile::open(path.string())).first;
  }
  const auto bytes = known->second->bytes();
  const auto begin = static_cast<uint64_t>(offset);
  const uint64_t left = begin <= bytes.size() ? bytes.size() - begin : 0;
  if (begin > bytes.size() || (length && static_cast<uint64_t>(*length) > left))
    throw UserError("'{}' has {} bytes, which is too few for it", location, bytes.size());
  keep_alive = known->second;
  return bytes.subspan(begin, length ? static_cast<uint64_t>(*length) : left);
}

Constant StoredTensors::read(const TensorMessage& tensor) {
  try {
    const Header header = read_header(tensor);
    const auto dtype = stored_dtype(header.type);
    if (!dtype) throw UserError("it is {}, which layline does not support", name(header.type));
    const auto count = checked_product(header.dims);
    const auto bytes =
        count ? checked_mul(*count, static_cast<int64_t>(byte_size(*dtype))) : std::nullopt;
    if (!bytes) throw UserError("its sizes are negative or too large");
    const auto expected = static_cast<size_t>(*bytes);
    const Shape shape(header.dims.begin(), header.dims.end());
    if (expected == 0) return Constant::owned(*dtype, shape, {});

    std::span<const std::byte> stored;
    std::shared_ptr<const void> keep_alive = file_;
    std::vector<std::byte> typed;
    if (header.external) {
      stored = external(header.location, header.offset, header.length, keep_alive);
      if (!header.length && stored.size() > expected) stored = stored.first(expected);
    } else if (header.raw) {
      stored = bytes_of(*header.raw);
    } else {
      typed = read_typed(tensor, *dtype, expected);
      stored = typed;
    }
    if (stored.size() != expected)
      throw UserError("it has {} bytes, but its shape and type take {}", stored.size(), expected);
    const bool owned = !typed.empty();
    const Constant data = owned ? Constant::owned(*dtype, shape, std::move(typed))
                                : Constant::view(*dtype, shape, stored, std::move(keep_alive));
    return *dtype == DType::bf16 ? widened(data) : data;
  } catch (const UserError& error) {
    throw UserError("{}: the stored tensor `{}`: {}", file_->path(), tensor.name, error.what());
  } catch (const protozero::exception& error) {
    throw UserError("{}: the stored tensor `{}` is damaged: {}", file_->path(), tensor.name,
                    error.what());
  }
}

}  // namespace layline::onnx
