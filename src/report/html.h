// The report as a page: one file that needs nothing else, with the numbers of the JSON.
#pragma once

#include <string>

#include "report/picture.h"
#include "report/report.h"

namespace layline {

std::string to_html(const Report& report, const Pictures& pictures);

}  // namespace layline
