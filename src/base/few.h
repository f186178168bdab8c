// A list that allocates no memory while it is short, for lists that are made and dropped a million
// times.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>

namespace layline {

template <typename T, size_t kShort = 8>
using Few = absl::InlinedVector<T, kShort>;

}  // namespace layline
