// Made-up inputs for programs that are run or measured without data.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/host_tensor.h"
#include "runtime/program.h"

namespace layline {

/// One tensor per input, the same on every machine for the same seed: floats bell-shaped around 0
/// with variance 1, integers 0 to 3 (valid indices nearly everywhere), bools even. A dynamic input
/// gets its largest shape. An input that is not a tensor gets an empty one, as `run` ignores it.
/// UserError if an input is too large to make up.
std::vector<HostTensor> random_inputs(const std::vector<IoInfo>& inputs, uint64_t seed);

}  // namespace layline
