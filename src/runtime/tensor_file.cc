#include "runtime/tensor_file.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/npz.h"

namespace layline {
namespace {

struct NpyRow {
  DType dtype;
  NpyType npy;
};

constexpr std::array kNpyTypes = {
    NpyRow{DType::f32, NpyType::kFloat32},  NpyRow{DType::f16, NpyType::kFloat16},
    NpyRow{DType::bf16, NpyType::kRaw16},   NpyRow{DType::f64, NpyType::kFloat64},
    NpyRow{DType::i8, NpyType::kInt8},      NpyRow{DType::i16, NpyType::kInt16},
    NpyRow{DType::i32, NpyType::kInt32},    NpyRow{DType::i64, NpyType::kInt64},
    NpyRow{DType::u8, NpyType::kUint8},     NpyRow{DType::u16, NpyType::kUint16},
    NpyRow{DType::boolean, NpyType::kBool},
};
static_assert(kNpyTypes.size() == kDTypeCount);

}  // namespace

NpyType npy_type(DType dtype) { return std::ranges::find(kNpyTypes, dtype, &NpyRow::dtype)->npy; }

HostTensor as_host(NpyArray array) {
  const auto* row = std::ranges::find(kNpyTypes, array.type, &NpyRow::npy);
  LAYLINE_ASSERT(row != kNpyTypes.end(), "no dtype for {}", npy_descr(array.type));
  return {row->dtype, std::move(array.shape), std::move(array.bytes)};
}

HostTensor read_tensor(const std::string& path) { return as_host(read_npy(path)); }

std::map<std::string, HostTensor> read_tensors(const std::string& path) {
  namespace fs = std::filesystem;
  std::map<std::string, HostTensor> tensors;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (const auto& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".npy")
        tensors.emplace(entry.path().stem().string(), read_tensor(entry.path().string()));
    if (error) throw UserError("cannot read directory '{}': {}", path, error.message());
  } else {
    const NpzArchive archive(path);
    for (const std::string_view name : archive.names())
      tensors.emplace(name, as_host(archive.read(name)));
  }
  if (tensors.empty()) throw UserError("'{}' holds no NAME.npy", path);
  return tensors;
}

}  // namespace layline
