// Where the time of a program goes, by the runtime's own account: a line for each kernel, and
// inside XNNPACK's delegates one for each kind of operator.
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
  std::string op;    ///< as the runtime names it
  size_t calls = 0;  ///< in all executions
  double ms = 0;     ///< of all executions
};

/// Given to LoadedProgram when it loads, which it must outlive; adds up every execution.
class OpTimer {
 public:
  OpTimer();
  ~OpTimer();

  void clear();
  /// The slowest op first.
  std::vector<OpTime> ops() const;

  executorch::runtime::EventTracer* tracer();

 private:
  class Tracer;
  std::unique_ptr<Tracer> tracer_;
};

}  // namespace layline
