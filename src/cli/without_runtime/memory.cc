// How memory is allocated in the compiler, whose process ends after some milliseconds.
// - Memory comes in huge pages, if the kernel has them: a network's weights are tens of megabytes,
//   and faults on small pages took two fifths of the time.
// - What is freed is kept: pages that were given back and asked for again were cleared again, a
//   tenth of the time of a ResNet-18.
// - Threads share one arena: they allocate little, and an arena for each takes megabytes.
// - A thread keeps much of what it frees, for good: placement makes and drops small objects by the
//   ten thousands. jemalloc 5.2 has no such options, and would complain about them.
// jemalloc reads this name at its start (its manual, "Tuning"); other allocators do not.
#include <jemalloc/jemalloc.h>

#if JEMALLOC_VERSION_MAJOR > 5 || (JEMALLOC_VERSION_MAJOR == 5 && JEMALLOC_VERSION_MINOR >= 3)
#define LAYLINE_KEPT_BY_THREADS \
  ",tcache_gc_incr_bytes:1073741824,tcache_nslots_small_max:4000,lg_tcache_nslots_mul:4"
#else
#define LAYLINE_KEPT_BY_THREADS ""
#endif

extern "C" {
const char* malloc_conf = "thp:always,dirty_decay_ms:-1,narenas:1" LAYLINE_KEPT_BY_THREADS;
}
