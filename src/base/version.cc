#include "layline/version.h"

namespace layline {

std::string_view version() { return LAYLINE_VERSION; }

}  // namespace layline
