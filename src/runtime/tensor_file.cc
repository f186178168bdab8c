#include "runtime/tensor_file.h"

#include <filesystem>

#include "base/error.h"
#include "base/npz.h"
#include "ir/npy_types.h"

namespace layline {
HostTensor as_host(NpyArray array) {
  return {dtype_of(array.type), std::move(array.shape), std::move(array.bytes)};
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
