#include "ir/text_constant.h"

#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "ir/tensor.h"

namespace layline {
namespace {

using Bytes = std::span<const std::byte>;

// Up to so many elements are written as numbers.
constexpr int64_t kMaxNumbers = 16;
// A few characters of text must not ask for more memory than this.
constexpr size_t kMaxSplatBytes = size_t{256} << 20;

std::string hex_text(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "0x";
  text.reserve(2 + 2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<size_t>(byte >> 4)];
    text += kDigits[static_cast<size_t>(byte & std::byte{15})];
  }
  return text;
}

std::string element_text(const Tensor& tensor, int64_t i) {
  if (!is_float(tensor.dtype())) return fmt::format("{}", tensor.get_int(i));
  if (tensor.dtype() == DType::f64) return fmt::format("{}", tensor.get(i));
  return fmt::format("{}", static_cast<float>(tensor.get(i)));
}

void parse_element(Scanner& in, Tensor& tensor, int64_t i) {
  if (is_float(tensor.dtype())) return tensor.set(i, in.number("a number"));
  const size_t position = in.next();
  const int64_t value = in.integer("an integer");
  tensor.set_int(i, value);
  if (tensor.get_int(i) != value)
    in.fail(position, fmt::format("{} is no {}", value, name(tensor.dtype())));
}

/// The elements as decimal numbers, unless that loses a bit (a NaN's payload, a bool that is
/// neither 0 nor 1).
std::optional<std::string> numbers_text(DType dtype, Bytes bytes) {
  const auto count = static_cast<int64_t>(bytes.size() / byte_size(dtype));
  const Tensor tensor({dtype, {count}}, {bytes.begin(), bytes.end()});
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + element_text(tensor, i);
  Tensor read({dtype, {count}});
  Scanner in(text, "");
  for (int64_t i = 0; i < count; ++i) {
    parse_element(in, read, i);
    in.accept(",");
  }
  if (std::memcmp(read.bytes().data(), bytes.data(), bytes.size()) != 0) return std::nullopt;
  return text;
}

bool all_elements_equal(DType dtype, Bytes bytes) {
  const size_t element = byte_size(dtype);
  return std::memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) == 0;
}

std::string data_text(DType dtype, Bytes bytes, const PrintOptions& options) {
  const size_t element = byte_size(dtype);
  const size_t count = bytes.size() / element;
  if (count == 0) return "()";
  if (count > 1 && bytes.size() <= kMaxSplatBytes && all_elements_equal(dtype, bytes)) {
    const Bytes first = bytes.first(element);
    return "splat " + numbers_text(dtype, first).value_or(hex_text(first));
  }
  if (count <= kMaxNumbers) {
    const auto numbers = numbers_text(dtype, bytes);
    return numbers ? fmt::format("({})", *numbers) : hex_text(bytes);
  }
  if (options.elide_constants) return fmt::format("<elided {} bytes>", bytes.size());
  return hex_text(bytes);
}

int hex_value(char digit) { return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10; }

/// Reads the hex digits after the 0x.
std::vector<std::byte> parse_hex(Scanner& in, size_t size) {
  const size_t position = in.next();
  const std::string_view digits = in.hex_digits();
  if (digits.size() % 2 != 0 || digits.size() / 2 != size)
    in.fail(position,
            fmt::format("expected {} bytes of hex data, found {} digits", size, digits.size()));
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(hex_value(digits[2 * i]) << 4 | hex_value(digits[2 * i + 1]));
  return bytes;
}

std::vector<std::byte> parse_numbers(Scanner& in, const TensorType& type, int64_t count) {
  // Each element takes a character: checked first, so that memory is bounded by the text.
  if (static_cast<uint64_t>(count) > in.characters_left())
    in.fail(in.next(), fmt::format("fewer than {} numbers for {}", count, to_string(type)));
  Tensor tensor(type);
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) in.expect(",");
    parse_element(in, tensor, i);
  }
  in.expect(")");
  return {tensor.bytes().begin(), tensor.bytes().end()};
}

std::vector<std::byte> parse_splat(Scanner& in, const TensorType& type, size_t size) {
  if (size > kMaxSplatBytes)
    in.fail(in.next(), fmt::format("a splat of {} bytes; give the data in hex", size));
  const size_t element = byte_size(type.dtype);
  std::vector<std::byte> value;
  if (in.accept("0x")) {
    value = parse_hex(in, element);
  } else {
    Tensor one({type.dtype, {}});
    parse_element(in, one, 0);
    value.assign(one.bytes().begin(), one.bytes().end());
  }
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; i += element) std::memcpy(&bytes[i], value.data(), element);
  return bytes;
}

std::vector<std::byte> parse_data(Scanner& in, const TensorType& type) {
  const size_t position = in.next();
  if (!is_static(type.shape)) in.fail(position, "the shape of a constant is static");
  const size_t size = in.at(position, [&] { return byte_count(type); });
  const auto count = static_cast<int64_t>(size / byte_size(type.dtype));
  if (in.accept("(")) return parse_numbers(in, type, count);
  if (in.accept_word("splat")) return parse_splat(in, type, size);
  if (in.accept("0x")) return parse_hex(in, size);
  if (in.accept("<"))
    in.fail(position, "the data was elided when this text was printed: it cannot be read back");
  in.fail_expected("data: (numbers), splat or 0x...");
}

