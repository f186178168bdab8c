// Prints how many bytes a second this machine reads from memory: read_bandwidth THREADS.
// Each thread sums numbers of its own, far more than caches hold, in several streams, which one
// core needs to be as fast as it can. The figure is the best of some passes. One thread is timed by
// its processor time, as everything on one thread is in scripts/bench-llm.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBytes = std::size_t{512} << 20;
constexpr std::size_t kStreams = 8;
constexpr std::size_t kBlock = 64;  // numbers
constexpr int kPasses = 5;

std::uint64_t sum(const std::vector<std::uint64_t>& numbers) {
  const std::size_t length = numbers.size() / kStreams;
  std::uint64_t total = 0;
  for (std::size_t block = 0; block < length; block += kBlock) {
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      const std::uint64_t* begin = numbers.data() + stream * length + block;
      for (std::size_t i = 0; i < kBlock; ++i) {
        total += begin[i];
      }
    }
  }
  return total;
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double seconds_to_read(const std::vector<std::vector<std::uint64_t>>& parts) {
  std::vector<std::uint64_t> sums(parts.size());
  std::vector<std::thread> threads;
  const double processor = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    threads.emplace_back([&, i] { sums[i] = sum(parts[i]); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  const double seconds = parts.size() == 1 ? processor_seconds() - processor : wall.count();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (sums[i] != parts[i].size()) {  // so that no compiler leaves out the sums
      std::abort();
    }
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (count == 0) {
    std::cerr << "usage: read_bandwidth THREADS\n";
    return 2;
  }
  constexpr std::size_t kWhole = kStreams * kBlock;
  const std::size_t numbers = kBytes / sizeof(std::uint64_t) / count / kWhole * kWhole;
  const std::vector<std::vector<std::uint64_t>> parts(count,
                                                      std::vector<std::uint64_t>(numbers, 1));
  double best = seconds_to_read(parts);
  for (int pass = 1; pass < kPasses; ++pass) {
    best = std::min(best, seconds_to_read(parts));
  }
  std::cout << static_cast<double>(count * numbers * sizeof(std::uint64_t)) / best << '\n';
}
