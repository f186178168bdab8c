#include "runtime/threads.h"

#include <executorch/extension/threadpool/threadpool_guard.h>

#include <atomic>
#include <cstdint>

#include "base/error.h"
#include "runtime/runtime_log.h"
#include "runtime/thread_scope.h"

// Exported by the runtime's library, but its header is not installed.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t new_thread_count);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace layline {
namespace {

namespace pool = executorch::extension::threadpool;

constexpr unsigned kMaxThreads = 256;

std::atomic<bool> single_thread = false;
std::atomic<int> pool_uses = 0;

}  // namespace

void set_threads(unsigned count) {
  if (count > kMaxThreads) {
    throw UserError("{} threads asked for; at most {} are possible", count, kMaxThreads);
  }
  if (pool_uses != 0) throw UserError("the number of threads is set while no program is loaded");
  if (count == 0) return;
  capture_runtime_log();
  single_thread = count == 1;
  if (single_thread) return;
  pool::ThreadPool* const threads = pool::get_threadpool();
  if (threads == nullptr) throw UserError("the runtime has no threads: {}", take_runtime_errors());
  threads->_unsafe_reset_threadpool(count);
}

ThreadPoolUse::ThreadPoolUse() { ++pool_uses; }
ThreadPoolUse::~ThreadPoolUse() { --pool_uses; }

ThreadScope::ThreadScope() : previous_(pool::NoThreadPoolGuard::is_enabled()) {
  if (single_thread) pool::NoThreadPoolGuard::set_enabled(true);
}
ThreadScope::~ThreadScope() { pool::NoThreadPoolGuard::set_enabled(previous_); }

}  // namespace layline
