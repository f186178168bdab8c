// The whole compiler on graphs in text form, for both targets: a program or one message.
#include "compiler/compile.h"

#include "../zip_writer.h"
#include "base/sink.h"
#include "fuzz.h"

namespace layline::fuzz {

void run(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const TemporaryFile file(as_text(bytes));
  for (const std::string& target : targets()) {
    try {
      CompileOptions options;
      options.target = target;
      MemorySink sink;
      write_program(compile(file.path(), options), sink);
    } catch (const UserError&) {
    }
  }
}

}  // namespace layline::fuzz
