// The switch behind every fault that scripts/mutants plants: MUTANT(n) is whether fault n is on.
//
// LAYLINE_MUTANT=n in the environment turns one on. LAYLINE_MUTANTS_REACHED names a file with a
// byte for every fault, in which those are marked that a process came across: it is mapped, so that
// nothing is lost where a process is killed.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

namespace mutants {

struct Switch {
  int on = 0;
  unsigned char* reached = nullptr;
  int size = 0;
};

inline Switch read_environment() {
  Switch result;
  if (const char* number = std::getenv("LAYLINE_MUTANT")) result.on = std::atoi(number);
  const char* path = std::getenv("LAYLINE_MUTANTS_REACHED");
  if (path == nullptr) return result;
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || ::fstat(file, &about) != 0) return result;
  const auto length = static_cast<size_t>(about.st_size);
  void* bytes = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (bytes == MAP_FAILED) return result;
  result.reached = static_cast<unsigned char*>(bytes);
  result.size = static_cast<int>(length);
  return result;
}

/// Read when it is first asked for: constants are computed before main, in no certain order.
inline bool is_on(int fault) {
  static const Switch state = read_environment();
  if (fault < state.size) state.reached[fault] = 1;
  return state.on == fault;
}

}  // namespace mutants

// What the C++ compiler computes is the original.
constexpr bool MUTANT(int fault) { return !std::is_constant_evaluated() && mutants::is_on(fault); }
