// Arm's TOSA reference model, which runs a program slowly and exactly as the specification says.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "ir/tensor.h"
#include "targets/tosa/program.h"

namespace layline {

class ReferenceModel {
 public:
  /// UserError if it is not installed: beside the Python that LAYLINE_TOSA_PYTHON names, in
  /// .venv-tosa (scripts/tosa-venv) of the current directory, or on the PATH.
  ReferenceModel();

  /// Runs the program in a process of its own: inputs as they lie in memory in, outputs likewise.
  /// InternalError if it refuses the program.
  std::vector<Tensor> run(const tosa::Program& program, std::span<const Tensor> inputs) const;

 private:
  std::filesystem::path path_;
};

}  // namespace layline
