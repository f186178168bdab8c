// Runs a .gguf file in llama.cpp, as worker.py runs a .pte, by the same questions and answers:
// llama_worker FILE THREADS. It calls llama.cpp as its llama-bench does, with the same defaults (a
// cache in 16 bits, flash attention where it is supported). But it stays and keeps what it has
// read, so that a turn at the end of a long cache needs no minutes before it. scripts/llama-cpp
// builds it.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "llama.h"

namespace {

double processor_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double wall_ms() {
  const std::chrono::duration<double, std::milli> now =
      std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

long resident_bytes() {
  std::ifstream file("/proc/self/statm");
  long mapped = 0;
  long resident = 0;
  file >> mapped >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

[[noreturn]] void fail(const std::string& what) {
  std::cerr << "llama_worker: " << what << '\n';
  std::exit(1);
}

/// A cache that is filled up to one position, for calls with one number of tokens.
class Context {
 public:
  Context(llama_model* model, int threads, int tokens, int position, int calls)
      : words_(llama_vocab_n_tokens(llama_model_get_vocab(model))),
        tokens_(tokens),
        position_(position) {
    llama_context_params parameters = llama_context_default_params();
    parameters.n_ctx = static_cast<std::uint32_t>(position + tokens * calls);
    parameters.n_batch = 2048;
    parameters.n_ubatch = 512;
    parameters.n_threads = threads;
    parameters.n_threads_batch = threads;
    context_ = llama_init_from_model(model, parameters);
    if (context_ == nullptr) {
      fail("no context");
    }
    for (int begin = 0; begin < position; begin += 512) {
      decode(std::min(512, position - begin));
    }
  }

  /// Tokens that follow those before. Only the last has logits.
  void decode(int count) {
    std::vector<llama_token> tokens(static_cast<std::size_t>(count));
    for (llama_token& token : tokens) {
      token = std::rand() % words_;
    }
    if (llama_decode(context_, llama_batch_get_one(tokens.data(), count)) != 0) {
      fail("cannot decode");
    }
    llama_synchronize(context_);
  }

  /// Wall and processor time of each call in milliseconds, as JSON. What they read is forgotten.
  std::string timed(int calls) {
    std::ostringstream out;
    for (int call = 0; call < calls; ++call) {
      if (tokens_ > 1) {
        forget();
      }
      const double processor = processor_ms();
      const double wall = wall_ms();
      decode(tokens_);
      out << (call == 0 ? "[[" : ", [") << wall_ms() - wall << ", " << processor_ms() - processor
          << ']';
    }
    forget();
    return out.str() + "]";
  }

 private:
  void forget() { llama_memory_seq_rm(llama_get_memory(context_), 0, position_, -1); }

  llama_context* context_;
  int words_;
  int tokens_;
  int position_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fail("usage: llama_worker FILE THREADS");
  }
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  const long before = resident_bytes();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) {
    fail("cannot load the model");
  }
  std::map<std::pair<int, int>, Context> contexts;
  std::cout << "{}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    int calls = 0;
    int tokens = 0;
    int position = 0;
    if (std::istringstream(line) >> calls >> tokens >> position) {
      const auto found = contexts.try_emplace({tokens, position}, model, std::atoi(argv[2]), tokens,
                                              position, calls);
      std::cout << found.first->second.timed(calls) << std::endl;
    } else {
      std::cout << "{\"memory_bytes\": " << resident_bytes() - before << '}' << std::endl;
    }
  }
}
