// The report as a page: one file that needs nothing else, with the numbers of the JSON.
#pragma once

#include "base/json_writer.h"
#include "report/picture.h"
#include "report/report.h"

namespace layline {

void write_page(const TextSink& sink, const Report& report, const Pictures& pictures);

}  // namespace layline
