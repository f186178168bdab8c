// A stored tensor of the archive as a constant of the graph, in place wherever it is dense.
#pragma once

#include <optional>
#include <vector>

#include "frontend/pt2/archive.h"
#include "ir/attributes.h"
#include "ir/constant.h"

namespace layline::pt2 {

/// The axes from the largest stride to the smallest, if the elements fill their range of the
/// storage without gap or overlap; unit axes keep their place at the front.
std::optional<std::vector<int>> dense_order(const Ints& sizes, const Ints& strides);

Constant constant_from(const Payload& payload, std::shared_ptr<const void> keep_alive);

}  // namespace layline::pt2
