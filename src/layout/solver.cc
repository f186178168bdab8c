#include "layout/solver.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "layout/conversions.h"
#include "layout/disjoint_sets.h"
#include "layout/elimination.h"
#include "layout/kept_sets.h"
#include "layout/min_cut.h"

namespace layline {
namespace {

// Values with more readers than this get a variable of their own for the set of copies that are
// kept; below it a table over all of them is smaller.
constexpr size_t kMostReadersInOneTable = 2;

constexpr size_t kPartTables = size_t{1} << 15;
constexpr size_t kFewOpsTables = size_t{1} << 20;

// Sets of copies of one value that are told apart: in general, and where ops are few.
constexpr size_t kMostKeptSets = 1000;
constexpr size_t kMoreKeptSets = 3000;
constexpr size_t kFewOps = 24;

// Working out an entry of a table, against looking at it.
constexpr size_t kWorkOfEntry = 8;

// Entries of a table during elimination: first a size that is quickly exhausted, then what memory
// allows. In parts of the graph that are searched for a proof, it depends on how many ops they
// have.
constexpr size_t kSmallTables = size_t{1} << 10;
constexpr size_t kLargeTables = size_t{1} << 18;

// More permutes than this in one region would overflow the scalar cost of a cut.
constexpr int64_t kPermuteScale = int64_t{1} << 17;

/// The ops that have a choice and that the cost of one value depends on.
struct Ports {
  int writer = -1;           // the producer, if it has a choice
  int written = 0;           // otherwise the form it writes
  std::vector<int> readers;  // distinct
  std::vector<int> fixed;    // forms that are read whatever is chosen
};

}  // namespace

class Solver::Implementation {
 public:
  Implementation(const PlacementProblem& problem, const MoveCosts& moves)
      : problem_(problem),
        source_orders_(problem.nodes.size(), 0),
        left_(problem.nodes.size()),
        inside_(problem.nodes.size(), false),
        ports_(problem.values.size()) {
    conversions_.reserve(problem.values.size());
    for (const PlacedValue& value : problem.values) conversions_.emplace_back(value, moves);
  }

