// A loop in a method: what is called between its beginning and its end is called again and again.
#pragma once

#include <vector>

#include "targets/kernel_calls.h"

namespace layline {

/// A loop over the places of sequences, of which there is at least one.
class LoopCalls {
 public:
  /// Begins the loop; `length` is an Int value.
  LoopCalls(MethodBuilder& method, pte::ValueId length, bool backwards);
  LoopCalls(const LoopCalls&) = delete;

  /// Copies the element at the present place out of a sequence, or into one.
  void load(pte::ValueId sequence, pte::ValueId element);
  void store(const Value* sequence, pte::ValueId element);
  /// Goes to the next place, and back to the beginning unless it was the last.
  void end();

 private:
  void count(const char* op, pte::ValueId a, pte::ValueId b, pte::ValueId result);

  MethodBuilder& method_;
  pte::ValueId length_, place_, zero_, one_;
  bool backwards_;
  uint32_t beginning_;
  std::vector<const Value*> stored_;
};

}  // namespace layline
