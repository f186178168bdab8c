# The cost profile that is built in, as
#   #include "targets/xnnpack/default_profile.h"
# Link layline_profile to use it.
set(LAYLINE_DEFAULT_PROFILE "${PROJECT_SOURCE_DIR}/profiles/epyc-avx512.json"
    CACHE FILEPATH "The cost profile that compiles without --profile use")

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${LAYLINE_DEFAULT_PROFILE}")
file(READ "${LAYLINE_DEFAULT_PROFILE}" profile_json)
file(CONFIGURE
     OUTPUT "${PROJECT_BINARY_DIR}/generated/targets/xnnpack/default_profile.h"
     CONTENT "#pragma once

namespace layline::xnnpack {

constexpr char kDefaultProfile[] = R\"json(@profile_json@)json\";

}  // namespace layline::xnnpack
"
     @ONLY)
add_library(layline_profile INTERFACE)
target_include_directories(layline_profile INTERFACE "${PROJECT_BINARY_DIR}/generated")
