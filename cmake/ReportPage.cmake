# The page of `--report FILE.html`, web/dist/report.html, as
#   #include "report/page.h"
# Link layline_report_page to use it. `make web` bundles the page from web/src.
set(report_page "${PROJECT_SOURCE_DIR}/web/dist/report.html")

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${report_page}")
file(READ "${report_page}" report_html)
# A literal may not be longer than 64 KiB everywhere; pieces that follow each other are one.
string(LENGTH "${report_html}" length)
set(pieces "")
set(piece_length 15000)
foreach(start RANGE 0 ${length} ${piece_length})
  string(SUBSTRING "${report_html}" ${start} ${piece_length} piece)
  string(APPEND pieces "R\"layline(${piece})layline\"\n")
endforeach()
file(WRITE "${PROJECT_BINARY_DIR}/generated/report/page.h.new"
     "#pragma once

namespace layline {

constexpr char kReportPage[] =
${pieces};

}  // namespace layline
")
file(COPY_FILE "${PROJECT_BINARY_DIR}/generated/report/page.h.new"
     "${PROJECT_BINARY_DIR}/generated/report/page.h" ONLY_IF_DIFFERENT)
add_library(layline_report_page INTERFACE)
target_include_directories(layline_report_page INTERFACE "${PROJECT_BINARY_DIR}/generated")
