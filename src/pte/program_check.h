// What a program must satisfy to be loaded by the runtime.
#pragma once

#include "pte/program.h"

namespace layline::pte {

/// Throws InternalError with the first thing that is wrong with `program`: an index out of range,
/// a value of the wrong kind, data of the wrong size or outside its arena, a name twice or too
/// long. A compiled program never fails this; it is here so that a bug of ours does not become a
/// crash in somebody's phone.
void check_program(const Program& program);

}  // namespace layline::pte
