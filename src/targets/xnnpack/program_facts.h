// What an ExecuTorch program is made of, read from its file, whoever wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace layline::xnnpack {

struct ProgramFacts {
  int64_t file_bytes = 0;
  int64_t segment_bytes = 0;                 // constants and payloads of delegates
  int64_t arena_bytes = 0;                   // planned memory, over all methods
  int64_t delegates = 0;                     // calls of delegates
  int64_t transposes = 0;                    // data-moving ones, in XNNPACK delegates and outside
  std::map<std::string, int64_t> kernels;    // calls outside delegates: "aten::add.out"
  std::map<std::string, int64_t> operators;  // in XNNPACK delegates: "Conv2d"
  std::vector<std::string> methods;
};

/// Reads the facts. `name` stands for the program in messages. Throws UserError if it is no intact
/// program.
ProgramFacts read_facts(std::span<const std::byte> program, const std::string& name);

}  // namespace layline::xnnpack
