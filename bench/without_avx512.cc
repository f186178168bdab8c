// Preloaded into `layline bench`, hides AVX-512 from the runtime: XNNPACK then takes the kernels of
// an AVX2 machine. scripts/bench and scripts/remade-convs use it. The runtime's threadpool library
// exports cpuinfo's table of flags, one byte each, and XNNPACK reads it when it picks its kernels.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
// Places in cpuinfo's table for 64-bit x86: AVX, AVX2, and the AVX-512, AVX10 and AMX flags.
constexpr int kAvx = 22, kAvx2 = 28, kAvx512f = 29, kEndOfAvx512 = 56;
}  // namespace

extern "C" bool cpuinfo_initialize() {
  const auto real = reinterpret_cast<bool (*)()>(dlsym(RTLD_NEXT, "cpuinfo_initialize"));
  auto* flags = static_cast<unsigned char*>(dlsym(RTLD_DEFAULT, "cpuinfo_isa"));
  if (real == nullptr || flags == nullptr || !real()) {
    std::fputs("without_avx512: no cpuinfo in this runtime\n", stderr);
    std::exit(1);
  }
  if (flags[kAvx] != 1 || flags[kAvx2] != 1) {
    std::fputs("without_avx512: no AVX2 here, or another cpuinfo\n", stderr);
    std::exit(1);
  }
  std::memset(flags + kAvx512f, 0, kEndOfAvx512 - kAvx512f);
  return true;
}
