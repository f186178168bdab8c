// Where the states of a program live: in a memory of their own, which outlives a run. States of the
// same name, type and first value are one state, whichever methods use them: a host that gives all
// methods the same memory (ExecuTorch's Module with shared arenas) lets one method go on where
// another has stopped.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "pte/program.h"

namespace layline {

/// Memory 1 is the arena, which every run fills anew.
inline constexpr uint32_t kStateMemory = 2;

/// Long runs of zeros, such as the cache of a language model, are loaded in pieces of this size,
/// all from one piece in the program. A tensor that describes a piece takes about 100 bytes there.
inline constexpr uint64_t kZeroBytes = uint64_t{1} << 18;

class StatePlan {
 public:
  /// Adds the first values to the program, each distinct one once. A state of several methods that
  /// begins with zeros has none, since loading a method would reset it: hosts hand out zeroed
  /// memory, as Module does.
  StatePlan(const std::vector<Graph>& graphs, pte::Program& program);

  struct Slot {
    std::string name;
    Constant initial;
    std::vector<std::string> methods;
    pte::PlannedData place;
    std::vector<pte::PlannedData> zeros = {};  // pieces that make up the place, if it is long
  };
  const std::vector<Slot>& slots() const { return slots_; }
  const Slot& slot_of(const GraphInput& state) const;
  /// Size of the memory; 0 without states.
  uint64_t bytes() const { return bytes_; }

 private:
  const Slot* find(const GraphInput& state) const;
  void add_first_values(pte::Program& program);

  std::vector<Slot> slots_;
  uint64_t bytes_ = 0;
};

}  // namespace layline
