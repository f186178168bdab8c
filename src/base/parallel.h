// Independent work on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace layline {

/// Calls work(i) for every i < count, on as many threads as the machine has cores. What comes out
/// must not depend on which thread does what. Rethrows what is thrown, one of it if it is more.
template <typename Work>
void in_parallel(size_t count, const Work& work) {
  std::atomic<size_t> next = 0;
  std::exception_ptr thrown;
  std::mutex throwing;
  const auto go_on = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(throwing);
        thrown = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const size_t threads = std::min<size_t>(count, std::thread::hardware_concurrency());
    try {
      while (others.size() + 1 < threads) others.emplace_back(go_on);
    } catch (const std::system_error&) {  // no more threads are allowed: fewer do it as well
    }
    go_on();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace layline
