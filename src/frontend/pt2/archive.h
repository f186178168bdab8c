// A .pt2 file: which models it holds, their JSON and their weights, all in place in the mapping.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "base/zip.h"
#include "frontend/pt2/exported_program.h"

namespace layline::pt2 {

/// A weight, constant or custom object. The storage is the whole untyped storage, little-endian,
/// perhaps shared with other payloads: apply the sizes, strides and storage_offset of `meta`.
struct Payload {
  std::string path;  ///< entry in the archive
  std::span<const std::byte> storage;
  std::optional<TensorMeta> meta;  ///< absent for custom objects
  bool use_pickle = false;         ///< the storage is a Python pickle
  bool is_param = false;
};

/// The payloads of one model by fully qualified name.
class PayloadTable {
 public:
  const Payload* find(std::string_view fqn) const;
  /// The payload as a dense strided tensor: literal sizes, strides and offset, none negative, and a
  /// storage that holds every element. UserError naming `fqn` if it is absent, pickled, sparse or a
  /// custom object.
  const Payload& tensor(std::string_view fqn) const;
  size_t size() const { return payloads_.size(); }

 private:
  friend class Pt2Archive;
  std::string file_;
  std::unordered_map<std::string_view, Payload> payloads_;
  std::shared_ptr<const void> strings_;
};

class Pt2Archive {
 public:
  /// Opens the archive. Throws UserError if the file is not a little-endian .pt2 with at least one
  /// exported program.
  explicit Pt2Archive(std::shared_ptr<const MappedFile> file);

  /// Methods, usually just "model", in the order of the archive.
  const std::vector<std::string>& models() const { return models_; }
  std::span<const std::byte> model_json(std::string_view model) const;
  ExportedProgram program(std::string_view model) const;
  /// Parameters and persistent buffers. A storage that is missing, or too small for its tensor, is
  /// a UserError here.
  PayloadTable weights(std::string_view model) const;
  /// Tensor constants, non-persistent buffers and custom objects.
  PayloadTable constants(std::string_view model) const;
  /// Spans handed out stay valid while this is held.
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  std::span<const std::byte> require(const std::string& entry) const;
  size_t bytes_after(std::span<const std::byte> entry) const;
  PayloadTable payloads(std::string_view config, std::string_view folder) const;

  std::shared_ptr<const MappedFile> file_;
  ZipArchive zip_;
  std::string root_;  ///< with the trailing slash
  std::vector<std::string> models_;
};

}  // namespace layline::pt2
