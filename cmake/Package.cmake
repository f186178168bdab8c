# `find_package(layline)`: the libraries, their headers and the command, from an installed prefix or
# straight from this build folder.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/layline")

set_target_properties(layline_core PROPERTIES EXPORT_NAME layline OUTPUT_NAME layline)
set_target_properties(layline_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(layline PROPERTIES EXPORT_NAME command)
set_target_properties(layline-runtime PROPERTIES EXPORT_NAME runtime_command)
add_library(layline::layline ALIAS layline_core)
add_library(layline::runtime ALIAS layline_runtime)

# The commands find their libraries beside themselves, in ../lib, or where they were found now.
# In the build folder too: CMake would pad the path there with an empty entry, which the loader takes
# for the current folder.
set_target_properties(
  layline layline-runtime
  PROPERTIES
    INSTALL_RPATH
    "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN/../lib;${LAYLINE_EXECUTORCH_DIR}/lib"
    BUILD_WITH_INSTALL_RPATH ON)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/layline-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/layline-config.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/layline-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
export(TARGETS layline_core layline_runtime layline layline-runtime NAMESPACE layline::
       FILE "${PROJECT_BINARY_DIR}/layline-targets.cmake")

if(SKBUILD)  # the wheel installs what it needs itself, in python/
  return()
endif()
install(TARGETS layline_core layline_runtime layline layline-runtime EXPORT layline-targets)
install(TARGETS layline-check-proof)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" TYPE INCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/docs/layline.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(EXPORT layline-targets NAMESPACE layline:: DESTINATION "${package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/layline-config.cmake"
              "${PROJECT_BINARY_DIR}/layline-config-version.cmake" DESTINATION "${package_dir}")
