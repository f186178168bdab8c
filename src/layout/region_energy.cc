#include "layout/region_energy.h"

#include <algorithm>

#include "layout/kept_sets.h"

namespace layline {
namespace {

// Values with more readers than this get a variable of their own for the set of copies that are
// kept; below it a table over all of them is smaller.
constexpr size_t kMostReadersInOneTable = 2;
constexpr size_t kMostEntriesInOneTable = size_t{1} << 10;

class Tables {
 public:
  Tables(Choices& choices, size_t most_sets, const MostPaid& most_paid, size_t most_entries)
      : choices_(choices), most_sets_(most_sets), most_paid_(most_paid), room_(most_entries) {}

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
    return p.readers.size() <= kMostReadersInOneTable && entries <= kMostEntriesInOneTable;
  }

  int writer_orders(const Ports& p) const { return p.writer < 0 ? 1 : choices_.orders(p.writer); }
  int written_at(const Ports& p, int place) const {
    return choices_.written(p, p.writer < 0 ? 0 : choices_.order_at(p.writer, place));
  }

  /// Makes room for a table over variables of these sizes; false if there is none left.
  bool reserve(Factor& factor, size_t a, size_t b) {
    if (b != 0 && a > room_ / b) return false;
    room_ -= a * b;
    factor.table.reserve(a * b);
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
    if (!reserve(factor, entries, 1)) return false;
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

  /// A variable for the set of movements in which the value is kept: paid against the producer, and
  /// every reader must find its own in it. So a converted copy is paid once. False if the tables
  /// are too large.
  bool add_kept_copies(int value, const Ports& p) {
    Conversions& conversions = choices_.conversions(value);
    std::vector<int> copies;  // a form for each movement that is read
    std::vector<int> place;   // of a movement among them
    const auto place_of = [&](int form) -> int& {
      const auto movement = static_cast<size_t>(conversions.movement(form));
      if (place.size() <= movement) place.resize(movement + 1, -1);
      return place[movement];
    };
    size_t reads = 0;
    std::vector<int> read;
    for (int reader : p.readers) {
      for (int i = 0; i < choices_.orders(reader); ++i) {
        read.clear();
        choices_.add_reads(reader, choices_.order_at(reader, i), value, read);
        for (int form : read) {
          if (place_of(form) >= 0) continue;
          place_of(form) = static_cast<int>(copies.size());
          copies.push_back(form);
        }
      }
      reads += read.size();
    }
    const KeptSets sets(copies.size(), reads, most_sets_, too_dear(value, copies));
    const int kept = static_cast<int>(energy_.domain.size());
    energy_.domain.push_back(sets.count());

    Factor paid{{}, {}};
    if (p.writer >= 0) paid.scope.push_back(variable_.at(p.writer));
    paid.scope.push_back(kept);
    const auto count = static_cast<size_t>(sets.count());
    if (!reserve(paid, static_cast<size_t>(writer_orders(p)), count)) return false;
    std::unordered_map<int, std::vector<Cost>> row_of;  // what is written
    for (int i = 0; i < writer_orders(p); ++i) {
      const int form = written_at(p, i);
      const auto [row, is_new] = row_of.try_emplace(form);
      if (is_new) {
        std::vector<Cost> each;  // copies move differently, so each adds its own cost
        for (int copy : copies) each.push_back(conversions.added(form, p.fixed, copy));
        row->second = sets.sums(conversions.cost(form, p.fixed), each);
        if (sets.has_rest())
          row->second.push_back(least_of_rest(conversions, form, copies, p, sets));
      }
      paid.table.insert(paid.table.end(), row->second.begin(), row->second.end());
    }
    energy_.factors.push_back(std::move(paid));
    for (int reader : p.readers) {
      Factor found{{variable_.at(reader), kept}, {}};
      if (!reserve(found, static_cast<size_t>(choices_.orders(reader)), count)) return false;
      for (int i = 0; i < choices_.orders(reader); ++i) {
        read.clear();
        choices_.add_reads(reader, choices_.order_at(reader, i), value, read);
        std::vector<int> needed(copies.size(), 0);
        int64_t views = 0;
        for (int form : read) {
          const auto copy = static_cast<size_t>(place_of(form));
          needed[copy] = 1;
          views += copies[copy] != form;
        }
        const auto all = std::ranges::count(needed, 1);
        for (int had : sets.sums(0, needed))
          found.table.push_back(had == all ? Cost{0, 0, views, 0} : Cost::forbidden());
        if (sets.has_rest()) found.table.push_back({});
      }
      energy_.factors.push_back(std::move(found));
    }
    return true;
  }

  /// Whether to keep a set of copies costs more than may be paid for the value, whatever is
  /// written.
  std::function<bool(std::span<const int>)> too_dear(int value, const std::vector<int>& copies) {
    const auto limit = most_paid_.find(value);
    if (limit == most_paid_.end()) return [](const auto&) { return false; };
    const Ports& p = choices_.ports(value);
    Conversions& conversions = choices_.conversions(value);
    struct Written {
      Cost fixed;              // what is read whatever is chosen
      std::vector<Cost> copy;  // each of the others
    };
    std::vector<Written> all;
    for (int form : choices_.written_forms(value)) {
      all.push_back({conversions.cost(form, p.fixed), {}});
      for (int copy : copies)
        all.back().copy.push_back(
            conversions.contains(p.fixed, copy) ? Cost{} : conversions.between(form, copy));
    }
    return [all = std::move(all), most = limit->second](std::span<const int> set) {
      return std::ranges::none_of(all, [&](const Written& written) {
        Cost cost = written.fixed;
        for (int copy : set) cost += written.copy[static_cast<size_t>(copy)];
        return cost.price() < most.price();
      });
    };
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
  const size_t most_sets_;
  const MostPaid& most_paid_;
  size_t room_;  // entries of tables that may still be added
  std::unordered_map<int, int> variable_;
  Energy energy_;
};

}  // namespace

std::optional<Energy> energy_of(Choices& choices, const Region& region, size_t most_sets,
                                const MostPaid& most_paid, size_t most_entries) {
  return Tables(choices, most_sets, most_paid, most_entries).of(region);
}

}  // namespace layline
