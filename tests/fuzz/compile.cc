// The whole compiler on graphs in text form, for every target: a program or one message.
#include "compiler/compile.h"

#include "../zip_writer.h"
#include "base/sink.h"
#include "fuzz.h"

namespace layline::fuzz {

void run(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const TemporaryFile file(as_text(bytes));
  for (const Target* target : all_targets()) {
    try {
      CompileOptions options;
      options.target = target->name;
      MemorySink sink;
      compile(file.path(), options).program->write(sink);
    } catch (const UserError&) {
    }
  }
}

}  // namespace layline::fuzz
