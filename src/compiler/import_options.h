// What the user says about a model that its file leaves open, as text: --dim and --fix.
#pragma once

#include <map>
#include <string>

#include "frontend/import_options.h"

namespace layline {

/// Reads both. A size is `3`, a range `32..960`, or one in steps `32..960:32`. An input is fixed to
/// a number or to FILE.npy. Throws UserError for anything else.
ImportOptions parse_import_options(const std::map<std::string, std::string>& dims,
                                   const std::map<std::string, std::string>& fixed);

}  // namespace layline
