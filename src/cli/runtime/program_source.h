// What `run` and `bench` take: a program in a file, or a model, which is compiled in memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "layline/sources.h"
#include "runtime/program.h"

namespace layline {

class ProgramSource {
 public:
  /// Compiles `path` unless it is a program already.
  explicit ProgramSource(std::string path);

  LoadedProgram load(const std::string& method, OpTimer* timer = nullptr) const;
  /// Where in the model the operators of the method come from.
  ProgramSources sources(const std::string& method) const;

 private:
  std::string path_;
  std::optional<std::vector<std::byte>> compiled_;
};

}  // namespace layline
