#include "layout/region_energy.h"

#include <algorithm>
#include <limits>

#include "layout/kept_sets.h"

namespace layline {
namespace {

class Tables {
 public:
  Tables(Choices& choices, const PlacementLimits& limits, const MostPaid& most_paid, size_t& room)
      : choices_(choices), limits_(limits), most_paid_(most_paid), room_(room) {}

  std::optional<Energy> of(const Region& region) {
    for (int node : region.nodes) {
      variable_.emplace(node, static_cast<int>(energy_.domain.size()));
      energy_.domain.push_back(choices_.orders(node));
      Factor own{{variable_.at(node)}, {}};
      for (int i = 0; i < choices_.orders(node); ++i)
        own.table.push_back(choices_.node_cost(node, choices_.order_at(node, i)));
      energy_.factors.push_back(std::move(own));
    }
    for (int value : region.values) {
      const Ports& ports = choices_.ports(value);
      const bool added =
          fits_one_table(ports) ? add_table(value, ports) : add_kept_copies(value, ports);
      if (!added) return std::nullopt;
    }
    return std::move(energy_);
  }

 private:
  bool fits_one_table(const Ports& p) const {
    if (p.readers.size() <= 1) return true;
    size_t entries = static_cast<size_t>(writer_orders(p));
    for (int reader : p.readers) entries *= static_cast<size_t>(choices_.orders(reader));
    return p.readers.size() <= limits_.readers_in_one_table &&
           entries <= limits_.entries_in_one_table;
  }

  int writer_orders(const Ports& p) const { return p.writer < 0 ? 1 : choices_.orders(p.writer); }
  int written_at(const Ports& p, int place) const {
    return choices_.written(p, p.writer < 0 ? 0 : choices_.order_at(p.writer, place));
  }

  /// For a table over variables of these sizes; false if there is not enough left.
  bool take_room(size_t a, size_t b) {
    if (b != 0 && a > room_ / b) return false;
    room_ -= a * b;
    return true;
  }

  /// One table over the producer and the readers; false if it is too large.
  bool add_table(int value, const Ports& p) {
    std::vector<int> nodes;
    if (p.writer >= 0) nodes.push_back(p.writer);
    for (int reader : p.readers)
      if (reader != p.writer) nodes.push_back(reader);
    Factor factor;
    for (int node : nodes) factor.scope.push_back(variable_.at(node));
    std::vector<int> order(nodes.size(), 0);
    size_t entries = 1;
    for (int node : nodes) entries *= static_cast<size_t>(choices_.orders(node));
    if (!take_room(entries, 1)) return false;
    factor.table.reserve(entries);
    Conversions& conversions = choices_.conversions(value);
    std::vector<int> read;
    bool more = true;
    while (more) {
      read = p.fixed;
      // A producer that does not read its own result adds nothing.
      for (size_t i = 0; i < nodes.size(); ++i)
        choices_.add_reads(nodes[i], choices_.order_at(nodes[i], order[i]), value, read);
      factor.table.push_back(conversions.cost(written_at(p, p.writer < 0 ? 0 : order[0]), read));
      more = false;
      for (size_t i = nodes.size(); i-- > 0 && !more;) {
        more = ++order[i] < choices_.orders(nodes[i]);
        if (!more) order[i] = 0;
      }
    }
    energy_.factors.push_back(std::move(factor));
    return true;
  }

  /// The movements of a value that are read: a form of each.
  class Copies {
   public:
    explicit Copies(Conversions& conversions) : conversions_(conversions) {}

    void add(int form) {
      const auto movement = static_cast<size_t>(conversions_.movement(form));
      if (place_.size() <= movement) place_.resize(movement + 1, kNone);
      if (place_[movement] != kNone) return;
      place_[movement] = forms_.size();
      forms_.push_back(form);
    }
    const std::vector<int>& forms() const { return forms_; }
    /// The place among them of the movement of a form that was added.
    size_t place(int form) const {
      return place_[static_cast<size_t>(conversions_.movement(form))];
    }

   private:
    static constexpr size_t kNone = std::numeric_limits<size_t>::max();
    Conversions& conversions_;
    std::vector<int> forms_;
    std::vector<size_t> place_;  // of each movement
  };

