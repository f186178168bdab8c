// Constant methods (include/layline/constant_methods.h) in a `.pte`.
#pragma once

#include "layline/constant_methods.h"
#include "pte/program.h"

namespace layline {

/// Throws UserError for a name that is not an identifier or is a method of the program, and for a
/// method without values.
void add_constant_methods(const ConstantMethods& constants, pte::Program& program);

}  // namespace layline
