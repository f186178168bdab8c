#include "layout/min_cut.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <limits>
#include <queue>

namespace layline {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, int64_t,
        boost::property<boost::edge_residual_capacity_t, int64_t,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

/// Whether each op's and each value's names of the sides are exchanged, so that for every port
/// op ^ value == the port's side.
struct Names {
  std::vector<int> node, value;  // 0, 1, or -1 while unknown
};

std::optional<Names> consistent_names(const CutProblem& problem) {
  Names names{std::vector<int>(static_cast<size_t>(problem.nodes), -1),
              std::vector<int>(problem.values.size(), -1)};
  std::vector<std::vector<std::pair<size_t, bool>>> values_of(static_cast<size_t>(problem.nodes));
  auto ports = [](const CutValue& value, auto&& visit) {
    visit(value.producer);
    for (const CutPort& reader : value.readers) visit(reader);
  };
  for (size_t v = 0; v < problem.values.size(); ++v)
    ports(problem.values[v], [&](const CutPort& port) {
      if (port.node >= 0) values_of[static_cast<size_t>(port.node)].push_back({v, port.side});
    });
  bool consistent = true;
  for (size_t start = 0; start < problem.values.size(); ++start) {
    if (names.value[start] >= 0) continue;
    names.value[start] = 0;
    std::queue<size_t> pending({start});
    while (!pending.empty()) {
      const size_t v = pending.front();
      pending.pop();
      ports(problem.values[v], [&](const CutPort& port) {
        if (port.node < 0) return;
        int& node = names.node[static_cast<size_t>(port.node)];
        const int wanted = names.value[v] ^ static_cast<int>(port.side);
        if (node >= 0 && node != wanted) consistent = false;
        if (node >= 0) return;
        node = wanted;
        for (const auto& [other, side] : values_of[static_cast<size_t>(port.node)]) {
          if (names.value[other] >= 0) continue;
          names.value[other] = node ^ static_cast<int>(side);
          pending.push(other);
        }
      });
    }
  }
  if (!consistent) return std::nullopt;
  for (int& node : names.node) node = node < 0 ? 0 : node;
  return names;
}

class Network {
 public:
  explicit Network(int nodes) : graph_(static_cast<size_t>(nodes) + 2) {}

  size_t source() const { return 0; }
  size_t sink() const { return 1; }
  static size_t vertex(int node) { return static_cast<size_t>(node) + 2; }
  size_t add_vertex() { return boost::add_vertex(graph_); }

  void add_edge(size_t from, size_t to, int64_t capacity) {
    if (from == to || capacity == 0) return;
    const auto forward = boost::add_edge(from, to, graph_).first;
    const auto backward = boost::add_edge(to, from, graph_).first;
    boost::put(boost::edge_capacity, graph_, forward, capacity);
    boost::put(boost::edge_capacity, graph_, backward, 0);
    boost::put(boost::edge_reverse, graph_, forward, backward);
    boost::put(boost::edge_reverse, graph_, backward, forward);
  }

  /// The value of the cut; afterwards the sides are known.
  int64_t solve() {
    const int64_t flow = boost::push_relabel_max_flow(graph_, source(), sink());
    // The source's side of a minimum cut is what the source still reaches.
    reached_.assign(boost::num_vertices(graph_), false);
    reached_[source()] = true;
    std::queue<size_t> pending({source()});
    while (!pending.empty()) {
      const size_t from = pending.front();
      pending.pop();
      for (auto [edge, end] = boost::out_edges(from, graph_); edge != end; ++edge) {
        const size_t to = boost::target(*edge, graph_);
        if (reached_[to] || boost::get(boost::edge_residual_capacity, graph_, *edge) == 0) continue;
        reached_[to] = true;
        pending.push(to);
      }
    }
    return flow;
  }
  bool on_source_side(size_t vertex) const { return reached_[vertex]; }

 private:
  FlowGraph graph_;
  std::vector<bool> reached_;
};

}  // namespace

std::optional<Cut> minimum_cut(const CutProblem& problem) {
  const auto names = consistent_names(problem);
  if (!names) return std::nullopt;
  Network network(problem.nodes);
  Cut cut;
  // An op is on the source's side for order 0, or for order 1 if its names are exchanged. An edge
  // from the source is cut, and so paid, when the op is on the sink's side.
  for (int n = 0; n < problem.nodes; ++n) {
    const int64_t more = problem.second_order_cost[static_cast<size_t>(n)];
    const bool paid_at_sink = (names->node[static_cast<size_t>(n)] == 0) == (more > 0);
    // A gain of order 1 is counted as had, and paid back for order 0.
    if (more < 0) cut.cost += more;
    const int64_t paid = more < 0 ? -more : more;
    if (paid_at_sink)
      network.add_edge(network.source(), Network::vertex(n), paid);
    else
      network.add_edge(Network::vertex(n), network.sink(), paid);
  }
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const CutValue& value = problem.values[v];
    const bool exchanged = names->value[v] == 1;
    auto end = [&](const CutPort& port) {
      if (port.node >= 0) return Network::vertex(port.node);
      return port.side == exchanged ? network.source() : network.sink();
    };
    const size_t producer = end(value.producer);
    // A reader that is fixed decides its copy: the copy is that side's terminal. So no infinite
    // edge leaves the source, and what flows stays finite.
    auto is_fixed_to = [&](size_t terminal) {
      return std::ranges::any_of(value.readers,
                                 [&](const CutPort& reader) { return end(reader) == terminal; });
    };
    const size_t copy_b = is_fixed_to(network.sink()) ? network.sink() : network.add_vertex();
    const size_t copy_a = is_fixed_to(network.source()) ? network.source() : network.add_vertex();
    network.add_edge(producer, copy_b, exchanged ? value.to_a : value.to_b);
    network.add_edge(copy_a, producer, exchanged ? value.to_b : value.to_a);
    for (const CutPort& reader : value.readers) {
      if (reader.node < 0) continue;
      if (copy_b != network.sink()) network.add_edge(copy_b, end(reader), kInfinite);
      if (copy_a != network.source()) network.add_edge(end(reader), copy_a, kInfinite);
    }
  }
  cut.cost += network.solve();
  for (int n = 0; n < problem.nodes; ++n) {
    const bool first =
        network.on_source_side(Network::vertex(n)) != (names->node[static_cast<size_t>(n)] == 1);
    cut.order.push_back(first ? 0 : 1);
  }
  return cut;
}

}  // namespace layline
