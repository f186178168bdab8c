// model.json of a .pt2: read, then imported with zeros for every weight that it mentions.
#include <fmt/format.h>

#include <cstring>

#include "../zip_writer.h"
#include "base/checked.h"
#include "frontend/pt2/exported_program.h"
#include "frontend/pt2/import.h"
#include "fuzz.h"
#include "ir/verify.h"

namespace layline::fuzz {
namespace {

constexpr int64_t kLargestWeight = 1 << 16;

/// Names go into JSON as they are.
bool is_plain(std::string_view name) {
  for (const char c : name)
    if (c < ' ' || c == '"' || c == '\\') return false;
  return true;
}

std::string numbers(const std::vector<pt2::SymInt>& sizes) {
  std::string text;
  for (const pt2::SymInt& size : sizes)
    text += fmt::format(R"({}{{"as_int":{}}})", text.empty() ? "" : ",", *size.value);
  return text;
}

class Weights {
 public:
  explicit Weights(const pt2::ExportedProgram& program) {
    for (const pt2::InputSpec& input : program.inputs) {
      const auto found = program.graph.tensor_values.find(input.name);
      if (input.fqn.empty() || found == program.graph.tensor_values.end()) continue;
      const bool constant = input.kind == pt2::InputKind::kTensorConstant ||
                            (input.kind == pt2::InputKind::kBuffer && !input.persistent);
      add(input.fqn, found->second, constant ? constants_ : weights_);
    }
  }

  void write(ZipWriter& zip) const {
    zip.add("r/data/weights/model_weights_config.json",
            fmt::format(R"({{"config":{{{}}}}})", weights_));
    zip.add("r/data/constants/model_constants_config.json",
            fmt::format(R"({{"config":{{{}}}}})", constants_));
    zip.add("r/data/weights/zeros", zeros_);
    zip.add("r/data/constants/zeros", zeros_);
  }

 private:
  void add(std::string_view fqn, const pt2::TensorMeta& meta, std::string& config) {
    int64_t bytes = pt2::element_size(meta.dtype);
    for (const pt2::SymInt& size : meta.sizes) {
      const auto product = size.value ? checked_mul(bytes, *size.value) : std::nullopt;
      if (!product || *product < 0 || *product > kLargestWeight) return;
      bytes = *product;
    }
    for (const pt2::SymInt& stride : meta.strides)
      if (!stride.value) return;
    if (!is_plain(fqn)) return;
    config += fmt::format(
        R"({}"{}":{{"path_name":"zeros","is_param":true,"use_pickle":false,"tensor_meta":{{)"
        R"("dtype":{},"sizes":[{}],"strides":[{}],"requires_grad":false,)"
        R"("device":{{"type":"cpu","index":null}},"storage_offset":{{"as_int":0}},"layout":7}}}})",
        config.empty() ? "" : ",", fqn, static_cast<int>(meta.dtype), numbers(meta.sizes),
        numbers(meta.strides));
  }

  std::string weights_, constants_;
  const std::string zeros_ = std::string(kLargestWeight, '\0');
};

}  // namespace

void run(std::span<const std::byte> bytes) {
  const pt2::ExportedProgram program = pt2::parse_exported_program(bytes, "model.json");
  ZipWriter zip;
  zip.add("r/archive_format", "pt2").add("r/byteorder", "little");
  zip.add("r/models/model.json", std::string(as_text(bytes)));
  Weights(program).write(zip);
  const TemporaryFile file(zip.finish());
  for (const pt2::ImportedMethod& method : pt2::import_archive(MappedFile::open(file.path())))
    verify(method.graph);
}

}  // namespace layline::fuzz
