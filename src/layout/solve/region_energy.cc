#include "layout/solve/region_energy.h"

#include <algorithm>

#include "layout/solve/kept_sets.h"

namespace layline {
namespace {

class EnergyBuilder {
 public:
  EnergyBuilder(Choices& choices, const PlacementLimits& limits, const MostPaid& most_paid,
                size_t& room)
      : choices_(choices), limits_(limits), most_paid_(most_paid), room_(room) {}

  std::optional<Energy> build(const Region& region) {
    for (NodeIndex node : region.nodes) {
      variable_.emplace(node, energy_.domain.size());
      energy_.domain.push_back(choices_.left_count(node));
      Table own{{variable_.at(node)}, {}};
      for (size_t i = 0; i < choices_.left_count(node); ++i)
        own.entries.push_back(choices_.node_cost(node, choices_.left_at(node, i)));
      energy_.tables.push_back(std::move(own));
    }
    for (ValueIndex value : region.values) {
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
    size_t entries = writer_orders(p);
    for (NodeIndex reader : p.readers) entries *= choices_.left_count(reader);
    return p.readers.size() <= limits_.readers_in_one_table &&
           entries <= limits_.entries_in_one_table;
  }

  size_t writer_orders(const Ports& p) const {
    return p.writer ? choices_.left_count(*p.writer) : 1;
  }
  /// The form that is written in the order at a place among those that are left.
  FormIndex written_at(const Ports& p, size_t place) const {
    return choices_.written(p, p.writer ? choices_.left_at(*p.writer, place) : kSourceOrder);
  }

  /// Takes the room for a table of a times b entries. Returns false if there is not enough left.
  bool take_room(size_t a, size_t b) {
    if (b != 0 && a > room_ / b) return false;
    room_ -= a * b;
    return true;
  }

  /// Adds one table over the producer and the readers. Returns false if it is too large.
  bool add_table(ValueIndex value, const Ports& p) {
    std::vector<NodeIndex> nodes;
    if (p.writer) nodes.push_back(*p.writer);
    for (NodeIndex reader : p.readers)
      if (reader != p.writer) nodes.push_back(reader);
    Table table;
    for (NodeIndex node : nodes) table.scope.push_back(variable_.at(node));
    std::vector<size_t> place(nodes.size(),
                              0);  // for each op, the place of its order among those left
    size_t entries = 1;
    for (NodeIndex node : nodes) entries *= choices_.left_count(node);
    if (!take_room(entries, 1)) return false;
    table.entries.reserve(entries);
    Conversions& conversions = choices_.conversions(value);
    std::vector<FormIndex> read;
    bool more = true;
    while (more) {
      read = p.fixed;
      // A producer that does not read its own result adds nothing.
      for (size_t i = 0; i < nodes.size(); ++i)
        choices_.add_reads(nodes[i], choices_.left_at(nodes[i], place[i]), value, read);
      table.entries.push_back(conversions.cost(written_at(p, p.writer ? place[0] : 0), read));
      more = false;
      for (size_t i = nodes.size(); i-- > 0 && !more;) {
        more = ++place[i] < choices_.left_count(nodes[i]);
        if (!more) place[i] = 0;
      }
    }
    energy_.tables.push_back(std::move(table));
    return true;
  }

  /// The copies of a value that may be needed: a form for each movement that is read.
  class Copies {
   public:
    explicit Copies(Conversions& conversions) : conversions_(conversions) {}

    void add(FormIndex form) {
      const MovementIndex movement = conversions_.movement(form);
      place_of_movement_.extend_to(movement);
      if (place_of_movement_[movement]) return;
      place_of_movement_[movement] = forms_.size();
      forms_.push_back(form);
    }
    const std::vector<FormIndex>& forms() const { return forms_; }
    /// The place among them of the movement of a form that was added.
    size_t place(FormIndex form) const { return *place_of_movement_[conversions_.movement(form)]; }

   private:
    Conversions& conversions_;
    std::vector<FormIndex> forms_;
    Indexed<MovementIndex, std::optional<size_t>> place_of_movement_;
  };

  /// The orders of an op at a value. What they cost there depends on the forms that the op writes
  /// or reads, and many orders have the same.
  struct OrdersAtValue {
    std::optional<NodeIndex> node = {};              // none if there is no choice
    std::vector<std::vector<FormIndex>> forms = {};  // distinct
    std::vector<size_t> of_order = {};  // for each order that is left, which of `forms`
    std::vector<std::vector<PackedCost>> rows = {};  // for each of `forms`, the cost with each set

    void add(const std::vector<FormIndex>& of_next) {
      const auto known = std::ranges::find(forms, of_next);
      of_order.push_back(static_cast<size_t>(known - forms.begin()));
      if (known == forms.end()) forms.push_back(of_next);
    }
  };

  /// The ops at a value, and the copies of it that may be paid for.
  struct ValueCopies {
    OrdersAtValue writer;
    std::vector<OrdersAtValue> readers;
    std::vector<FormIndex> copies;
    size_t reads = 0;  // how often the value is read, at most
    KeptSets::Paid paid;
    std::optional<PackedCost> most;  // what may be paid for the value
  };

  /// Adds a variable for the set of copies in which the value is kept. The producer's table says
  /// what the set costs, and every reader's table asks for the copies that it reads. So a copy is
  /// paid once. Returns false if the tables are too large.
  ///
  /// Where there are too many sets, the variable is for the copies that several ops read. An op
  /// pays by itself for what it reads beside them, so its table is over the written form, too.
  bool add_kept_copies(ValueIndex value, const Ports& p) {
    Conversions& conversions = choices_.conversions(value);
    Copies copies(conversions);
    ValueCopies at;
    at.readers.resize(p.readers.size());
    std::vector<size_t> readers_of_copy;
    for (size_t r = 0; r < p.readers.size(); ++r) {
      at.readers[r].node = p.readers[r];
      at.reads += add_reads(value, at.readers[r], copies);
      count_readers(at.readers[r], copies, readers_of_copy);
    }
    at.writer.node = p.writer;
    for (size_t i = 0; i < writer_orders(p); ++i) at.writer.add({written_at(p, i)});
    at.most = most_paid(value);
    at.copies = copies.forms();
    at.paid = paid_for(at.copies, at.writer, p, conversions);
    const KeptSets sets = kept_sets(at, at.reads);

    ValueCopies shared = at;
    std::erase_if(shared.copies,
                  [&](FormIndex form) { return readers_of_copy[copies.place(form)] < 2; });
    shared.paid = paid_for(shared.copies, shared.writer, p, conversions);
    const KeptSets of_shared = kept_sets(shared, at.reads / 2);
    if (pays_for_own_copies(shared, of_shared, sets)) {
      if (!take_rows(shared, of_shared, shared.writer.forms.size())) return false;
      add_rows_of_writer(shared, of_shared);
      for (OrdersAtValue& reader : shared.readers)
        add_rows_beside(reader, shared, of_shared, p, conversions);
      return add_tables(shared, useful(shared));
    }
    if (!take_rows(at, sets, 1)) return false;
    add_rows_of_writer(at, sets);
    if (sets.has_rest())
      for (size_t w = 0; w < at.writer.forms.size(); ++w)
        at.writer.rows[w].push_back(
            least_of_rest(conversions, at.writer.forms[w][0], at.copies, p, sets));
    for (OrdersAtValue& reader : at.readers) add_rows_of_reader(reader, copies, sets);
    return add_tables(at, useful(at));
  }

  KeptSets kept_sets(const ValueCopies& at, size_t most_copies) const {
    return {at.copies.size(), most_copies, limits_.kept_sets, at.paid,
            at.most.value_or(Cost::forbidden())};
  }

  /// Counts the op at every copy that it reads in one of its orders.
  static void count_readers(const OrdersAtValue& reader, const Copies& copies,
                            std::vector<size_t>& readers_of_copy) {
    readers_of_copy.resize(copies.forms().size(), 0);
    std::vector<bool> counted(readers_of_copy.size(), false);
    for (const std::vector<FormIndex>& read : reader.forms)
      for (FormIndex form : read) {
        const size_t copy = copies.place(form);
        readers_of_copy[copy] += !counted[copy];
        counted[copy] = true;
      }
  }

  /// Whether readers pay by themselves for what is not shared. There are fewer sets then, but the
  /// readers' tables are over the written form, too, so this is for sets that are too many.
  bool pays_for_own_copies(const ValueCopies& at, const KeptSets& of_shared,
                           const KeptSets& sets) const {
    if (!sets.has_rest() || of_shared.has_rest()) return false;
    size_t orders = 0;
    for (const OrdersAtValue& reader : at.readers) orders += reader.of_order.size();
    return orders * at.writer.of_order.size() * of_shared.count() <=
           std::min(limits_.entries_of_own_copies, room_ / 4);
  }

  /// Takes the room for the rows of all ops, those of readers for each of some written forms.
  bool take_rows(const ValueCopies& at, const KeptSets& sets, size_t written) {
    size_t rows = at.writer.forms.size();
    for (const OrdersAtValue& reader : at.readers) rows += reader.forms.size() * written;
    return take_room(rows, sets.count());
  }

  /// Adds what a reader reads of the value in each order. Returns how many reads one order has.
  size_t add_reads(ValueIndex value, OrdersAtValue& reader, Copies& copies) const {
    const NodeIndex node = *reader.node;
    std::vector<FormIndex> read;
    for (size_t i = 0; i < choices_.left_count(node); ++i) {
      read.clear();
      choices_.add_reads(node, choices_.left_at(node, i), value, read);
      reader.add(read);
      for (FormIndex form : read) copies.add(form);
    }
    return read.size();
  }

  /// What the outputs cost, and what each copy costs besides, for each form that may be written.
  static KeptSets::Paid paid_for(const std::vector<FormIndex>& copies, const OrdersAtValue& writer,
                                 const Ports& p, Conversions& conversions) {
    const size_t written = writer.forms.size();
    KeptSets::Paid paid{{}, std::vector<PackedCost>(copies.size() * written)};
    for (size_t w = 0; w < written; ++w) {
      const FormIndex form = writer.forms[w][0];
      paid.fixed.push_back(conversions.cost(form, p.fixed));
      for (size_t copy = 0; copy < copies.size(); ++copy)
        paid.copy[copy * written + w] = conversions.added(form, p.fixed, copies[copy]);
    }
    return paid;
  }

  static void add_rows_of_writer(ValueCopies& at, const KeptSets& sets) {
    const KeptSets::Paid& paid = at.paid;
    OrdersAtValue& writer = at.writer;
    const size_t written = writer.forms.size();
    std::vector<PackedCost> each(paid.copy.size() / written);
    for (size_t w = 0; w < written; ++w) {
      for (size_t copy = 0; copy < each.size(); ++copy) each[copy] = paid.copy[copy * written + w];
      writer.rows.push_back(sets.sums(paid.fixed[w], each));
    }
  }

  /// A set that has all that is read costs nothing but views; other sets are forbidden.
  static void add_rows_of_reader(OrdersAtValue& reader, const Copies& copies,
                                 const KeptSets& sets) {
    for (const std::vector<FormIndex>& read : reader.forms) {
      std::vector<int> needed(copies.forms().size(), 0);
      int64_t views = 0;
      for (FormIndex form : read) {
        const size_t copy = copies.place(form);
        needed[copy] = 1;
        views += copies.forms()[copy] != form;
      }
      const auto all = std::ranges::count(needed, 1);
      auto& row = reader.rows.emplace_back();
      row.reserve(sets.count());
      for (int had : sets.sums(0, needed))
        row.push_back(had == all ? Cost{0, 0, views, 0} : Cost::forbidden());
      if (sets.has_rest()) row.push_back({});
    }
  }

  /// For each form that may be written, the rows of all that the op reads: what the set lacks is
  /// paid by the op.
  static void add_rows_beside(OrdersAtValue& reader, const ValueCopies& at, const KeptSets& sets,
                              const Ports& p, Conversions& conversions) {
    std::vector<FormIndex> paid;
    for (const std::vector<FormIndex>& written : at.writer.forms)
      for (const std::vector<FormIndex>& read : reader.forms) {
        // What the op pays for copies that are not among the shared ones, and for each that is.
        PackedCost own;
        std::vector<PackedCost> of_copy(at.copies.size());
        paid = p.fixed;
        for (FormIndex form : read) {
          const PackedCost cost = conversions.added(written[0], paid, form);
          const auto copy = std::ranges::find_if(at.copies, [&](FormIndex other) {
            return conversions.movement(other) == conversions.movement(form);
          });
          own += cost;
          if (copy != at.copies.end())
            of_copy[static_cast<size_t>(copy - at.copies.begin())] += cost;
          paid.push_back(form);
        }
        auto& row = reader.rows.emplace_back();
        for (PackedCost saved : sets.sums(PackedCost{}, of_copy)) row.push_back(own - saved);
      }
  }

  /// What may be paid for a value at most.
  std::optional<PackedCost> most_paid(ValueIndex value) const {
    const auto limit = most_paid_.find(value);
    if (limit == most_paid_.end()) return std::nullopt;
    return Cost{limit->second.time_ps, limit->second.permutes};
  }

  /// The sets that can be part of anything cheaper than `most`. The ops at a value cost at least so
  /// much with each set.
  std::vector<size_t> useful(const ValueCopies& at) {
    const size_t sets = at.writer.rows[0].size();
    std::vector<PackedCost> all(sets);
    std::optional<PackedCost> most = at.most;
    const auto add = [&](const OrdersAtValue& op, bool counted) {
      std::vector<PackedCost> own(op.forms.size(), Cost::forbidden());  // the cheapest order
      for (size_t k = 0; k < op.of_order.size(); ++k) {
        PackedCost& least = own[op.of_order[k]];
        least =
            std::min(least, counted ? PackedCost{}
                                    : choices_.node_cost(*op.node, choices_.left_at(*op.node, k)));
      }
      std::vector<PackedCost> best(sets, Cost::forbidden());
      for (size_t row = 0; row < op.rows.size(); ++row)
        for (size_t set = 0; set < sets; ++set)
          best[set] = std::min(best[set], own[row % own.size()] + op.rows[row][set]);
      for (size_t set = 0; set < sets; ++set) all[set] += best[set];
      if (most) *most += *std::ranges::min_element(own);
    };
    add(at.writer, !at.writer.node);
    for (const OrdersAtValue& reader : at.readers) add(reader, reader.node == at.writer.node);
    const auto limit = most.value_or(Cost::forbidden()).price();
    std::vector<size_t> result;
    for (size_t set = 0; set < all.size(); ++set)
      if (all[set].price() < limit) result.push_back(set);
    return result;
  }

  /// Adds the tables of the ops at a value. Those of a reader are over the written form, too, if it
  /// has rows for each.
  bool add_tables(const ValueCopies& at, const std::vector<size_t>& sets) {
    const size_t kept = energy_.domain.size();
    energy_.domain.push_back(sets.size());
    if (!add_table_of(at.writer, nullptr, kept, sets)) return false;
    return std::ranges::all_of(at.readers, [&](const OrdersAtValue& reader) {
      const bool each = reader.rows.size() > reader.forms.size();
      return add_table_of(reader, each ? &at.writer : nullptr, kept, sets);
    });
  }

  bool add_table_of(const OrdersAtValue& op, const OrdersAtValue* writer, size_t kept,
                    const std::vector<size_t>& sets) {
    const std::vector<size_t> any = {0};
    const std::vector<size_t>& written = writer != nullptr ? writer->of_order : any;
    if (!take_room(op.of_order.size() * written.size(), sets.size())) return false;
    Table table;
    if (writer != nullptr && writer->node) table.scope.push_back(variable_.at(*writer->node));
    if (op.node) table.scope.push_back(variable_.at(*op.node));
    table.scope.push_back(kept);
    table.entries.reserve(op.of_order.size() * written.size() * sets.size());
    for (size_t w : written)
      for (size_t form : op.of_order) {
        const auto& row = op.rows[w * op.forms.size() + form];
        for (size_t set : sets) table.entries.push_back(row[set]);
      }
    energy_.tables.push_back(std::move(table));
    return true;
  }

  /// What a set costs at least that has more copies than the largest that is told apart.
  static Cost least_of_rest(Conversions& conversions, FormIndex written,
                            const std::vector<FormIndex>& copies, const Ports& p,
                            const KeptSets& sets) {
    std::vector<Cost> each;
    for (FormIndex copy : copies)
      if (!conversions.contains(p.fixed, copy))
        each.push_back(conversions.added(written, {}, copy));
    std::ranges::sort(each);
    // The outputs may read some of the copies, which then cost nothing more.
    const size_t free = copies.size() - each.size();
    Cost cost = conversions.cost(written, p.fixed);
    for (size_t i = 0; i + free < sets.largest() + 1 && i < each.size(); ++i) cost += each[i];
    return cost;
  }

  Choices& choices_;
  const PlacementLimits& limits_;
  const MostPaid& most_paid_;
  size_t& room_;  // entries of tables that may still be worked out
  std::unordered_map<NodeIndex, size_t> variable_;
  Energy energy_;
};

}  // namespace

std::optional<Energy> energy_of(Choices& choices, const Region& region,
                                const PlacementLimits& limits, const MostPaid& most_paid,
                                size_t& room) {
  return EnergyBuilder(choices, limits, most_paid, room).build(region);
}

}  // namespace layline
