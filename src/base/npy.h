// NumPy's .npy format, versions 1 and 2, little-endian:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace layline {

/// NumPy has no bfloat16: such tensors are stored as kRaw16 (`|V2`, two opaque bytes an element),
/// as the ml_dtypes package does; read one back with `array.view(ml_dtypes.bfloat16)`.
enum class NpyType {
  kFloat16,
  kFloat32,
  kFloat64,
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kInt64,
  kRaw16
};

/// The type's code in the header, such as `<f4`.
std::string_view npy_descr(NpyType type);
size_t npy_element_size(NpyType type);

struct NpyArray {
  NpyType type = NpyType::kFloat32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  ///< row-major, whatever order the file had
};

/// Reads an array. `name` stands for the file in messages. Throws UserError if the bytes are not
/// such an array.
NpyArray parse_npy(std::span<const std::byte> file, std::string_view name);
NpyArray read_npy(const std::string& path);

/// Writes version 1, row-major. `bytes` must hold exactly the elements of `shape`.
void write_npy(const std::string& path, NpyType type, std::span<const int64_t> shape,
               std::span<const std::byte> bytes);

}  // namespace layline
