// The zip container: every entry lies in the file, and is found by its name.
#include "frontend/pt2/zip.h"

#include "../zip_writer.h"
#include "fuzz.h"

namespace layline::fuzz {

void run(std::span<const std::byte> bytes) {
  const TemporaryFile file(as_text(bytes));
  const pt2::ZipArchive zip(MappedFile::open(file.path()));
  const std::span<const std::byte> whole = zip.file().bytes();
  for (const pt2::ZipEntry& entry : zip.entries()) {
    require(zip.find(entry.name) == &entry, "an entry is found by its name");
    require(entry.data.data() >= whole.data() &&
                entry.data.data() + entry.data.size() <= whole.data() + whole.size(),
            "an entry lies in the file");
  }
}

}  // namespace layline::fuzz
