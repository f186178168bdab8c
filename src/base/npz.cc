#include "base/npz.h"

#include "base/error.h"

namespace layline {
namespace {

constexpr ZipFormat kFormat = {".npz", "numpy.savez"};
constexpr std::string_view kSuffix = ".npy";

std::string member(std::string_view name) { return fmt::format("{}{}", name, kSuffix); }

}  // namespace

NpzArchive::NpzArchive(const std::string& path) : zip_(MappedFile::open(path), kFormat) {
  for (const ZipEntry& entry : zip_.entries()) {
    if (!entry.name.ends_with(kSuffix))
      throw UserError("'{}' holds '{}', which is no array; write it with {}", path, entry.name,
                      kFormat.saver);
    names_.push_back(entry.name.substr(0, entry.name.size() - kSuffix.size()));
  }
}

bool NpzArchive::contains(std::string_view name) const {
  return zip_.find(member(name)) != nullptr;
}

NpyArray NpzArchive::read(std::string_view name) const {
  const std::string& path = zip_.file().path();
  const ZipEntry* entry = zip_.find(member(name));
  if (entry == nullptr)
    throw UserError("'{}' holds no array '{}'; there are {}", path, name, fmt::join(names_, ", "));
  return parse_npy(entry->data, fmt::format("{}: {}", path, entry->name));
}

}  // namespace layline
