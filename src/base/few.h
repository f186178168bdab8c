// A list that takes no memory of its own while it is short, for what is made and dropped a million
// times.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>

namespace layline {

template <typename T, size_t kShort = 8>
using Few = absl::InlinedVector<T, kShort>;

}  // namespace layline
