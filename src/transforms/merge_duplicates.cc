// Computes once what is computed twice: nodes with the same op, operands and attributes are one.
#include <functional>
#include <type_traits>
#include <unordered_map>

#include "base/hash.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

/// Equal attributes give equal hashes.
class Hash {
 public:
  size_t value() const { return state_; }

  void add(size_t word) { state_ = mixed(state_, word); }
  void add(const Dim& dim) { add(dim.hash()); }
  template <typename T>
  requires std::is_enum_v<T> || std::is_integral_v<T>
  void add(T number) { add(static_cast<size_t>(number)); }
  void add(double number) { add(std::hash<double>{}(number)); }
  void add(const Bounds& bounds) {
    add(bounds.min);
    add(bounds.max);
  }
  void add(const std::ranges::range auto& list) {
    add(list.size());
    for (const auto& element : list) add(element);
  }
  void add(const Relayout& relayout) { add(relayout.hash()); }
  void add(const Constant& constant) {
    add(constant.dtype());
    add(constant.shape());
    add(constant.sample_hash());
  }
  void add(const QuantisationRef& quantisation) {
    add(static_cast<bool>(quantisation));
    if (!quantisation) return;
    // The ends of long tables serve as well: equal ones are compared as a whole.
    add(static_cast<double>(quantisation->scales.front()));
    add(static_cast<double>(quantisation->scales.back()));
    add(quantisation->dims);
    add(quantisation->zero_points.size());
    add(quantisation->min);
  }
  void add(const BodyRef& body) { add(body.graph ? body.graph->node_count() : 0); }

 private:
  size_t state_ = 0;
};

size_t hash(const Node& node) {
  Hash result;
  result.add(node.op());
  for (const Value* operand : node.operands()) result.add(reinterpret_cast<size_t>(operand));
  std::visit(
      [&]<typename T>(const T& attributes) {
        T::fields(attributes, [&](std::string_view, const auto& field) { result.add(field); });
      },
      node.attributes());
  return result.value();
}

bool same(const Node& a, const Node& b) {
  return a.op() == b.op() && std::ranges::equal(a.operands(), b.operands()) &&
         a.attributes() == b.attributes();
}

}  // namespace

bool merge_duplicates(Graph& graph, PassContext& context) {
  bool changed = false;
  std::unordered_multimap<size_t, Node*> seen;
  seen.reserve(graph.node_count());
  for (Node* node : graph) {
    const size_t key = hash(*node);
    const auto [begin, end] = seen.equal_range(key);
    const auto twin =
        std::find_if(begin, end, [&](const auto& entry) { return same(*entry.second, *node); });
    if (twin == end) {
      seen.emplace(key, node);
      continue;
    }
    context.rewrite(*node, "the same as {}", twin->second->result()->name());
    graph.replace_all_uses(node->result(), twin->second->result());
    graph.erase(node);
    changed = true;
  }
  return changed;
}

}  // namespace layline
