// ONNX models: a file that is imported gives a graph that holds what graphs promise.
#include "frontend/onnx/import.h"

#include "fuzz.h"
#include "ir/verify.h"

namespace layline::fuzz {

void run(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto file = MappedFile::of_memory(bytes, "fuzz.onnx");
  const onnx::Imported model = onnx::import_model(file, {});
  verify(model.graph);
}

}  // namespace layline::fuzz
