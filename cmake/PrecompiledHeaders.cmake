# The sanitized build, which comes second in continuous integration, reads the common headers once for
# each target. The other builds read them for each file, so that a file which lacks an include shows.
function(layline_precompile target)
  if(CMAKE_BUILD_TYPE STREQUAL Asan)
    target_precompile_headers(${target} PRIVATE <algorithm> <cmath> <functional> <map> <memory>
                              <optional> <span> <string> <unordered_map> <vector> <fmt/format.h>
                              "${PROJECT_SOURCE_DIR}/src/base/error.h"
                              "${PROJECT_SOURCE_DIR}/src/ir/builder.h"
                              "${PROJECT_SOURCE_DIR}/src/ir/evaluate.h" ${ARGN})
  endif()
endfunction()
