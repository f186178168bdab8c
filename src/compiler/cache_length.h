// How many positions a language model's cache holds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/graph.h"

namespace layline {

/// The graphs are as imported. Attention looks over the whole cache, so a cache is a state with an
/// axis as long as one of a product that a softmax looks over. The largest, if there are several;
/// absent if there is none.
std::optional<int64_t> cache_length(std::span<const Graph> graphs);

}  // namespace layline
