// Arm's TOSA reference model, which runs a program slowly and exactly as the specification says.
#pragma once

#include "targets/verification.h"

namespace layline {

/// Runs TOSA programs, each in a process of its own; InternalError if it refuses one. Throws
/// UserError if it is not installed: beside the Python that LAYLINE_TOSA_PYTHON names, in
/// .venv-tosa (scripts/tosa-venv) of the current directory, or on the PATH.
LoadMethod load_in_reference_model();

}  // namespace layline
