// The loop orders of ops that are alike, worked out once: networks repeat their blocks.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "layout/loop_order.h"

namespace layline {

/// Remembers what `cross` and `cross_from` gave, for as long as the nodes that they were asked
/// about are not changed.
class Crossings {
 public:
  /// Of nodes of this graph.
  explicit Crossings(const Graph& graph) : symbols_(graph.symbol_table()) {}

  /// As layline::cross. The result stays where it is as long as this object does.
  const std::vector<LoopOrder>& cross(const Node& node, int port, const Relayout& relayout);
  /// As layline::cross_from.
  const std::vector<LoopOrder>& cross_from(const Node& node, const LoopOrder& order, int port,
                                           const Relayout& relayout);

  /// Ops that `cross` cannot tell from each other: the same op of the same types and attributes.
  using Kind = size_t;
  Kind kind_of(const Node& node);

 private:
  /// The first operand that `cross` cannot tell from this one: parts of a concat are alike.
  int first_alike(Kind kind, int port);
  /// What was worked out before for the same question, or is worked out now. `from` is null for
  /// `cross`.
  template <typename WorkOut>
  const std::vector<LoopOrder>& remembered(Kind kind, const LoopOrder* from, int port,
                                           const Relayout& relayout, const WorkOut& work_out);

  struct Crossed {
    Kind kind;
    std::optional<LoopOrder> from;
    int port;
    Relayout relayout;
    std::vector<LoopOrder> orders;
  };
  const SymbolTable& symbols_;
  std::vector<const Node*> first_;             // for each kind, its first node
  std::vector<std::vector<int>> first_alike_;  // for each kind and operand, once it is asked for
  std::unordered_multimap<size_t, Kind> kinds_;
  std::unordered_map<const Node*, Kind> kind_;
  std::unordered_multimap<size_t, Crossed> known_;
};

}  // namespace layline
