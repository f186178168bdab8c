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
  };
  const std::vector<Slot>& slots() const { return slots_; }
  const pte::PlannedData& place_of(const GraphInput& state) const;
  /// Size of the memory; 0 without states.
  uint64_t bytes() const { return bytes_; }

 private:
  const Slot* find(const GraphInput& state) const;

  std::vector<Slot> slots_;
  uint64_t bytes_ = 0;
};

}  // namespace layline
