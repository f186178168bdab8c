// Stored tensors of an ONNX model as constants of the graph.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "frontend/onnx/model.h"
#include "ir/constant.h"
#include "ir/dtype.h"

namespace layline::onnx {

/// How the graph holds such elements; nothing for types that it cannot hold.
std::optional<DType> stored_dtype(ElementType type);
/// "float16"
std::string_view name(ElementType type);

/// Reads stored tensors. Elements stay where they are, in the model's file or in the files beside
/// it that it names.
class StoredTensors {
 public:
  explicit StoredTensors(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}

  /// The tensor. Throws UserError, which names it, if it is not whole or not of a supported type.
  Constant read(const TensorMessage& tensor);

 private:
  std::span<const std::byte> external(std::string_view location, int64_t offset,
                                      std::optional<int64_t> length,
                                      std::shared_ptr<const void>& keep_alive);

  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> files_;  // by location
};

}  // namespace layline::onnx
