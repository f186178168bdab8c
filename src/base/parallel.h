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

/// Calls work(i) for every i < count, on as many threads as the machine has cores. The result must
/// not depend on which thread does what. Rethrows an exception; if there are several, one of them.
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

/// Calls work(begin, end) for pieces that make up 0 to count, on all cores. One item reads `bytes`
/// bytes: pieces are so large that starting a thread pays. Where they begin depends on nothing
/// else.
template <typename Work>
void in_parallel_pieces(size_t count, size_t bytes, const Work& work) {
  constexpr size_t kPieceBytes = size_t{1} << 20;
  const size_t size = std::max<size_t>(1, kPieceBytes / std::max<size_t>(1, bytes));
  in_parallel((count + size - 1) / size,
              [&](size_t i) { work(i * size, std::min(count, (i + 1) * size)); });
}

}  // namespace layline
