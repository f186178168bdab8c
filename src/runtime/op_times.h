// Where the time of a program goes, by the runtime's own account: each kernel that it calls, and
// inside XNNPACK's delegates each operator.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace executorch::runtime {
class EventTracer;
}

namespace layline {

struct OpTime {
  std::string op;  ///< as the runtime names it; XNNPACK's are numbered by kind, "Add (ND) #2"
  size_t instruction = 0;  ///< its index in the method
  bool delegated = false;
  double ms = 0;  ///< the sum over all executions
};

/// Times the ops of a program, and adds up every execution. A LoadedProgram gets it when it loads,
/// and must not outlive it.
class OpTimer {
 public:
  OpTimer();
  ~OpTimer();

  void clear();
  /// The ops, in the order in which they run.
  const std::vector<OpTime>& ops() const;

  executorch::runtime::EventTracer* tracer();

 private:
  class Tracer;
  std::unique_ptr<Tracer> tracer_;
};

/// The time of all ops of one kind.
struct KindTime {
  std::string kind;  ///< "Add (ND)"
  size_t calls = 0;
  double ms = 0;
};

/// The times by kind, the slowest first.
std::vector<KindTime> by_kind(const std::vector<OpTime>& ops);

}  // namespace layline
