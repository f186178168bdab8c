#include "layout/placement.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "layout/conversions.h"
#include "layout/elimination.h"
#include "layout/min_cut.h"

namespace layline {
namespace {

// Values with more readers than this get a variable of their own for the set of forms they are kept
// in; below it a table over all of them is smaller.
constexpr size_t kMostReadersInOneTable = 2;

// Entries of a table during elimination: first a size that is quickly exhausted, then what memory
// allows.
constexpr size_t kSmallTables = size_t{1} << 10;
constexpr size_t kLargeTables = size_t{1} << 18;

// More permutes than this in one region would overflow the scalar cost of a cut.
constexpr int64_t kPermuteScale = int64_t{1} << 17;

class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int find(int a) {
    while (parent_[static_cast<size_t>(a)] != a) {
      parent_[static_cast<size_t>(a)] =
          parent_[static_cast<size_t>(parent_[static_cast<size_t>(a)])];
      a = parent_[static_cast<size_t>(a)];
    }
    return a;
  }
  void join(int a, int b) { parent_[static_cast<size_t>(find(a))] = find(b); }

 private:
  std::vector<int> parent_;
};

/// The ops that have a choice and that the cost of one value depends on.
struct Ports {
  int writer = -1;           // the producer, if it has a choice
  int written = 0;           // otherwise the form it writes
  std::vector<int> readers;  // distinct
  std::vector<int> fixed;    // forms that are read whatever is chosen
};

class Solver {
 public:
  Solver(const PlacementProblem& problem, const MoveCosts& moves)
      : problem_(problem), moves_(moves), source_orders_(problem.nodes.size(), 0) {}

