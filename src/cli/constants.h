// The option --constant NAME=VALUE.
#pragma once

#include <string>
#include <vector>

#include "layline/constant_methods.h"

namespace layline {

/// A VALUE is an integer, a float, true or false, or a list of them: `1,2,3` or `[1,2]`. Throws
/// UserError for anything else, and for a name given twice.
ConstantMethods parse_constants(const std::vector<std::string>& texts);

}  // namespace layline
