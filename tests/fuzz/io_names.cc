// The names, sizes and formulas that travel in a program, read back from any file that says .pte.
#include "pte/io_names.h"

#include "fuzz.h"

namespace layline::fuzz {

void run(std::span<const std::byte> bytes) {
  const std::vector<pte::MethodIoNames> methods = pte::read_io_names(as_text(bytes));
  require(pte::read_io_names(pte::write_io_names(methods)) == methods,
          "what is read can be written and read again");
}

}  // namespace layline::fuzz
