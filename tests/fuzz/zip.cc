// The zip container: every entry lies in the file, and is found by its name.
#include "base/zip.h"

#include "../zip_writer.h"
#include "fuzz.h"

namespace layline::fuzz {

void run(std::span<const std::byte> bytes) {
  const TemporaryFile file(as_text(bytes));
  const ZipArchive zip(MappedFile::open(file.path()), {".zip", "zip -0"});
  const std::span<const std::byte> whole = zip.file().bytes();
  for (const ZipEntry& entry : zip.entries()) {
    require(zip.find(entry.name) == &entry, "an entry is found by its name");
    require(entry.data.data() >= whole.data() &&
                entry.data.data() + entry.data.size() <= whole.data() + whole.size(),
            "an entry lies in the file");
  }
}

}  // namespace layline::fuzz
