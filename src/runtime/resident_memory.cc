#include "runtime/resident_memory.h"

#include <malloc.h>

#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

// jemalloc's, where it is linked (cmake/Allocator.cmake).
extern "C" int mallctl(const char* name, void* old, size_t* old_size, void* fresh,
                       size_t fresh_size) __attribute__((weak));

namespace layline {
namespace {

/// A field of /proc/self/status, which is in KiB: `VmRSS:     1234 kB`.
uint64_t status_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(field)) continue;
    const size_t digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) return 0;
    uint64_t kibibytes = 0;
    std::from_chars(line.data() + digits, line.data() + line.size(), kibibytes);
    return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

uint64_t resident_bytes() { return status_bytes("VmRSS:"); }

uint64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

bool reset_peak_resident() {
  std::ofstream clear_refs("/proc/self/clear_refs");
  clear_refs << "5" << std::flush;  // proc(5): resets the peak resident set size
  return clear_refs.good();
}

void return_free_memory() {
  // 4096 stands for all arenas.
  if (mallctl != nullptr)
    mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
  else
    malloc_trim(0);
}

}  // namespace layline