  Choice cheapest() {
    Choice choice;
    choice.order.assign(problem_.nodes.size(), 0);
    DisjointSets sets(problem_.nodes.size());
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      ports_[v] = ports_of(problem_.values[v]);
      for (int reader : ports_[v].readers)
        sets.join(reader, ports_[v].writer >= 0 ? ports_[v].writer : ports_[v].readers[0]);
    }
    // Ops and values by region; values without a choice cost what they cost.
    std::unordered_map<int, Region> regions;
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      if (has_choice(static_cast<int>(n)))
        regions[sets.find(static_cast<int>(n))].nodes.push_back(static_cast<int>(n));
      else
        choice.cost += problem_.nodes[n].costs[0];
    }
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const int member = a_port(ports_[v]);
      if (member >= 0)
        regions[sets.find(member)].values.push_back(static_cast<int>(v));
      else
        choice.cost += cost_of_value(static_cast<int>(v), choice.order);
    }
    choice.bound = choice.before = choice.cost;
    for (const auto& [root, region] : regions) {
      const Minimum minimum = solve(region, choice.order);
      choice.cost += minimum.cost;
      choice.bound += minimum.bound;
      choice.before += cost_in(region, source_orders_);
      choice.largest_region = std::max(choice.largest_region, region.nodes.size());
    }
    choice.regions = regions.size();
    return choice;
  }

  std::vector<int> paying(const std::vector<int>& order) {
    std::vector<bool> found(problem_.nodes.size(), false);
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      const Cost& cost = problem_.nodes[n].costs[static_cast<size_t>(order[n])];
      found[n] = cost.time_ps > 0 || cost.permutes > 0;
    }
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const PlacedValue& value = problem_.values[v];
      if (value.forms.size() == 1) continue;
      const Cost cost = full_cost_of_value(static_cast<int>(v), order);
      if (cost.time_ps == 0 && cost.permutes == 0) continue;
      if (value.producer >= 0) found[static_cast<size_t>(value.producer)] = true;
      for (const PlacedValue::Reader& reader : value.readers)
        if (reader.node >= 0) found[static_cast<size_t>(reader.node)] = true;
    }
    std::vector<int> nodes;
    for (size_t n = 0; n < found.size(); ++n)
      if (found[n]) nodes.push_back(static_cast<int>(n));
    return nodes;
  }

  PartialCost part(const std::vector<int>& nodes, const std::vector<int>& order) {
    for (int node : nodes) inside_[static_cast<size_t>(node)] = true;
    PartialCost result;
    Region region;
    for (int node : nodes) {
      const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
      if (has_choice(node))
        region.nodes.push_back(node);
      else
        result.chosen += placed.costs[0];
      region.values.push_back(placed.result);
      for (int value : placed.operands)
        if (value >= 0) region.values.push_back(value);
    }
    std::ranges::sort(region.values);
    region.values.erase(std::unique(region.values.begin(), region.values.end()),
                        region.values.end());
    std::erase_if(region.values, [&](int value) {
      const PlacedValue& placed = problem_.values[static_cast<size_t>(value)];
      if (placed.producer >= 0 && !is_known(placed.producer)) return true;
      Ports& ports = ports_[static_cast<size_t>(value)] = ports_of(placed, &inside_);
      if (a_port(ports) >= 0) return false;
      result.chosen += cost_of_value(value, order);
      return true;
    });
    result.least = result.chosen;
    if (!region.nodes.empty()) search(region, order, result);
    for (int node : nodes) inside_[static_cast<size_t>(node)] = false;
    return result;
  }

  Cost around(const std::vector<int>& nodes, const std::vector<int>& order) {
    Cost cost;
    std::vector<int> values;
    for (int node : nodes) {
      const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
      cost += placed.costs[static_cast<size_t>(order[static_cast<size_t>(node)])];
      values.push_back(placed.result);
      for (int value : placed.operands)
        if (value >= 0) values.push_back(value);
    }
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (int value : values) cost += full_cost_of_value(value, order);
    return cost;
  }

  Cost total(const std::vector<int>& order) {
    Cost cost;
    for (size_t n = 0; n < problem_.nodes.size(); ++n)
      cost += problem_.nodes[n].costs[static_cast<size_t>(order[n])];
    for (size_t v = 0; v < problem_.values.size(); ++v)
      cost += full_cost_of_value(static_cast<int>(v), order);
    return cost;
  }

  Cost apart() {
    Cost cost;
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const PlacedValue& value = problem_.values[v];
      if (value.producer < 0 &&
          std::ranges::all_of(value.readers, [](const auto& reader) { return reader.node < 0; }))
        cost += full_cost_of_value(static_cast<int>(v), source_orders_);
    }
    return cost;
  }

 private:
  struct Region {
    std::vector<int> nodes;
    std::vector<int> values;
  };

  bool has_choice(int node) const {
    return problem_.nodes[static_cast<size_t>(node)].orders.size() > 1;
  }

  /// Of a part of the graph: whether the op is in it, or can do nothing else anyway.
  bool is_known(int node) const {
    return inside_[static_cast<size_t>(node)] ||
           (problem_.nodes[static_cast<size_t>(node)].complete && !has_choice(node));
  }

  static int a_port(const Ports& ports) {
    return ports.writer >= 0 ? ports.writer : ports.readers.empty() ? -1 : ports.readers[0];
  }

  /// With `inside`, only those of the ops in a part of the graph, and of ops that have one order.
  Ports ports_of(const PlacedValue& value, const std::vector<bool>* inside = nullptr) const {
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
      } else if (inside != nullptr && !is_known(reader.node)) {
        continue;
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

  /// The orders of an op that are still of interest, and which they are.
  int orders(int node) const {
    const auto& left = left_[static_cast<size_t>(node)];
    return static_cast<int>(left.empty() ? problem_.nodes[static_cast<size_t>(node)].orders.size()
                                         : left.size());
  }
  int order_at(int node, int place) const {
    const auto& left = left_[static_cast<size_t>(node)];
    return left.empty() ? place : left[static_cast<size_t>(place)];
  }

  /// The variables of the region's ops come first, in their order.
  Energy energy_of(const Region& region, size_t most_sets) {
    Energy energy;
    std::unordered_map<int, int> variable;
    for (int node : region.nodes) {
      variable.emplace(node, static_cast<int>(energy.domain.size()));
      energy.domain.push_back(orders(node));
      Factor own{{variable.at(node)}, {}};
      for (int i = 0; i < orders(node); ++i)
        own.table.push_back(problem_.nodes[static_cast<size_t>(node)]
                                .costs[static_cast<size_t>(order_at(node, i))]);
      energy.factors.push_back(std::move(own));
    }
    for (int value : region.values) {
      const Ports& p = ports_[static_cast<size_t>(value)];
      if (fits_one_table(p))
        add_table(value, p, variable, energy);
      else
        add_kept_copies(value, p, variable, most_sets, energy);
    }
    return energy;
  }

  /// Looks for something cheaper than a choice in a part of the graph.
  void search(const Region& region, const std::vector<int>& order, PartialCost& result) {
    const Cost known = cost_in(region, order);
    result.chosen += known;
    const Cost rest = result.least;
    result.least = result.chosen;
    if (narrow(region, known)) {
      const bool small = region.nodes.size() <= kFewOps;
      const Energy energy = energy_of(region, small ? kMoreKeptSets : kMostKeptSets);
      for (const Factor& factor : energy.factors) result.work += factor.table.size() * kWorkOfEntry;
      const Pruned pruned = prune(energy, known);
      Minimum minimum;
      minimum.bound = known;
      if (!pruned.empty) minimum = minimise(pruned.energy, small ? kFewOpsTables : kPartTables);
      result.work += minimum.work;
      if (minimum.bound.price() < known.price()) {
        result.least = rest + minimum.bound;
        result.exact = minimum.exact();
        for (size_t i = 0; i < region.nodes.size(); ++i)
          result.cheapest.emplace_back(
              region.nodes[i],
              order_at(region.nodes[i], pruned.kept[i][static_cast<size_t>(minimum.choice[i])]));
      }
    }
    for (int node : region.nodes) left_[static_cast<size_t>(node)].clear();
    most_paid_.clear();
  }

  /// Keeps only such orders of the region's ops as can be part of something cheaper than `limit`.
  /// False if an op has none: nothing is cheaper.
  bool narrow(const Region& region, Cost limit) {
    for (int node : region.nodes) {
      auto& left = left_[static_cast<size_t>(node)];
      left.resize(problem_.nodes[static_cast<size_t>(node)].orders.size());
      std::iota(left.begin(), left.end(), 0);
    }
    for (bool fewer = true; fewer;) {
      fewer = false;
      // What each order of each op costs at least, with all values at the op; `all` is what ops and
      // values cost at least, and `own` the part of it that is at one op.
      std::unordered_map<int, Least> least;
      Cost all;
      for (int node : region.nodes) {
        Least& at = least[node];
        for (int order : left_[static_cast<size_t>(node)])
          at.with.push_back(
              problem_.nodes[static_cast<size_t>(node)].costs[static_cast<size_t>(order)]);
        at.own = *std::ranges::min_element(at.with);
        all += at.own;
      }
      for (int value : region.values) all += most_paid_[value] = add_least(value, least);
      for (auto& [value, cost] : most_paid_) cost = limit - (all - cost);
      for (int node : region.nodes) {
        auto& left = left_[static_cast<size_t>(node)];
        const Least& at = least.at(node);
        const Cost elsewhere = all - at.own;
        std::vector<int> kept;
        for (size_t i = 0; i < left.size(); ++i)
          if ((at.with[i] + elsewhere).price() < limit.price()) kept.push_back(left[i]);
        fewer = fewer || kept.size() < left.size();
        left = std::move(kept);
        if (left.empty()) return false;
      }
    }
    return true;
  }

  struct Least {
    std::vector<Cost> with;  // each order
    Cost own;
  };

  /// Adds what a value costs at least with each order of each op at it, and returns what it costs
  /// at least with any.
  Cost add_least(int value, std::unordered_map<int, Least>& least) {
    const Ports& p = ports_[static_cast<size_t>(value)];
    Conversions& conversions = conversions_[static_cast<size_t>(value)];
    std::vector<int> written_forms;
    if (p.writer < 0) written_forms.push_back(p.written);
    for (int i = 0; p.writer >= 0 && i < orders(p.writer); ++i)
      add_form(conversions, written_forms, written(p, order_at(p.writer, i)));
    // A copy may serve all readers: no more than the dearest of them counts.
    std::vector<Cost> of_writer;
    for (int form : written_forms) of_writer.push_back(conversions.cost(form, p.fixed));
    for (int reader : p.readers) {
      std::vector<int> forms;
      for (int i = 0; i < orders(reader); ++i) {
        std::vector<int> read;
        add_reads(reader, order_at(reader, i), value, read);
        Cost most;
        for (int form : read) {
          most = std::max(most, cheapest(conversions, written_forms, {form}));
          add_form(conversions, forms, form);
        }
        least.at(reader).with[static_cast<size_t>(i)] += most;
      }
      for (size_t f = 0; f < written_forms.size(); ++f)
        of_writer[f] = std::max(of_writer[f], cheapest(conversions, {written_forms[f]}, forms));
    }
    const Cost any = *std::ranges::min_element(of_writer);
    if (p.writer >= 0) {
      Least& writer = least.at(p.writer);
      writer.own += any;
      for (int i = 0; i < orders(p.writer); ++i) {
        const int form = written(p, order_at(p.writer, i));
        size_t f = 0;
        while (conversions.movement(written_forms[f]) != conversions.movement(form)) ++f;
        writer.with[static_cast<size_t>(i)] += of_writer[f];
      }
    }
    for (int reader : p.readers) least.at(reader).own += any;
    return any;
  }

  static Cost cheapest(Conversions& conversions, const std::vector<int>& from,
                       const std::vector<int>& to) {
    for (int f : from)
      if (contains(conversions, to, f)) return {};
    Cost best = Cost::forbidden();
    for (int f : from)
      for (int t : to) best = std::min(best, conversions.between(f, t));
    return best;
  }

  static void add_form(Conversions& conversions, std::vector<int>& forms, int form) {
    if (!contains(conversions, forms, form)) forms.push_back(form);
  }

  Minimum solve(const Region& region, std::vector<int>& chosen) {
    const Energy energy = energy_of(region, kMostKeptSets);
    Minimum minimum = minimise(energy, kSmallTables);
    if (!minimum.exact()) {
      // Too wide to be eliminated variable by variable: a cut if two orders are all there is.
      if (auto cut = solve_by_cut(region, chosen)) return *cut;
      minimum = minimise(energy, kLargeTables);
    }
    for (size_t i = 0; i < region.nodes.size(); ++i)
      chosen[static_cast<size_t>(region.nodes[i])] = minimum.choice[i];
    // Kept copies are told apart only as far as they are few: what is chosen may cost more.
    minimum.cost = std::max(minimum.bound, cost_in(region, chosen));
    // A choice that is not proved best may be worse than none.
    if (minimum.bound < minimum.cost && cost_in(region, source_orders_) < minimum.cost) {
      minimum.cost = cost_in(region, source_orders_);
      for (int node : region.nodes) chosen[static_cast<size_t>(node)] = 0;
    }
    return minimum;
  }

  Cost cost_in(const Region& region, const std::vector<int>& order) {
    Cost cost;
    for (int node : region.nodes)
      cost += problem_.nodes[static_cast<size_t>(node)]
                  .costs[static_cast<size_t>(order[static_cast<size_t>(node)])];
    for (int value : region.values) cost += cost_of_value(value, order);
    return cost;
  }

  /// Whatever part of the graph was looked at before.
  Cost full_cost_of_value(int value, const std::vector<int>& order) {
    ports_[static_cast<size_t>(value)] = ports_of(problem_.values[static_cast<size_t>(value)]);
    return cost_of_value(value, order);
  }

  Cost cost_of_value(int value, const std::vector<int>& order) {
    auto of = [&](int node) { return order[static_cast<size_t>(node)]; };
    const Ports& p = ports_[static_cast<size_t>(value)];
    std::vector<int> read = p.fixed;
    for (int reader : p.readers) add_reads(reader, of(reader), value, read);
    return conversions_[static_cast<size_t>(value)].cost(
        written(p, p.writer < 0 ? 0 : of(p.writer)), std::move(read));
  }

  /// Time and permutes as one number; views do not count in a cut.
  static int64_t scalar(Cost cost) { return cost.time_ps * kPermuteScale + cost.permutes; }

  /// Nullopt if an op of the region has more than two orders, a value more than two forms of
  /// different bytes, or the cut cannot express their costs.
  std::optional<Minimum> solve_by_cut(const Region& region, std::vector<int>& chosen) {
    CutProblem problem;
    std::unordered_map<int, int> index;
    for (int node : region.nodes) {
      if (orders(node) != 2) return std::nullopt;
      index.emplace(node, problem.nodes++);
      const auto& costs = problem_.nodes[static_cast<size_t>(node)].costs;
      problem.second_order_cost.push_back(scalar(costs[1]) - scalar(costs[0]));
    }
    for (int value : region.values) {
      auto cut_value = cut_value_of(value, ports_[static_cast<size_t>(value)], index);
      if (!cut_value) return std::nullopt;
      problem.values.push_back(*std::move(cut_value));
    }
    const auto cut = minimum_cut(problem);
    if (!cut) return std::nullopt;
    for (int node : region.nodes)
      chosen[static_cast<size_t>(node)] = cut->order[static_cast<size_t>(index.at(node))];
    Minimum minimum;
    minimum.cost = cost_in(region, chosen);
    int64_t bound = cut->cost;
    for (int node : region.nodes)
      bound += scalar(problem_.nodes[static_cast<size_t>(node)].costs[0]);
    minimum.bound = minimum.cost;
    if (scalar(minimum.cost) != bound)
      minimum.bound = Cost{bound / kPermuteScale, bound % kPermuteScale, 0, 0};
    return minimum;
  }

  std::optional<CutValue> cut_value_of(int value, const Ports& p,
                                       const std::unordered_map<int, int>& index) {
    Conversions& conversions = conversions_[static_cast<size_t>(value)];
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

  bool fits_one_table(const Ports& p) const {
    if (p.readers.size() <= 1) return true;
    size_t entries = p.writer < 0 ? 1 : static_cast<size_t>(orders(p.writer));
    for (int reader : p.readers) entries *= static_cast<size_t>(orders(reader));
    return p.readers.size() <= kMostReadersInOneTable && entries <= kSmallTables;
  }

  /// One table over the producer and the readers.
  void add_table(int value, const Ports& p, const std::unordered_map<int, int>& variable,
                 Energy& energy) {
    std::vector<int> nodes;
    if (p.writer >= 0) nodes.push_back(p.writer);
    for (int reader : p.readers)
      if (reader != p.writer) nodes.push_back(reader);
    Conversions& conversions = conversions_[static_cast<size_t>(value)];
    Factor factor;
    for (int node : nodes) factor.scope.push_back(variable.at(node));
    std::vector<int> order(nodes.size(), 0);
    bool more = true;
    while (more) {
      std::vector<int> read = p.fixed;
      for (size_t i = 0; i < nodes.size(); ++i)
        if (std::ranges::find(p.readers, nodes[i]) != p.readers.end())
          add_reads(nodes[i], order_at(nodes[i], order[i]), value, read);
      const int writes = p.writer < 0 ? 0 : order_at(p.writer, order[0]);
      factor.table.push_back(conversions.cost(written(p, writes), std::move(read)));
      more = false;
      for (size_t i = nodes.size(); i-- > 0 && !more;) {
        more = ++order[i] < orders(nodes[i]);
        if (!more) order[i] = 0;
      }
    }
    energy.factors.push_back(std::move(factor));
  }

  /// A variable for the set of movements in which the value is kept: paid against the producer, and
  /// every reader must find its own in it. So a converted copy is paid once.
  void add_kept_copies(int value, const Ports& p, const std::unordered_map<int, int>& variable,
                       size_t most_sets, Energy& energy) {
    Conversions& conversions = conversions_[static_cast<size_t>(value)];
    std::vector<int> copies;  // a form for each movement that is read
    size_t reads = 0;
    for (int reader : p.readers) {
      std::vector<int> read;
      for (int order = 0; order < orders(reader); ++order) {
        read.clear();
        add_reads(reader, order_at(reader, order), value, read);
        for (int form : read)
          if (!contains(conversions, copies, form)) copies.push_back(form);
      }
      reads += read.size();
    }
    auto paid_for = [&](int form, const std::vector<int>& set) {
      std::vector<int> read = p.fixed;
      for (int copy : set) read.push_back(copies[static_cast<size_t>(copy)]);
      return conversions.cost(form, std::move(read));
    };
    const auto limit = most_paid_.find(value);
    const KeptSets sets(copies.size(), reads, most_sets, [&](const std::vector<int>& set) {
      if (limit == most_paid_.end()) return false;
      for (int i = 0; i < (p.writer >= 0 ? orders(p.writer) : 1); ++i)
        if (paid_for(written(p, p.writer >= 0 ? order_at(p.writer, i) : 0), set).price() <
            limit->second.price())
          return false;
      return true;
    });
    const int kept = static_cast<int>(energy.domain.size());
    energy.domain.push_back(sets.count());

    Factor paid{{}, {}};
    if (p.writer >= 0) paid.scope.push_back(variable.at(p.writer));
    paid.scope.push_back(kept);
    for (int order = 0; order < (p.writer >= 0 ? orders(p.writer) : 1); ++order) {
      const int form = written(p, p.writer >= 0 ? order_at(p.writer, order) : 0);
      for (const std::vector<int>& set : sets.all()) paid.table.push_back(paid_for(form, set));
      if (sets.has_rest()) paid.table.push_back(least_of_rest(conversions, form, copies, p, sets));
    }
    energy.factors.push_back(std::move(paid));
    for (int reader : p.readers) {
      Factor found{{variable.at(reader), kept}, {}};
      for (int order = 0; order < orders(reader); ++order) {
        std::vector<int> read;
        add_reads(reader, order_at(reader, order), value, read);
        const auto views = std::ranges::count_if(
            read, [&](int form) { return std::ranges::find(copies, form) == copies.end(); });
        for (const std::vector<int>& set : sets.all()) {
          const bool all = std::ranges::all_of(read, [&](int form) {
            return std::ranges::any_of(set, [&](int copy) {
              return conversions.movement(copies[static_cast<size_t>(copy)]) ==
                     conversions.movement(form);
            });
          });
          found.table.push_back(all ? Cost{0, 0, views, 0} : Cost::forbidden());
        }
        if (sets.has_rest()) found.table.push_back({});
      }
      energy.factors.push_back(std::move(found));
    }
  }

  static bool contains(Conversions& conversions, const std::vector<int>& forms, int form) {
    return std::ranges::any_of(forms, [&](int other) {
      return conversions.movement(other) == conversions.movement(form);
    });
  }

  /// No set with more copies than the largest that is told apart costs less.
  static Cost least_of_rest(Conversions& conversions, int written, const std::vector<int>& copies,
                            const Ports& p, const KeptSets& sets) {
    std::vector<Cost> each;
    for (int copy : copies)
      if (!contains(conversions, p.fixed, copy)) each.push_back(conversions.cost(written, {copy}));
    std::ranges::sort(each);
    // Outputs may have some of the copies, for nothing.
    const size_t free = copies.size() - each.size();
    Cost cost = conversions.cost(written, p.fixed);
    for (size_t i = 0; i + free < sets.largest() + 1 && i < each.size(); ++i) cost += each[i];
    return cost;
  }

  const PlacementProblem& problem_;
  const std::vector<int> source_orders_;
  std::unordered_map<int, Cost> most_paid_;  // for a value, in anything cheaper than a limit
  std::vector<std::vector<int>> left_;       // orders of interest, where they are not all
  std::vector<bool> inside_;                 // the ops of a part of the graph
  std::vector<Ports> ports_;                 // of each value
  std::vector<Conversions> conversions_;
};

Solver::Solver(const PlacementProblem& problem, const MoveCosts& moves)
    : implementation_(std::make_unique<Implementation>(problem, moves)) {}
Solver::~Solver() = default;

Choice Solver::cheapest() { return implementation_->cheapest(); }
std::vector<int> Solver::paying(const std::vector<int>& order) {
  return implementation_->paying(order);
}
PartialCost Solver::part(const std::vector<int>& nodes, const std::vector<int>& order) {
  return implementation_->part(nodes, order);
}
Cost Solver::around(const std::vector<int>& nodes, const std::vector<int>& order) {
  return implementation_->around(nodes, order);
}
Cost Solver::total(const std::vector<int>& order) { return implementation_->total(order); }
Cost Solver::apart() { return implementation_->apart(); }

}  // namespace layline
