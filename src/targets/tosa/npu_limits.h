// Which parts of a TOSA program Ethos-U cannot run: the limits of its operators, on the types and
// the layouts that they have in the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "targets/tosa/accelerator.h"
#include "targets/tosa/program.h"

namespace layline::tosa {

/// The largest stride of convolutions and pools on U55 and U65.
constexpr int64_t kNpuStride = 3;

/// An operator that cannot run.
struct NpuProblem {
  size_t op;  // in Program::operators
  std::string why;
};

std::vector<NpuProblem> npu_problems(const Program& program, const Accelerator& accelerator);

/// Whether the NPU runs a TRANSPOSE of a tensor of these sizes, none of them 1.
bool can_transpose(const std::vector<int64_t>& sizes, int element_bytes,
                   const Accelerator& accelerator);

}  // namespace layline::tosa
