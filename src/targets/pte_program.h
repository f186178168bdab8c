// A program for the ExecuTorch runtime, as targets with a .pte hand it over.
#pragma once

#include "pte/program.h"
#include "targets/target.h"

namespace layline {

class PteProgram : public TargetProgram {
 public:
  explicit PteProgram(pte::Program program) : program_(std::move(program)) {}

  void write(ByteSink& sink) const override;
  std::vector<ArenaTensor> arena() const override;

 private:
  pte::Program program_;
};

}  // namespace layline
