// Archives for tests: a writer of zip files, and files that vanish with the test.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace layline {

/// Writes archives as torch does: stored, sizes only in the directory, data aligned by an extra
/// field of the local header.
class ZipWriter {
 public:
  bool zip64 = false;
  int method = 0;
  int flags = 8;

  ZipWriter& add(const std::string& name, const std::string& data) {
    const size_t offset = file_.size();
    number(file_, 0x04034b50, 4);
    file_.append(22, '\0');
    number(file_, name.size(), 2);
    const size_t start = file_.size() + 2 + name.size();
    const size_t padding = (64 - start % 64) % 64;
    number(file_, padding, 2);
    file_ += name;
    file_.append(padding, 'F');
    file_ += data;

    number(directory_, 0x02014b50, 4);
    directory_.append(4, '\0');
    number(directory_, static_cast<uint64_t>(flags), 2);
    number(directory_, static_cast<uint64_t>(method), 2);
    directory_.append(8, '\0');
    number(directory_, zip64 ? 0xffffffff : data.size(), 4);
    number(directory_, zip64 ? 0xffffffff : data.size(), 4);
    number(directory_, name.size(), 2);
    number(directory_, zip64 ? 28 : 0, 2);
    directory_.append(10, '\0');
    number(directory_, zip64 ? 0xffffffff : offset, 4);
    directory_ += name;
    if (zip64) {
      number(directory_, 1, 2);
      number(directory_, 24, 2);
      for (uint64_t field : {data.size(), data.size(), offset}) number(directory_, field, 8);
    }
    ++entries_;
    return *this;
  }

  std::string finish(const std::string& comment = "") const {
    std::string result = file_ + directory_;
    if (zip64) {
      const size_t end64 = result.size();
      number(result, 0x06064b50, 4);
      number(result, 44, 8);
      result.append(12, '\0');
      number(result, entries_, 8);
      for (uint64_t field : {entries_, directory_.size(), file_.size()}) number(result, field, 8);
      number(result, 0x07064b50, 4);
      number(result, 0, 4);
      number(result, end64, 8);
      number(result, 1, 4);
    }
    number(result, 0x06054b50, 4);
    result.append(4, '\0');
    number(result, zip64 ? 0xffff : entries_, 2);
    number(result, zip64 ? 0xffff : entries_, 2);
    number(result, zip64 ? 0xffffffff : directory_.size(), 4);
    number(result, zip64 ? 0xffffffff : file_.size(), 4);
    number(result, comment.size(), 2);
    return result + comment;
  }

 private:
  static void number(std::string& out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  }

  std::string file_;
  std::string directory_;
  size_t entries_ = 0;
};

/// A file in memory, which is gone with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view contents)
      : descriptor_(::memfd_create("layline", MFD_CLOEXEC)),
        path_(fmt::format("/proc/self/fd/{}", descriptor_)) {
    while (!contents.empty()) {
      const ssize_t written = ::write(descriptor_, contents.data(), contents.size());
      if (written <= 0) throw std::system_error(errno, std::generic_category(), "write");
      contents.remove_prefix(static_cast<size_t>(written));
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::close(descriptor_); }
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace layline