/// One factor for each place along `axis`.
std::vector<float> parse_factors(Scanner& in, size_t position, const TensorType& type,
                                 std::string_view what, int64_t axis) {
  if (type.dtype != DType::f32 || type.shape.empty())
    in.fail(position, fmt::format("{} has no {} to scale", to_string(type), what));
  const auto bytes = parse_data(in, {DType::f32, {type.shape[static_cast<size_t>(axis)]}});
  std::vector<float> factors(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(factors.data(), bytes.data(), bytes.size());
  return factors;
}

}  // namespace

std::string constant_text(const Constant& constant, const PrintOptions& options) {
  const Relayout& pending = constant.pending();
  std::string text = to_string(TensorType{constant.dtype(), pending.source()}) + ' ' +
                     data_text(constant.dtype(), constant.loaded().stored(), options);
  if (!constant.row_factors().empty())
    text += " scaled " + data_text(DType::f32, std::as_bytes(constant.row_factors()), options);
  if (!constant.column_factors().empty())
    text += " columns " + data_text(DType::f32, std::as_bytes(constant.column_factors()), options);
  if (!pending.is_identity()) text += " then " + to_string(pending);
  return text;
}

TensorType parse_type(Scanner& in) {
  const size_t position = in.next();
  const std::string_view word = in.word("a type such as f32[1,3]");
  const auto dtype = parse_dtype(word);
  if (!dtype) in.fail(position, fmt::format("no element type is called '{}'", word));
  const size_t shape_position = in.next();
  const std::string_view shape = in.bracketed("a shape such as [1,3]");
  return {*dtype, in.at(shape_position, [&] { return parse_shape(shape); })};
}

Constant parse_constant(Scanner& in) {
  const TensorType type = parse_type(in);
  Constant constant = Constant::owned(type.dtype, type.shape, parse_data(in, type));
  if (const size_t position = in.next(); in.accept_word("scaled"))
    constant = constant.scaled_rows(parse_factors(in, position, type, "rows", 0));
  if (const size_t position = in.next(); in.accept_word("columns"))
    constant = constant.scaled_columns(
        parse_factors(in, position, type, "columns", type.shape.empty() ? 0 : type.rank() - 1));
  if (in.accept_word("then")) {
    const size_t position = in.next();
    const std::string_view text = in.list_item("a relayout");
    const Relayout pending = in.at(position, [&] { return parse_relayout(text); });
    if (pending.source() != type.shape)
      in.fail(position, fmt::format("the relayout takes {} but the data is {}",
                                    to_string(pending.source()), to_string(type)));
    constant = constant.relaid(pending);
  }
  return constant;
}

namespace {

template <typename Number>
std::string table_text(DType dtype, const std::vector<int64_t>& dims,
                       const std::vector<Number>& table, const PrintOptions& options) {
  const Bytes bytes = std::as_bytes(std::span(table));
  return constant_text(
      Constant::owned(dtype, {dims.begin(), dims.end()}, {bytes.begin(), bytes.end()}), options);
}

template <typename Number>
std::vector<Number> parse_table(Scanner& in, DType dtype, std::vector<int64_t>& dims) {
  const size_t position = in.next();
  const Constant table = parse_constant(in);
  if (table.dtype() != dtype) in.fail(position, fmt::format("expected a table of {}", name(dtype)));
  dims = static_dims(table.shape());
  const std::vector<std::byte> bytes = table.bytes();
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

}  // namespace

std::string quantisation_text(const Quantisation& quantisation, const PrintOptions& options) {
  std::string text = fmt::format(
      "{} in [{},{}] scale {}", name(quantisation.dtype), quantisation.min, quantisation.max,
      table_text(DType::f32, quantisation.dims, quantisation.scales, options));
  if (!quantisation.zero_points.empty())
    text += " zero " + table_text(DType::i32, quantisation.dims, quantisation.zero_points, options);
  return text;
}

Quantisation parse_quantisation(Scanner& in) {
  Quantisation result;
  const size_t position = in.next();
  const std::string_view word = in.word("an element type");
  const auto dtype = parse_dtype(word);
  if (!dtype) in.fail(position, fmt::format("no element type is called '{}'", word));
  result.dtype = *dtype;
  in.expect_word("in");
  in.expect("[");
  result.min = in.integer("the least integer");
  in.expect(",");
  result.max = in.integer("the greatest integer");
  in.expect("]");
  in.expect_word("scale");
  result.scales = parse_table<float>(in, DType::f32, result.dims);
  if (in.accept_word("zero")) {
    std::vector<int64_t> dims;
    const size_t zero_position = in.next();
    result.zero_points = parse_table<int32_t>(in, DType::i32, dims);
    if (dims != result.dims) in.fail(zero_position, "expected as many zero points as scales");
  }
  return result;
}

}  // namespace layline