  /// What the cost of an op at a value depends on, in each of its orders: the forms that it writes
  /// or reads there. Many orders have the same.
  struct OfOrders {
    int node = -1;  // none if there is no choice
    std::vector<std::vector<int>> forms;
    std::vector<size_t> of_order;               // which of the forms
    std::vector<std::vector<PackedCost>> rows;  // for all forms, the cost with each set

    void add(const std::vector<int>& of_next) {
      const auto known = std::ranges::find(forms, of_next);
      of_order.push_back(static_cast<size_t>(known - forms.begin()));
      if (known == forms.end()) forms.push_back(of_next);
    }
  };

  /// A variable for the set of movements in which the value is kept: paid against the producer, and
  /// every reader must find its own in it. So a converted copy is paid once. False if the tables
  /// are too large.
  bool add_kept_copies(int value, const Ports& p) {
    Conversions& conversions = choices_.conversions(value);
    Copies copies(conversions);
    std::vector<OfOrders> ops(1 + p.readers.size());
    size_t reads = 0;
    for (size_t r = 0; r < p.readers.size(); ++r) {
      ops[r + 1].node = p.readers[r];
      reads += add_reads(value, ops[r + 1], copies);
    }
    OfOrders& writer = ops[0];
    writer.node = p.writer;
    for (int i = 0; i < writer_orders(p); ++i) writer.add({written_at(p, i)});

    const KeptSets::Paid paid = paid_for(copies.forms(), writer, p, conversions);
    const std::optional<PackedCost> most = most_paid(value);
    const KeptSets sets(copies.forms().size(), reads, limits_.kept_sets, paid,
                        most.value_or(Cost::forbidden()));
    size_t rows = 0;
    for (const OfOrders& op : ops) rows += op.forms.size();
    if (!take_room(rows, static_cast<size_t>(sets.count()))) return false;

    add_rows_of_writer(writer, paid, sets);
    if (sets.has_rest())
      for (size_t w = 0; w < writer.forms.size(); ++w)
        writer.rows[w].push_back(
            least_of_rest(conversions, writer.forms[w][0], copies.forms(), p, sets));
    for (size_t r = 1; r < ops.size(); ++r) add_rows_of_reader(ops[r], copies, sets);
    return add_factors(ops, useful(ops, most));
  }

  /// What a reader reads of the value in each order; returns how many reads that is in one.
  size_t add_reads(int value, OfOrders& reader, Copies& copies) const {
    std::vector<int> read;
    for (int i = 0; i < choices_.orders(reader.node); ++i) {
      read.clear();
      choices_.add_reads(reader.node, choices_.order_at(reader.node, i), value, read);
      reader.add(read);
      for (int form : read) copies.add(form);
    }
    return read.size();
  }

  /// For each form that is written, what the outputs cost, and each copy besides.
  static KeptSets::Paid paid_for(const std::vector<int>& copies, const OfOrders& writer,
                                 const Ports& p, Conversions& conversions) {
    const size_t written = writer.forms.size();
    KeptSets::Paid paid{{}, std::vector<PackedCost>(copies.size() * written)};
    for (size_t w = 0; w < written; ++w) {
      const int form = writer.forms[w][0];
      paid.fixed.push_back(conversions.cost(form, p.fixed));
      for (size_t copy = 0; copy < copies.size(); ++copy)
        paid.copy[copy * written + w] = conversions.added(form, p.fixed, copies[copy]);
    }
    return paid;
  }

  static void add_rows_of_writer(OfOrders& writer, const KeptSets::Paid& paid,
                                 const KeptSets& sets) {
    const size_t written = writer.forms.size();
    std::vector<PackedCost> each(paid.copy.size() / written);
    for (size_t w = 0; w < written; ++w) {
      for (size_t copy = 0; copy < each.size(); ++copy) each[copy] = paid.copy[copy * written + w];
      writer.rows.push_back(sets.sums(paid.fixed[w], each));
    }
  }

