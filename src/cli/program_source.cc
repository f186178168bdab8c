#include "cli/program_source.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/mapped_file.h"
#include "cli/progress.h"
#include "compiler/compile.h"
#include "pte/sink.h"
#include "pte/writer.h"

namespace layline {
namespace {

/// True if the file is named `.pte` or begins like an ExecuTorch program.
bool is_program(const std::string& path) {
  if (path.ends_with(".pte")) return true;
  // A flatbuffer's file identifier stands at byte 4; ExecuTorch's are "ET" and two digits.
  std::array<char, 8> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  return std::string_view(start.data() + 4, 2) == "ET";
}

}  // namespace

ProgramSource::ProgramSource(std::string path) : path_(std::move(path)) {
  if (is_program(path_)) return;
  const Progress progress(fmt::format("compiling {}", path_));
  const Compiled compiled = compile(path_, {});
  MemorySink sink;
  pte::write_program(compiled.program, sink);
  compiled_ = sink.take();
}

LoadedProgram ProgramSource::load(const std::string& method, OpTimer* timer) const {
  if (!compiled_) return LoadedProgram::from_file(path_, {method}, timer);
  return LoadedProgram::from_compiled(*compiled_, path_, {method}, timer);
}

ProgramSources ProgramSource::sources(const std::string& method) const {
  if (compiled_) return ProgramSources::read(*compiled_, path_, method);
  return ProgramSources::read(MappedFile::open(path_)->bytes(), path_, method);
}

}  // namespace layline
