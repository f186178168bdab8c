// Made-up inputs for programs that are run or measured without data.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/host_tensor.h"
#include "runtime/program.h"

namespace layline {

/// Whether inputs of the dtype may be indices, or the place in a cache at which a text begins. They
/// are 0, which every axis has, and after which there is room for a text of any length.
bool may_be_index(DType dtype);

/// One tensor per input, the same on every machine for the same seed: floats bell-shaped around 0
/// with variance 1, integers 0 to 3, bools even, what may be an index 0. A dynamic input gets its
/// largest shape. An input that is not a tensor gets an empty one, as `run` ignores it. UserError
/// if an input is too large to make up.
std::vector<HostTensor> random_inputs(const std::vector<IoInfo>& inputs, uint64_t seed);

}  // namespace layline
