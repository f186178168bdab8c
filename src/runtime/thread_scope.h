// Internal to src/runtime: what set_threads asks of the code that loads and runs programs.
#pragma once

namespace layline {

/// Counts a loaded program, which holds on to the thread pool.
class ThreadPoolUse {
 public:
  ThreadPoolUse();
  ~ThreadPoolUse();
  ThreadPoolUse(const ThreadPoolUse&) = delete;
  ThreadPoolUse& operator=(const ThreadPoolUse&) = delete;
};

/// While it lives, the calling thread loads and runs without a pool if one thread was asked for.
class ThreadScope {
 public:
  ThreadScope();
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  bool previous_;
};

}  // namespace layline
