// How many threads kernels use. The pool belongs to the process.
#pragma once

namespace layline {

/// Kernels use `count` threads from now on; 0 changes nothing (at first, one per core). A
/// program keeps the pool it was loaded with, so no LoadedProgram may exist when this is called.
/// UserError if one does, or if there cannot be that many threads.
void set_threads(unsigned count);

}  // namespace layline
