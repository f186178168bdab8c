// The vocabulary of rewrites: where new nodes go, and how old ones leave.
#pragma once

#include <optional>

#include "ir/builder.h"
#include "ir/graph.h"

namespace layline {

/// Builds just before a node, in the name of that node's origin (or another's).
class BuildBefore : public Builder {
 public:
  BuildBefore(Graph& graph, Node* node) : BuildBefore(graph, node, node->origin()) {}
  BuildBefore(Graph& graph, Node* node, OriginRef origin) : Builder(graph, std::move(origin)) {
    graph.set_insertion_point(node);
  }
  ~BuildBefore() { graph().set_insertion_point(nullptr); }
  BuildBefore(const BuildBefore&) = delete;
  BuildBefore& operator=(const BuildBefore&) = delete;
};

/// Erases the node if nothing uses it, and then its operands' nodes likewise. All of them stand at
/// or before the node, so a sweep over the graph that has reached it goes on undisturbed.
void erase_unused(Graph& graph, Node* node);

/// Gives the node's uses to `value`, of the same type, and erases the node.
void replace(Graph& graph, Node* node, Value* value);

/// The relayout that computes `value`, or null.
const Relayout* relayout_of(const Value* value);

/// The number that all elements of a constant equal; nothing if they differ or are too many to look
/// at.
std::optional<double> uniform_value(const Value* value);

/// The one constant matrix that all batches of a product's left operand are multiplied by, whether
/// or not it is repeated for them; null if there is none.
Value* matrix_of_all_batches(const Node& matmul);

/// A multiplication by one number, or a division.
struct Scaling {
  Node* node;
  int operand;  // what it multiplies, of the type of the result
  double factor;
};

/// The node as a scaling. Nothing if its factor is 0 or infinity, which cannot be moved, or if its
/// result is clamped.
std::optional<Scaling> as_scaling(Node* node);

/// A clamp to `first` and then to `second`, as one.
Bounds clamped_twice(const Bounds& first, const Bounds& second);

inline bool has_one_element(const Value* value) { return element_count(value->shape()).is_one(); }

}  // namespace layline