  /// Nothing, but for views, with a set that has all that is read; other sets are forbidden.
  static void add_rows_of_reader(OfOrders& reader, const Copies& copies, const KeptSets& sets) {
    for (const std::vector<int>& read : reader.forms) {
      std::vector<int> needed(copies.forms().size(), 0);
      int64_t views = 0;
      for (int form : read) {
        const size_t copy = copies.place(form);
        needed[copy] = 1;
        views += copies.forms()[copy] != form;
      }
      const auto all = std::ranges::count(needed, 1);
      auto& row = reader.rows.emplace_back();
      row.reserve(static_cast<size_t>(sets.count()));
      for (int had : sets.sums(0, needed))
        row.push_back(had == all ? Cost{0, 0, views, 0} : Cost::forbidden());
      if (sets.has_rest()) row.push_back({});
    }
  }

  /// What may be paid for a value at most.
  std::optional<PackedCost> most_paid(int value) const {
    const auto limit = most_paid_.find(value);
    if (limit == most_paid_.end()) return std::nullopt;
    return Cost{limit->second.time_ps, limit->second.permutes};
  }

  /// The sets that can be part of anything cheaper than `most`, by what the ops at a value cost at
  /// least with them.
  std::vector<size_t> useful(const std::vector<OfOrders>& ops, std::optional<PackedCost> most) {
    std::vector<PackedCost> all(ops[0].rows[0].size());
    for (size_t i = 0; i < ops.size(); ++i) {
      const OfOrders& op = ops[i];
      std::vector<PackedCost> own(op.forms.size(), Cost::forbidden());  // of orders with each
      for (size_t k = 0; k < op.of_order.size(); ++k) {
        PackedCost& least = own[op.of_order[k]];
        const bool counted = op.node < 0 || (i > 0 && op.node == ops[0].node);
        least = std::min(
            least,
            counted ? PackedCost{}
                    : choices_.node_cost(op.node, choices_.order_at(op.node, static_cast<int>(k))));
      }
      std::vector<PackedCost> best(all.size(), Cost::forbidden());
      for (size_t f = 0; f < op.rows.size(); ++f)
        for (size_t set = 0; set < best.size(); ++set)
          best[set] = std::min(best[set], own[f] + op.rows[f][set]);
      for (size_t set = 0; set < best.size(); ++set) all[set] += best[set];
      if (most) *most += *std::ranges::min_element(own);
    }
    const auto limit = most.value_or(Cost::forbidden()).price();
    std::vector<size_t> result;
    for (size_t set = 0; set < all.size(); ++set)
      if (all[set].price() < limit) result.push_back(set);
    return result;
  }

  bool add_factors(const std::vector<OfOrders>& ops, const std::vector<size_t>& sets) {
    const int kept = static_cast<int>(energy_.domain.size());
    energy_.domain.push_back(static_cast<int>(sets.size()));
    for (const OfOrders& op : ops) {
      if (!take_room(op.of_order.size(), sets.size())) return false;
      Factor factor;
      if (op.node >= 0) factor.scope.push_back(variable_.at(op.node));
      factor.scope.push_back(kept);
      factor.table.reserve(op.of_order.size() * sets.size());
      for (size_t form : op.of_order)
        for (size_t set : sets) factor.table.push_back(op.rows[form][set]);
      energy_.factors.push_back(std::move(factor));
    }
    return true;
  }

  /// No set with more copies than the largest that is told apart costs less.
  static Cost least_of_rest(Conversions& conversions, int written, const std::vector<int>& copies,
                            const Ports& p, const KeptSets& sets) {
    std::vector<Cost> each;
    for (int copy : copies)
      if (!conversions.contains(p.fixed, copy))
        each.push_back(conversions.added(written, {}, copy));
    std::ranges::sort(each);
    // Outputs may have some of the copies, for nothing.
    const size_t free = copies.size() - each.size();
    Cost cost = conversions.cost(written, p.fixed);
    for (size_t i = 0; i + free < sets.largest() + 1 && i < each.size(); ++i) cost += each[i];
    return cost;
  }

  Choices& choices_;
  const PlacementLimits& limits_;
  const MostPaid& most_paid_;
  size_t& room_;  // entries of tables that may still be worked out
  std::unordered_map<int, int> variable_;
  Energy energy_;
};

}  // namespace

std::optional<Energy> energy_of(Choices& choices, const Region& region,
                                const PlacementLimits& limits, const MostPaid& most_paid,
                                size_t& room) {
  return Tables(choices, limits, most_paid, room).of(region);
}

}  // namespace layline
