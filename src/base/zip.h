// The zip container, as far as .pt2 and .npz use it: stored entries, read in place. Format: PKWARE
// APPNOTE 6.3.10. Sizes come from the central directory, because torch leaves them zero in the
// local headers. Checksums are not verified: that would read every weight once more.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"

namespace layline {

/// What an archive is to its user, for messages.
struct ZipFormat {
  std::string_view name;   ///< ".pt2"
  std::string_view saver;  ///< what writes such files: "torch.export.save"
};

struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> data;
};

class ZipArchive {
 public:
  /// Reads the directory. Throws UserError if the file is not a zip, is cut short, has a compressed
  /// or encrypted entry, or names an entry twice.
  ZipArchive(std::shared_ptr<const MappedFile> file, const ZipFormat& format);

  const ZipEntry* find(std::string_view name) const;
  /// The entries, in the order of the central directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  const MappedFile& file() const { return *file_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, size_t> index_;
};

}  // namespace layline
