#include "base/zip.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace layline {
namespace {

// APPNOTE 6.3.10: 4.3.16 end record, 4.3.15 and 4.3.14 its zip64 locator and record, 4.3.12
// directory header, 4.3.7 local header.
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kLocatorSignature = 0x07064b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kHeaderSignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr size_t kEndSize = 22;
constexpr size_t kLocatorSize = 20;
constexpr size_t kEnd64Size = 56;
constexpr size_t kHeaderSize = 46;
constexpr size_t kLocalSize = 30;
constexpr size_t kLargestComment = 0xffff;
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint32_t kSeeZip64 = 0xffffffff;

/// Bounds-checked little-endian reads of the file.
class Bytes {
 public:
  Bytes(const MappedFile& file, const ZipFormat& format)
      : bytes_(file.bytes()), path_(file.path()), format_(format) {}

  size_t size() const { return bytes_.size(); }

  std::span<const std::byte> slice(uint64_t offset, uint64_t size) const {
    const auto end = checked_add(offset, size);
    if (!end || *end > bytes_.size()) fail("a record lies outside the file");
    return bytes_.subspan(offset, size);
  }

  template <typename T>
  T read(uint64_t offset) const {
    T value{};
    std::memcpy(&value, slice(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw UserError("'{}' is a damaged or truncated {} (zip) archive: {}; save it again with {}",
                    path_, format_.name, what, format_.saver);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& path_;
  const ZipFormat& format_;
};

struct Directory {
  uint64_t entries;
  uint64_t size;
  uint64_t offset;
};

/// The end record closes the file, followed only by a comment whose length it states.
std::optional<uint64_t> find_end(const Bytes& bytes) {
  if (bytes.size() < kEndSize) return std::nullopt;
  const uint64_t last = bytes.size() - kEndSize;
  const uint64_t first = last - std::min<uint64_t>(last, kLargestComment);
  for (uint64_t at = last + 1; at-- > first;) {
    if (bytes.read<uint32_t>(at) == kEndSignature && bytes.read<uint16_t>(at + 20) == last - at)
      return at;
  }
  return std::nullopt;
}

Directory read_directory(const Bytes& bytes, uint64_t end) {
  if (end >= kLocatorSize && bytes.read<uint32_t>(end - kLocatorSize) == kLocatorSignature) {
    const auto end64 = bytes.read<uint64_t>(end - kLocatorSize + 8);
    bytes.slice(end64, kEnd64Size);
    if (bytes.read<uint32_t>(end64) != kEnd64Signature) bytes.fail("bad zip64 end record");
    return {bytes.read<uint64_t>(end64 + 32), bytes.read<uint64_t>(end64 + 40),
            bytes.read<uint64_t>(end64 + 48)};
  }
  if (bytes.read<uint16_t>(end + 4) != 0) bytes.fail("it is split over several files");
  return {bytes.read<uint16_t>(end + 10), bytes.read<uint32_t>(end + 12),
          bytes.read<uint32_t>(end + 16)};
}

struct Header {
  uint64_t uncompressed;
  uint64_t compressed;
  uint64_t local_offset;
};

/// Fields that do not fit in 32 bits are in the zip64 extra field, in this order (4.5.3).
void read_zip64_extra(const Bytes& bytes, uint64_t at, uint64_t size, Header& header) {
  const uint64_t end = at + size;
  while (end - at >= 4) {
    const auto id = bytes.read<uint16_t>(at);
    const uint64_t length = bytes.read<uint16_t>(at + 2);
    at += 4;
    if (length > end - at) bytes.fail("an extra field is too long");
    if (id == kZip64Extra) {
      uint64_t field = at;
      for (uint64_t* value : {&header.uncompressed, &header.compressed, &header.local_offset}) {
        if (*value != kSeeZip64) continue;
        if (field + 8 > at + length) bytes.fail("a zip64 size is missing");
        *value = bytes.read<uint64_t>(field);
        field += 8;
      }
      return;
    }
    at += length;
  }
}

std::span<const std::byte> entry_data(const Bytes& bytes, const Header& header,
                                      uint64_t directory) {
  const uint64_t local = header.local_offset;
  bytes.slice(local, kLocalSize);
  if (bytes.read<uint32_t>(local) != kLocalSignature) bytes.fail("bad local header");
  // Name and extra field may be longer here than in the directory: torch pads the data to 64 bytes
  // with an extra field.
  const uint64_t start =
      local + kLocalSize + bytes.read<uint16_t>(local + 26) + bytes.read<uint16_t>(local + 28);
  const auto data = bytes.slice(start, header.uncompressed);
  if (start + header.uncompressed > directory) bytes.fail("an entry overlaps the directory");
  return data;
}

}  // namespace

ZipArchive::ZipArchive(std::shared_ptr<const MappedFile> file, const ZipFormat& format)
    : file_(std::move(file)) {
  const std::string& path = file_->path();
  const Bytes bytes(*file_, format);
  const auto end = find_end(bytes);
  if (!end) {
    if (bytes.size() >= 4 && bytes.read<uint32_t>(0) == kLocalSignature)
      bytes.fail("its end is missing");
    throw UserError("'{}' is not a {} archive; write one with {}", path, format.name, format.saver);
  }
  const Directory directory = read_directory(bytes, *end);
  bytes.slice(directory.offset, directory.size);
  if (directory.entries > directory.size / kHeaderSize) bytes.fail("impossible entry count");
  entries_.reserve(directory.entries);
  index_.reserve(directory.entries);

  const uint64_t directory_end = directory.offset + directory.size;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (directory_end - at < kHeaderSize || bytes.read<uint32_t>(at) != kHeaderSignature)
      bytes.fail("bad directory entry");
    const auto flags = bytes.read<uint16_t>(at + 8);
    const auto method = bytes.read<uint16_t>(at + 10);
    Header header{bytes.read<uint32_t>(at + 24), bytes.read<uint32_t>(at + 20),
                  bytes.read<uint32_t>(at + 42)};
    const uint64_t name_size = bytes.read<uint16_t>(at + 28);
    const uint64_t extra_size = bytes.read<uint16_t>(at + 30);
    const uint64_t comment_size = bytes.read<uint16_t>(at + 32);
    if (directory_end - at - kHeaderSize < name_size + extra_size + comment_size)
      bytes.fail("bad directory entry");
    const auto raw_name = bytes.slice(at + kHeaderSize, name_size);
    const std::string_view name(reinterpret_cast<const char*>(raw_name.data()), raw_name.size());
    read_zip64_extra(bytes, at + kHeaderSize + name_size, extra_size, header);
    if ((flags & 1) != 0) throw UserError("'{}': entry '{}' is encrypted", path, name);
    if (method != 0)
      throw UserError(
          "'{}': entry '{}' is compressed, but entries are read where they lie; save it again with "
          "{}, or repack it with zip -0",
          path, name, format.saver);
    if (header.compressed != header.uncompressed) bytes.fail("a stored entry has two sizes");
    if (!index_.emplace(name, entries_.size()).second)
      throw UserError("'{}' holds '{}' twice", path, name);
    entries_.push_back({name, entry_data(bytes, header, directory.offset)});
    at += kHeaderSize + name_size + extra_size + comment_size;
  }
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &entries_[it->second];
}

}  // namespace layline
