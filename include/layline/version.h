// The version of layline. It follows semantic versioning (docs/embedding.md says what is stable):
// while the major version is 0, a new minor version may change the API, and a new patch may not.
#pragma once

#include <string_view>

// CMakeLists.txt and pyproject.toml read these three lines.
#define LAYLINE_VERSION_MAJOR 0
#define LAYLINE_VERSION_MINOR 1
#define LAYLINE_VERSION_PATCH 0

#define LAYLINE_STRING_(text) #text
#define LAYLINE_STRING(text) LAYLINE_STRING_(text)
/// The version of these headers: "0.1.0".
#define LAYLINE_VERSION                 \
  LAYLINE_STRING(LAYLINE_VERSION_MAJOR) \
  "." LAYLINE_STRING(LAYLINE_VERSION_MINOR) "." LAYLINE_STRING(LAYLINE_VERSION_PATCH)

namespace layline {

/// The version of the library that is linked: LAYLINE_VERSION, if the headers are its own.
std::string_view version();

}  // namespace layline
