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
  size_t instruction = 0;  ///< of the method
  bool delegated = false;
  double ms = 0;  ///< of all executions
};

/// Given to LoadedProgram when it loads, which it must outlive; adds up every execution.
class OpTimer {
 public:
  OpTimer();
  ~OpTimer();

  void clear();
  /// In the order in which they run.
  const std::vector<OpTime>& ops() const;

  executorch::runtime::EventTracer* tracer();

 private:
  class Tracer;
  std::unique_ptr<Tracer> tracer_;
};

/// All ops of one kind.
struct KindTime {
  std::string kind;  ///< "Add (ND)"
  size_t calls = 0;
  double ms = 0;
};

/// The slowest kind first.
std::vector<KindTime> by_kind(const std::vector<OpTime>& ops);

}  // namespace layline
