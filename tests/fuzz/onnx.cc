// ONNX models: a file that is imported gives a graph that holds what graphs promise.
#include "frontend/onnx/import.h"

#include <fmt/format.h>

#include "frontend/onnx/model.h"
#include "fuzz.h"
#include "ir/verify.h"

namespace layline::fuzz {
namespace {

/// Every size that the model leaves open goes from 2 to 8.
ImportOptions open_sizes(std::string_view bytes) {
  ImportOptions options;
  const onnx::Model model = onnx::read_model(bytes, "fuzz.onnx");
  for (const onnx::ValueInfo& input : model.graph.inputs)
    for (size_t axis = 0; axis < input.shape.size(); ++axis) {
      const onnx::Size& size = input.shape[axis];
      if (size.value && *size.value >= 0) continue;
      const std::string name =
          size.name.empty() ? fmt::format("{}.{}", input.name, axis) : std::string(size.name);
      options.sizes[name] = {2, 8, 2};
    }
  return options;
}

}  // namespace

void run(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto file = MappedFile::of_memory(bytes, "fuzz.onnx");
  const onnx::Imported model = onnx::import_model(file, open_sizes(as_text(bytes)));
  verify(model.graph);
}

}  // namespace layline::fuzz
