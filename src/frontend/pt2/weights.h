// A stored tensor of the archive as a constant of the graph, in place wherever it is dense.
#pragma once

#include "frontend/pt2/archive.h"
#include "ir/constant.h"

namespace layline::pt2 {

Constant constant_from(const Payload& payload, std::shared_ptr<const void> keep_alive);

}  // namespace layline::pt2
