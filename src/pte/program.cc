#include "pte/program.h"

#include <memory>

#include "base/error.h"

namespace layline::pte {

uint64_t size_of(ScalarType type) {
  switch (type) {
    case ScalarType::kUInt8:
    case ScalarType::kInt8:
    case ScalarType::kBool:
      return 1;
    case ScalarType::kInt16:
    case ScalarType::kUInt16:
    case ScalarType::kFloat16:
    case ScalarType::kBFloat16:
      return 2;
    case ScalarType::kInt32:
    case ScalarType::kUInt32:
    case ScalarType::kFloat32:
      return 4;
    case ScalarType::kInt64:
    case ScalarType::kUInt64:
    case ScalarType::kFloat64:
      return 8;
  }
  throw InternalError("unknown scalar type");
}

DataSource DataSource::view(std::span<const std::byte> bytes) {
  return {bytes.size(), [bytes](ByteSink& sink) { sink.write(bytes); }};
}

DataSource DataSource::owned(std::vector<std::byte> bytes) {
  // Shared, because a std::function copies what it holds.
  auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {shared->size(), [shared](ByteSink& sink) { sink.write(*shared); }};
}

}  // namespace layline::pte
