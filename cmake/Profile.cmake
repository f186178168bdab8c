# The cost profiles of profiles/ are built in, under the names of their files, as
#   #include "targets/xnnpack/built_in_profiles.h"
# Link layline_profile to use it.
set(LAYLINE_DEFAULT_PROFILE "any-device"
    CACHE STRING "The name of the cost profile that compiles without --profile use")

file(GLOB profile_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/profiles/*.json")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${profile_files})
set(profiles "")
foreach(profile_file ${profile_files})
  get_filename_component(profile_name "${profile_file}" NAME_WE)
  file(READ "${profile_file}" profile_json)
  string(APPEND profiles "    {\"${profile_name}\", R\"json(${profile_json})json\"},\n")
endforeach()
file(CONFIGURE
     OUTPUT "${PROJECT_BINARY_DIR}/generated/targets/xnnpack/built_in_profiles.h"
     CONTENT "#pragma once

#include <string_view>

namespace layline::xnnpack {

struct BuiltInProfile {
  std::string_view name;
  std::string_view json;
};

constexpr BuiltInProfile kBuiltInProfiles[] = {
@profiles@};
constexpr std::string_view kDefaultProfile = \"@LAYLINE_DEFAULT_PROFILE@\";

}  // namespace layline::xnnpack
"
     @ONLY)
add_library(layline_profile INTERFACE)
target_include_directories(layline_profile INTERFACE "${PROJECT_BINARY_DIR}/generated")
