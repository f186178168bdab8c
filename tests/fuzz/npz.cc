// .npz files: every array is found by its name, and is read or refused.
#include "base/npz.h"

#include "../zip_writer.h"
#include "base/error.h"
#include "fuzz.h"

namespace layline::fuzz {

void run(std::span<const std::byte> bytes) {
  const TemporaryFile file(as_text(bytes));
  const NpzArchive archive(file.path());
  for (const std::string_view name : archive.names()) {
    require(archive.contains(name), "an array is found by its name");
    try {
      archive.read(name);
    } catch (const UserError&) {
      // The next may be whole.
    }
  }
}

}  // namespace layline::fuzz
