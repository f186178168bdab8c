#include "cli/runtime/program_source.h"

#include <fmt/format.h>

#include <utility>

#include "base/mapped_file.h"
#include "base/sink.h"
#include "cli/progress.h"
#include "compiler/compile.h"
#include "pte/writer.h"

namespace layline {

ProgramSource::ProgramSource(std::string path) : path_(std::move(path)) {
  if (pte::is_program(path_, MappedFile::open(path_)->bytes())) return;
  const Progress progress(fmt::format("compiling {}", path_));
  const Compiled compiled = compile(path_, {});
  MemorySink sink;
  compiled.program->write(sink);
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
