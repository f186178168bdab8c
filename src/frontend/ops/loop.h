// Loops in the program, from bodies that models have as graphs of their own.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/builder.h"

namespace layline::ops {

/// So many steps are better as a loop. Its weights are packed once, where unrolled steps have one
/// copy each: an LSTM with 512 units and 100 steps takes 19 MB as a loop instead of 433, and less
/// than half the time. A few steps are better unrolled: nothing is copied between them.
constexpr int64_t kManySteps = 16;

/// Whether the numbers of a loop's rounds are exact in this type.
bool can_count(DType dtype);

/// A loop while it is built. The nodes of its body stand at the end of the graph around it, and
/// placeholders stand for what a step is given. `build` moves to a body what depends on these. All
/// else is the same in every step, and stays outside. Nothing of the body is left in the graph when
/// the loop goes out of scope, whether it was built or not.
class Loop {
 public:
  /// `placeholders` is a graph that holds nothing else, and lives as long as the one around.
  Loop(const Builder& build, Graph& placeholders);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  // What a step is given.
  /// What the step before has left, or at first `initial`.
  Value* carried(Value* initial);
  /// One element of a sequence, along its first axis.
  Value* element(Value* sequence);
  /// A number, of a type with one element: `first` in the first step, and `step` more in each.
  Value* count(const TensorType& type, int64_t first, int64_t step);

  // What a step gives.
  /// What it leaves, in the order in which `carried` was called.
  void leave(Value* after);
  void give(Value* output) { outputs_.push_back(output); }

  /// A number that is `first` in the first step, and `step` more in each.
  struct Line {
    int64_t first, step;
  };
  /// The line that a value of the body is, if it is one.
  std::optional<Line> line(const Value* value) const;

  /// Turns what the body gathers, one element after the other, into sequences.
  void take_gathered(const Dim& length);
  /// Why the body cannot run in a loop of this length; empty if it can.
  std::string refusal(const Dim& length) const;

  struct Results {
    std::vector<Value*> left, given;  // what the last step left; what all gave, along axis 0
  };
  Results build(const Dim& length, bool backwards);

 private:
  struct Carried {
    Value *initial, *before, *after;
  };
  struct Sequence {
    Value *all, *each;
  };
  struct Count {
    Value* each;
    Line line;
  };

  Value* placeholder(std::string_view name, TensorType type);
  std::vector<Node*> body() const;
  std::vector<Value*> results() const;
  void replace(Value* from, Value* to);
  Value* for_all_steps(const Node& node, const std::unordered_set<const Node*>& body) const;
  void hoist();

  const Builder& build_;
  Graph& placeholders_;
  Node* last_;  // the last node that is not the body's
  std::unordered_set<const Value*> given_;
  std::vector<Carried> carried_;
  std::vector<Sequence> sequences_;
  std::vector<Count> counts_;
  std::vector<Value*> outputs_;
};

}  // namespace layline::ops