  Placement run() {
    Placement placement;
    placement.order.assign(problem_.nodes.size(), 0);
    Certificate& certificate = placement.certificate;
    certificate.ops = problem_.nodes.size();
    for (const PlacedNode& node : problem_.nodes) certificate.candidates += node.orders.size();

    std::vector<Ports> ports;
    ports.reserve(problem_.values.size());
    DisjointSets sets(problem_.nodes.size());
    for (const PlacedValue& value : problem_.values) {
      ports.push_back(ports_of(value));
      const Ports& p = ports.back();
      for (int reader : p.readers) sets.join(reader, p.writer >= 0 ? p.writer : p.readers[0]);
    }
    // Ops and values by region; values without a choice cost what they cost.
    std::unordered_map<int, Region> regions;
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      if (has_choice(static_cast<int>(n)))
        regions[sets.find(static_cast<int>(n))].nodes.push_back(static_cast<int>(n));
      else
        certificate.cost += problem_.nodes[n].costs[0];
    }
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const Ports& p = ports[v];
      const int member = p.writer >= 0 ? p.writer : p.readers.empty() ? -1 : p.readers[0];
      if (member >= 0)
        regions[sets.find(member)].values.push_back(static_cast<int>(v));
      else
        certificate.cost += Conversions(problem_.values[v], moves_).cost(p.written, p.fixed);
    }
    certificate.bound = certificate.before = certificate.cost;
    for (const auto& [root, region] : regions) {
      const Minimum minimum = solve(region, ports, placement.order);
      certificate.cost += minimum.cost;
      certificate.bound += minimum.bound;
      certificate.before += before_;
      certificate.largest_region = std::max(certificate.largest_region, region.nodes.size());
    }
    certificate.regions = regions.size();
    return placement;
  }

 private:
  struct Region {
    std::vector<int> nodes;
    std::vector<int> values;
  };

  bool has_choice(int node) const {
    return problem_.nodes[static_cast<size_t>(node)].orders.size() > 1;
  }

  Ports ports_of(const PlacedValue& value) const {
    Ports ports;
    if (value.producer >= 0) {
      if (has_choice(value.producer))
        ports.writer = value.producer;
      else
        ports.written = problem_.nodes[static_cast<size_t>(value.producer)].writes[0];
    }
    for (const PlacedValue::Reader& reader : value.readers) {
      if (reader.node < 0) {
        ports.fixed.push_back(problem_.outputs[static_cast<size_t>(reader.operand)].form);
      } else if (has_choice(reader.node)) {
        if (std::ranges::find(ports.readers, reader.node) == ports.readers.end())
          ports.readers.push_back(reader.node);
      } else {
        const PlacedNode& node = problem_.nodes[static_cast<size_t>(reader.node)];
        ports.fixed.push_back(node.reads[0][static_cast<size_t>(reader.operand)]);
      }
    }
    return ports;
  }

  /// The forms of a value that an op reads in one of its orders.
  void add_reads(int node, int order, int value, std::vector<int>& forms) const {
    const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
    for (size_t i = 0; i < placed.operands.size(); ++i)
      if (placed.operands[i] == value) forms.push_back(placed.reads[static_cast<size_t>(order)][i]);
  }

  int orders(int node) const {
    return static_cast<int>(problem_.nodes[static_cast<size_t>(node)].orders.size());
  }

  Minimum solve(const Region& region, const std::vector<Ports>& ports, std::vector<int>& chosen) {
    Energy energy;
    std::unordered_map<int, int> variable;
    for (int node : region.nodes) {
      variable.emplace(node, static_cast<int>(energy.domain.size()));
      energy.domain.push_back(orders(node));
      energy.factors.push_back(
          {{variable.at(node)}, problem_.nodes[static_cast<size_t>(node)].costs});
    }
    for (int value : region.values) {
      const Ports& p = ports[static_cast<size_t>(value)];
      if (p.readers.size() <= kMostReadersInOneTable)
        add_table(value, p, variable, energy);
      else
        add_kept_forms(value, p, variable, energy);
    }
    Minimum minimum = minimise(energy, kSmallTables);
    if (!minimum.exact()) {
      // Too wide to be eliminated variable by variable: a cut if two orders are all there is.
      if (auto cut = solve_by_cut(region, ports, chosen)) {
        before_ = cost_in(region, ports, source_orders_);
        return *cut;
      }
      minimum = minimise(energy, kLargeTables);
    }
    for (int node : region.nodes)
      chosen[static_cast<size_t>(node)] = minimum.choice[static_cast<size_t>(variable.at(node))];
    before_ = cost_in(region, ports, source_orders_);
    // A choice that is not proved best may be worse than none.
    if (before_ < minimum.cost) {
      minimum.cost = before_;
      for (int node : region.nodes) chosen[static_cast<size_t>(node)] = 0;
    }
    return minimum;
  }

  Cost cost_in(const Region& region, const std::vector<Ports>& ports,
               const std::vector<int>& order) const {
    auto of = [&](int node) { return order[static_cast<size_t>(node)]; };
    Cost cost;
    for (int node : region.nodes)
      cost += problem_.nodes[static_cast<size_t>(node)].costs[static_cast<size_t>(of(node))];
    for (int value : region.values) {
      const Ports& p = ports[static_cast<size_t>(value)];
      std::vector<int> read = p.fixed;
      for (int reader : p.readers) add_reads(reader, of(reader), value, read);
      cost += Conversions(problem_.values[static_cast<size_t>(value)], moves_)
                  .cost(written(p, p.writer < 0 ? 0 : of(p.writer)), std::move(read));
    }
    return cost;
  }

  /// Time and permutes as one number; views do not count in a cut.
  static int64_t scalar(Cost cost) { return cost.time_ps * kPermuteScale + cost.permutes; }

  /// Nullopt if an op of the region has more than two orders, a value more than two forms of
  /// different bytes, or the cut cannot express their costs.
  std::optional<Minimum> solve_by_cut(const Region& region, const std::vector<Ports>& ports,
                                      std::vector<int>& chosen) const {
    CutProblem problem;
    std::unordered_map<int, int> index;
    for (int node : region.nodes) {
      if (orders(node) != 2) return std::nullopt;
      index.emplace(node, problem.nodes++);
      const auto& costs = problem_.nodes[static_cast<size_t>(node)].costs;
      problem.second_order_cost.push_back(scalar(costs[1]) - scalar(costs[0]));
    }
    for (int value : region.values) {
      auto cut_value = cut_value_of(value, ports[static_cast<size_t>(value)], index);
      if (!cut_value) return std::nullopt;
      problem.values.push_back(*std::move(cut_value));
    }
    const auto cut = minimum_cut(problem);
    if (!cut) return std::nullopt;
    for (int node : region.nodes)
      chosen[static_cast<size_t>(node)] = cut->order[static_cast<size_t>(index.at(node))];
    Minimum minimum;
    minimum.cost = cost_in(region, ports, chosen);
    int64_t bound = cut->cost;
    for (int node : region.nodes)
      bound += scalar(problem_.nodes[static_cast<size_t>(node)].costs[0]);
    minimum.bound = minimum.cost;
    if (scalar(minimum.cost) != bound)
      minimum.bound = Cost{bound / kPermuteScale, bound % kPermuteScale, 0, 0};
    return minimum;
  }

  std::optional<CutValue> cut_value_of(int value, const Ports& p,
                                       const std::unordered_map<int, int>& index) const {
    Conversions conversions(problem_.values[static_cast<size_t>(value)], moves_);
    std::vector<int> forms;  // one for each movement
    auto side = [&](int form) -> std::optional<bool> {
      for (size_t f = 0; f < forms.size(); ++f)
        if (conversions.movement(forms[f]) == conversions.movement(form)) return f == 1;
      if (forms.size() == 2) return std::nullopt;
      forms.push_back(form);
      return forms.size() == 2;
    };
    bool expressible = true;
    auto port = [&](int node, int first, int second) {
      const auto a = side(first), b = side(second);
      expressible = expressible && a && b;
      if (!expressible) return CutPort{};
      return *a == *b ? CutPort{-1, *a} : CutPort{index.at(node), *a};
    };
    CutValue result;
    result.producer = p.writer < 0 ? port(-1, p.written, p.written)
                                   : port(p.writer, written(p, 0), written(p, 1));
    for (int form : p.fixed) result.readers.push_back(port(-1, form, form));
    for (int reader : p.readers) {
      std::vector<int> first, second;
      add_reads(reader, 0, value, first);
      add_reads(reader, 1, value, second);
      for (size_t i = 0; i < first.size(); ++i)
        result.readers.push_back(port(reader, first[i], second[i]));
    }
    if (!expressible) return std::nullopt;
    if (forms.size() == 2) {
      result.to_b = scalar(conversions.cost(forms[0], {forms[1]}));
      result.to_a = scalar(conversions.cost(forms[1], {forms[0]}));
    }
    return result;
  }

  int written(const Ports& p, int order) const {
    return p.writer < 0
               ? p.written
               : problem_.nodes[static_cast<size_t>(p.writer)].writes[static_cast<size_t>(order)];
  }

  /// One table over the producer and the readers.
  void add_table(int value, const Ports& p, const std::unordered_map<int, int>& variable,
                 Energy& energy) const {
    std::vector<int> nodes;
    if (p.writer >= 0) nodes.push_back(p.writer);
    for (int reader : p.readers)
      if (reader != p.writer) nodes.push_back(reader);
    Conversions conversions(problem_.values[static_cast<size_t>(value)], moves_);
    Factor factor;
    for (int node : nodes) factor.scope.push_back(variable.at(node));
    std::vector<int> order(nodes.size(), 0);
    bool more = true;
    while (more) {
      std::vector<int> read = p.fixed;
      for (size_t i = 0; i < nodes.size(); ++i)
        if (std::ranges::find(p.readers, nodes[i]) != p.readers.end())
          add_reads(nodes[i], order[i], value, read);
      factor.table.push_back(
          conversions.cost(written(p, order.empty() ? 0 : order[0]), std::move(read)));
      more = false;
      for (size_t i = nodes.size(); i-- > 0 && !more;) {
        more = ++order[i] < orders(nodes[i]);
        if (!more) order[i] = 0;
      }
    }
    energy.factors.push_back(std::move(factor));
  }

  /// A variable for the set of forms in which the value is kept: paid against the producer, and
  /// every reader must find its form in it. So a converted copy is paid once.
  void add_kept_forms(int value, const Ports& p, const std::unordered_map<int, int>& variable,
                      Energy& energy) const {
    std::vector<int> forms;
    for (int reader : p.readers)
      for (int order = 0; order < orders(reader); ++order) add_reads(reader, order, value, forms);
    std::ranges::sort(forms);
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    const int kept = static_cast<int>(energy.domain.size());
    const int sets = 1 << forms.size();
    energy.domain.push_back(sets);

    Conversions conversions(problem_.values[static_cast<size_t>(value)], moves_);
    Factor paid{{}, {}};
    if (p.writer >= 0) paid.scope.push_back(variable.at(p.writer));
    paid.scope.push_back(kept);
    for (int order = 0; order < (p.writer >= 0 ? orders(p.writer) : 1); ++order) {
      for (int set = 0; set < sets; ++set) {
        std::vector<int> read = p.fixed;
        for (size_t f = 0; f < forms.size(); ++f)
          if (set >> f & 1) read.push_back(forms[f]);
        paid.table.push_back(conversions.cost(written(p, order), std::move(read)));
      }
    }
    energy.factors.push_back(std::move(paid));
    for (int reader : p.readers) {
      Factor found{{variable.at(reader), kept}, {}};
      for (int order = 0; order < orders(reader); ++order) {
        std::vector<int> read;
        add_reads(reader, order, value, read);
        for (int set = 0; set < sets; ++set) {
          const bool all = std::ranges::all_of(read, [&](int form) {
            const auto f = std::ranges::find(forms, form) - forms.begin();
            return (set >> f & 1) != 0;
          });
          found.table.push_back(all ? Cost{} : Cost::forbidden());
        }
      }
      energy.factors.push_back(std::move(found));
    }
  }

  const PlacementProblem& problem_;
  const MoveCosts& moves_;
  const std::vector<int> source_orders_;
  Cost before_;  // of the region solved last, in the orders of the source
};

}  // namespace

Placement place(const PlacementProblem& problem, const MoveCosts& moves) {
  return Solver(problem, moves).run();
}

}  // namespace layline
