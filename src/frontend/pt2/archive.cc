#include "frontend/pt2/archive.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "frontend/pt2/json_cursor.h"
#include "frontend/pt2/schema_reader.h"

namespace layline::pt2 {
namespace {

constexpr ZipFormat kFormat = {".pt2", "torch.export.save"};

std::string_view text_of(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

/// Checks that sizes, strides and offset are literal and that the last element of the tensor lies
/// in the storage: offset + sum of (size - 1) * stride, plus one, elements.
void check_extent(const Payload& payload, const JsonCursor& json) {
  const TensorMeta& meta = *payload.meta;
  const auto literal = [&](const SymInt& value, std::string_view what) {
    if (!value.is_literal()) json.fail(fmt::format("a stored tensor has a symbolic {}", what));
    if (*value.value < 0) json.fail(fmt::format("negative {} {}", what, *value.value));
    return *value.value;
  };
  std::optional<int64_t> last = literal(meta.storage_offset, "storage_offset");
  bool empty = false;
  for (size_t d = 0; d < meta.sizes.size(); ++d) {
    const int64_t size = literal(meta.sizes[d], "size");
    const int64_t stride = literal(meta.strides[d], "stride");
    if (size == 0) empty = true;
    const auto reach = checked_mul(std::max<int64_t>(size - 1, 0), stride);
    last = last && reach ? checked_add(*last, *reach) : std::nullopt;
  }
  if (empty) return;
  const auto elements = last ? checked_add<int64_t>(*last, 1) : std::nullopt;
  const auto needed = elements ? checked_mul(*elements, element_size(meta.dtype)) : std::nullopt;
  if (!needed || static_cast<uint64_t>(*needed) > payload.storage.size())
    json.fail(
        fmt::format("'{}' holds {} bytes, but the tensor reaches to byte {}; the file is "
                    "damaged, save it again with torch.export.save",
                    payload.path, payload.storage.size(),
                    needed ? std::to_string(*needed) : "2^63 and beyond"));
}

}  // namespace

const Payload* PayloadTable::find(std::string_view fqn) const {
  const auto it = payloads_.find(fqn);
  return it == payloads_.end() ? nullptr : &it->second;
}

const Payload& PayloadTable::tensor(std::string_view fqn) const {
  const Payload* payload = find(fqn);
  if (payload == nullptr) throw UserError("{}: no data for '{}'", file_, fqn);
  if (!payload->meta) throw UserError("{}: '{}' is a custom object, not a tensor", file_, fqn);
  if (payload->use_pickle)
    throw UserError(
        "{}: '{}' is a pickled tensor subclass; call unwrap_tensor_subclass(model) "
        "before export, or save exported_program.run_decompositions({{}})",
        file_, fqn);
  if (payload->meta->layout != Layout::kStrided)
    throw UserError("{}: '{}' is a sparse tensor; make it dense with to_dense() before export",
                    file_, fqn);
  return *payload;
}

Pt2Archive::Pt2Archive(std::shared_ptr<const MappedFile> file)
    : file_(std::move(file)), zip_(file_, kFormat) {
  const std::string& path = file_->path();
  if (zip_.entries().empty()) throw UserError("'{}' is an empty archive", path);
  const std::string_view first = zip_.entries().front().name;
  root_ = first.substr(0, first.find('/') + 1);

  if (zip_.find(root_ + "archive_format") == nullptr) {
    const bool pickled = zip_.find(root_ + "data.pkl") != nullptr;
    throw UserError("'{}' is {}; export the model and save it with torch.export.save of torch 2.13",
                    path,
                    pickled ? "a torch.save checkpoint or TorchScript, which has no exported graph"
                            : "not a .pt2 archive of a supported version (no archive_format)");
  }
  const std::string_view format = text_of(require("archive_format"));
  if (format != "pt2") throw UserError("'{}' is a '{}' archive, not pt2", path, format);
  const std::string_view order = text_of(require("byteorder"));
  if (order != "little")
    throw UserError("'{}' is {}-endian; export it on a little-endian machine", path, order);

  const std::string prefix = root_ + "models/";
  constexpr std::string_view kSuffix = ".json";
  for (const ZipEntry& entry : zip_.entries()) {
    if (!entry.name.starts_with(prefix) || !entry.name.ends_with(kSuffix)) continue;
    if (entry.name.size() <= prefix.size() + kSuffix.size()) continue;
    models_.emplace_back(
        entry.name.substr(prefix.size(), entry.name.size() - prefix.size() - kSuffix.size()));
  }
  if (models_.empty())
    throw UserError("'{}' holds no exported program; save one with torch.export.save", path);
}

std::span<const std::byte> Pt2Archive::require(const std::string& entry) const {
  const ZipEntry* found = zip_.find(root_ + entry);
  if (found == nullptr) throw UserError("'{}' has no entry '{}'", file_->path(), root_ + entry);
  return found->data;
}

size_t Pt2Archive::bytes_after(std::span<const std::byte> entry) const {
  const auto file = file_->bytes();
  return static_cast<size_t>(file.data() + file.size() - (entry.data() + entry.size()));
}

std::span<const std::byte> Pt2Archive::model_json(std::string_view model) const {
  return require(fmt::format("models/{}.json", model));
}

ExportedProgram Pt2Archive::program(std::string_view model) const {
  const auto json = model_json(model);
  return parse_exported_program(json, fmt::format("{}: models/{}.json", file_->path(), model),
                                bytes_after(json));
}

PayloadTable Pt2Archive::weights(std::string_view model) const {
  return payloads(fmt::format("data/weights/{}_weights_config.json", model), "data/weights/");
}

PayloadTable Pt2Archive::constants(std::string_view model) const {
  return payloads(fmt::format("data/constants/{}_constants_config.json", model), "data/constants/");
}

PayloadTable Pt2Archive::payloads(std::string_view config, std::string_view folder) const {
  PayloadTable table;
  table.file_ = fmt::format("{}: {}", file_->path(), config);
  const auto json_text = require(std::string(config));
  JsonDocument document(json_text, table.file_, bytes_after(json_text));
  const JsonCursor root(document);
  SchemaReader reader;
  const JsonCursor entries = root.key("config");
  entries.each_member([&](std::string_view fqn, const JsonCursor& json) {
    Payload payload;
    payload.path = fmt::format("{}{}", folder, json.key("path_name").string());
    payload.use_pickle = json.key("use_pickle").boolean();
    payload.is_param = json.key("is_param").boolean();
    if (const auto meta = json.optional_key("tensor_meta"))
      payload.meta = reader.tensor_meta(*meta);
    const ZipEntry* storage = zip_.find(root_ + payload.path);
    if (storage == nullptr)
      json.fail(
          fmt::format("its data '{}' is not in the archive; save it again with "
                      "torch.export.save",
                      payload.path));
    payload.storage = storage->data;
    if (payload.meta && !payload.use_pickle && payload.meta->layout == Layout::kStrided)
      check_extent(payload, json);
    if (!table.payloads_.emplace(fqn, std::move(payload)).second) json.fail("it occurs twice");
  });
  table.strings_ = document.release_strings();
  return table;
}

}  // namespace layline::pt2
