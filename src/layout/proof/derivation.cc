#include "layout/proof/derivation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace layline::proof {
namespace {

using Numbers = std::vector<size_t>;

// How far the derivation goes. A lower limit makes a bound lower, and a proof shorter.
constexpr size_t kMostKeptSets = 2000;
constexpr size_t kMostEntries = size_t{1} << 20;  // of a table that is eliminated from
constexpr int kMostRounds = 12;                   // of shifting costs

Numbers united(const Numbers& a, const Numbers& b) {
  Numbers result;
  std::ranges::set_union(a, b, std::back_inserter(result));
  return result;
}

Numbers distinct(Numbers numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// A value of a part: who writes it, and what the others hold of it. Ops are numbered in the part.
struct Term {
  size_t value = 0;
  std::optional<size_t> writer = {};
  Numbers outputs = {};                         // movements; distinct
  Numbers readers = {};                         // ops
  std::vector<std::vector<Numbers>> held = {};  // for each reader and order, with the outputs
};

struct Table {
  Numbers scope;               // variables
  std::vector<Price> entries;  // the last variable fastest
};

class Derivation {
 public:
  Derivation(const Problem& problem, const Numbers& ops, const Numbers& values)
      : problem_(problem), ops_(ops) {
    std::map<size_t, size_t> place;
    for (size_t i = 0; i < ops.size(); ++i) place.emplace(ops[i], i);
    for (size_t op : ops) {
      left_.emplace_back(problem.ops[op].orders.size());
      std::iota(left_.back().begin(), left_.back().end(), size_t{0});
    }
    for (size_t value : values) add_term(value, place);
    terms_at_.resize(ops.size());
    for (size_t t = 0; t < terms_.size(); ++t) {
      if (terms_[t].writer) terms_at_[*terms_[t].writer].push_back(t);
      for (size_t reader : terms_[t].readers) terms_at_[reader].push_back(t);
    }
    limit_ = chosen();
  }

  Derived run() {
    Derived result;
    steps_ = fmt::format("part {}\nops{}\nvalues{}\n", to_text(limit_), listed(ops_), [&] {
      Numbers values;
      for (const Term& term : terms_) values.push_back(term.value);
      return listed(values);
    }());
    result.bound = std::min(limit_, ops_.empty() ? least() : lowest());
    steps_ += fmt::format("gives {}\n", to_text(result.bound));
    result.steps = std::move(steps_);
    return result;
  }

 private:
  static std::string listed(const Numbers& numbers) {
    return numbers.empty() ? "" : fmt::format(" {}", fmt::join(numbers, " "));
  }

  const Order& order(size_t op, size_t number) const {
    return problem_.ops[ops_[op]].orders[number];
  }

  void add_term(size_t v, const std::map<size_t, size_t>& place) {
    const Value& value = problem_.values[v];
    Term term{.value = v, .outputs = distinct(value.outputs)};
    if (value.producer) term.writer = place.at(*value.producer);
    for (size_t reader : value.readers) {
      const auto known = place.find(reader);
      if (known == place.end()) continue;
      const Op& op = problem_.ops[reader];
      term.readers.push_back(known->second);
      auto& held = term.held.emplace_back();
      for (const Order& each : op.orders) {
        Numbers reads;
        for (size_t i = 0; i < op.operands.size(); ++i)
          if (op.operands[i] == v) reads.push_back(each.reads[i]);
        held.push_back(united(term.outputs, distinct(std::move(reads))));
      }
    }
    terms_.push_back(std::move(term));
  }

  /// What the chosen orders cost in the part.
  Price chosen() const {
    Price sum = 0;
    const auto of = [&](size_t op) { return problem_.ops[ops_[op]].chosen; };
    for (size_t i = 0; i < ops_.size(); ++i) sum += order(i, of(i)).price;
    for (const Term& term : terms_) {
      Numbers held = term.outputs;
      for (size_t r = 0; r < term.readers.size(); ++r)
        held = united(held, term.held[r][of(term.readers[r])]);
      sum += price_of_copies(problem_.values[term.value],
                             term.writer ? order(*term.writer, of(*term.writer)).written : 0, held);
    }
    return sum;
  }

  // ---- Before there are tables: an order goes if the part costs too much with it ----

  Price least_of(size_t op) const {
    Price least = kForbidden;
    for (size_t each : left_[op]) least = std::min(least, order(op, each).price);
    return least;
  }

  /// The least over what may be written of the most that one reader needs.
  Price least_of(const Term& term) const {
    const Value& value = problem_.values[term.value];
    Numbers written = {0};
    if (term.writer) {
      written.clear();
      for (size_t each : left_[*term.writer]) written.push_back(order(*term.writer, each).written);
      written = distinct(std::move(written));
    }
    Price least = kForbidden;
    for (size_t from : written) {
      Price most = price_of_copies(value, from, term.outputs);
      for (size_t r = 0; r < term.readers.size() && most < least; ++r) {
        Price reader = kForbidden;
        for (size_t each : left_[term.readers[r]])
          reader = std::min(reader, price_of_copies(value, from, term.held[r][each]));
        most = std::max(most, reader);
      }
      least = std::min(least, most);
    }
    return least;
  }

  Price least() const {
    Price sum = 0;
    for (size_t i = 0; i < ops_.size(); ++i) sum += least_of(i);
    for (const Term& term : terms_) sum += least_of(term);
    return sum;
  }

  /// Drops orders. Returns false if an op has none left.
  bool narrow() {
    Price all = least();
    for (bool fewer = true; fewer;) {
      fewer = false;
      for (size_t op = 0; op < ops_.size(); ++op) {
        const auto here = [&] {
          Price sum = least_of(op);
          for (size_t t : terms_at_[op]) sum += least_of(terms_[t]);
          return sum;
        };
        const Price elsewhere = all - here();
        const Numbers orders = left_[op];
        Numbers kept, dropped;
        for (size_t each : orders) {
          left_[op] = {each};
          (elsewhere + here() >= limit_ ? dropped : kept).push_back(each);
        }
        left_[op] = kept;
        if (dropped.empty()) continue;
        fewer = true;
        steps_ += fmt::format("drop {}{}\n", op, listed(dropped));
        if (kept.empty()) return false;
        all = elsewhere + here();
      }
    }
    return true;
  }

  // ---- Tables ----

  size_t add_variable(Numbers choices) {
    left_.push_back(std::move(choices));
    at_.emplace_back();
    return left_.size() - 1;
  }

  size_t add_table(Table table) {
    for (size_t variable : table.scope) at_[variable].push_back(tables_.size());
    tables_.push_back(std::move(table));
    return tables_.size() - 1;
  }

  /// The movement that is written in each order that is left.
  Numbers written(const Term& term) const {
    if (!term.writer) return {0};
    Numbers result;
    for (size_t each : left_[*term.writer]) result.push_back(order(*term.writer, each).written);
    return result;
  }

  void build() {
    at_.resize(ops_.size());
    for (size_t op = 0; op < ops_.size(); ++op) {
      Table own{{op}, {}};
      for (size_t each : left_[op]) own.entries.push_back(order(op, each).price);
      add_table(std::move(own));
    }
    Price all = 0;
    for (size_t i = 0; i < ops_.size(); ++i) all += least_of(i);
    std::vector<Price> each;
    for (const Term& term : terms_) all += each.emplace_back(least_of(term));
    for (size_t t = 0; t < terms_.size(); ++t) {
      if (terms_[t].readers.size() > 1)
        add_kept(terms_[t], all - each[t]);
      else
        add_pair(terms_[t]);
    }
  }

  void add_pair(const Term& term) {
    Table table;
    if (term.writer) table.scope.push_back(*term.writer);
    for (size_t reader : term.readers) table.scope.push_back(reader);
    for (size_t from : written(term)) {
      if (term.readers.empty())
        table.entries.push_back(price_of_copies(problem_.values[term.value], from, term.outputs));
      else
        for (size_t each : left_[term.readers[0]])
          table.entries.push_back(
              price_of_copies(problem_.values[term.value], from, term.held[0][each]));
    }
    steps_ += fmt::format("table {}{}\n", term.value, listed(term.readers));
    add_table(std::move(table));
  }

  /// A variable for what is held of a value with several readers: all unions of what they read,
  /// without those that cost too much.
  void add_kept(const Term& term, Price elsewhere) {
    const Value& value = problem_.values[term.value];
    const Numbers from = written(term), any = distinct(from);
    const auto is_cheap = [&](const Numbers& set) {
      return std::ranges::any_of(
          any, [&](size_t form) { return elsewhere + price_of_copies(value, form, set) < limit_; });
    };
    std::vector<Numbers> sets = {term.outputs};
    Numbers counted;  // readers
    for (size_t r = 0; r < term.readers.size(); ++r) {
      std::set<Numbers> held, known;
      for (size_t each : left_[term.readers[r]]) held.insert(term.held[r][each]);
      std::vector<Numbers> further;
      for (size_t s = 0; s < sets.size() && further.size() <= kMostKeptSets; ++s)
        for (const Numbers& read : held) {
          Numbers set = united(sets[s], read);
          if (known.insert(set).second && is_cheap(set)) further.push_back(std::move(set));
        }
      if (further.size() > kMostKeptSets) continue;  // what this reader needs is not counted
      sets = std::move(further);
      counted.push_back(r);
    }
    Numbers numbers(sets.size());
    std::iota(numbers.begin(), numbers.end(), size_t{0});
    const size_t kept = add_variable(std::move(numbers));
    add_table({{kept}, std::vector<Price>(sets.size(), 0)});
    Table pays{{}, {}};
    if (term.writer) pays.scope.push_back(*term.writer);
    pays.scope.push_back(kept);
    for (size_t form : from)
      for (const Numbers& set : sets) pays.entries.push_back(price_of_copies(value, form, set));
    add_table(std::move(pays));
    Numbers listed_readers;
    for (size_t r : counted) {
      Table needs{{term.readers[r], kept}, {}};
      for (size_t each : left_[term.readers[r]])
        for (const Numbers& set : sets)
          needs.entries.push_back(std::ranges::includes(set, term.held[r][each]) ? 0 : kForbidden);
      add_table(std::move(needs));
      listed_readers.push_back(term.readers[r]);
    }
    steps_ += fmt::format("table {}{}\n", term.value, listed(listed_readers));
  }

  /// Calls `visit` with each entry and the place of its choice of the variable at `place`.
  template <typename Visit>
  void for_each_entry(Table& table, size_t place, Visit visit) const {
    size_t stride = 1;
    for (size_t i = place + 1; i < table.scope.size(); ++i) stride *= left_[table.scope[i]].size();
    const size_t choices = left_[table.scope[place]].size();
    for (size_t e = 0; e < table.entries.size(); ++e) visit(table.entries[e], e / stride % choices);
  }

  static size_t place_in(const Table& table, size_t variable) {
    return static_cast<size_t>(std::ranges::find(table.scope, variable) - table.scope.begin());
  }

  std::vector<Price> least_with(Table& table, size_t variable) const {
    std::vector<Price> least(left_[variable].size(), kForbidden);
    for_each_entry(table, place_in(table, variable), [&](Price entry, size_t choice) {
      least[choice] = std::min(least[choice], entry);
    });
    return least;
  }

  /// Variables in a sequence in which neighbours come one soon after the other.
  Numbers arranged() const {
    Numbers sequence;
    std::vector<bool> taken(left_.size(), false);
    const auto take = [&](size_t variable) {
      if (!taken[variable]) sequence.push_back(variable);
      taken[variable] = true;
    };
    for (size_t first = 0; first < left_.size(); ++first) {
      size_t next = sequence.size();
      take(first);
      for (; next < sequence.size(); ++next)
        for (size_t t : at_[sequence[next]])
          for (size_t other : tables_[t].scope) take(other);
    }
    return sequence;
  }

  /// Moves costs of a variable's choices between its tables: all go to its own, and from there in
  /// equal shares to those that lead on.
  void gather(size_t variable, const Numbers& rank, bool back) {
    const auto leads = [&](const Table& table, bool on) {
      return std::ranges::any_of(table.scope, [&](size_t other) {
        return on ? rank[other] > rank[variable] : rank[other] < rank[variable];
      });
    };
    Price ahead = 0, behind = 0;
    std::vector<std::vector<Price>> least;
    std::vector<Price> all = tables_[own(variable)].entries;
    for (size_t t : at_[variable]) {
      least.emplace_back();
      if (t == own(variable)) continue;
      least.back() = least_with(tables_[t], variable);
      for (size_t k = 0; k < all.size(); ++k) all[k] += least.back()[k];
      ahead += leads(tables_[t], !back);
      behind += leads(tables_[t], back);
    }
    const Price shares = std::max<Price>({ahead, behind, 1});
    for (size_t i = 0; i < at_[variable].size(); ++i) {
      const size_t t = at_[variable][i];
      if (t == own(variable)) continue;
      std::vector<int64_t> moved(all.size(), 0);
      for (size_t k = 0; k < all.size(); ++k) {
        if (all[k] >= kForbidden) continue;
        const Price dealt = leads(tables_[t], !back) ? all[k] / kPermutes / shares : 0;
        moved[k] = static_cast<int64_t>(least[i][k] / kPermutes - dealt);
      }
      move(t, variable, moved);
    }
  }

  /// The table of a variable alone.
  size_t own(size_t variable) const { return at_[variable].front(); }

  void move(size_t t, size_t variable, const std::vector<int64_t>& moved) {
    if (std::ranges::all_of(moved, [](int64_t ps) { return ps == 0; })) return;
    steps_ += fmt::format("move {} {} {}\n", t, variable, fmt::join(moved, " "));
    for_each_entry(tables_[t], place_in(tables_[t], variable), [&](Price& entry, size_t choice) {
      if (entry < kForbidden) entry -= moved[choice] * kPermutes;
    });
    auto& entries = tables_[own(variable)].entries;
    for (size_t k = 0; k < moved.size(); ++k)
      if (entries[k] < kForbidden) entries[k] += moved[k] * kPermutes;
  }

  Price least_of_tables() const {
    Price sum = 0;
    for (const Table& table : tables_)
      if (!table.entries.empty()) sum += *std::ranges::min_element(table.entries);
    return sum;
  }

  /// Drops choices of variables. Returns how many are gone.
  size_t prune() {
    std::vector<std::vector<Price>> more;
    for (const Numbers& choices : left_) more.emplace_back(choices.size(), 0);
    Price all = 0;
    for (Table& table : tables_) {
      const Price any = *std::ranges::min_element(table.entries);
      all += any;
      for (size_t variable : table.scope) {
        const auto least = least_with(table, variable);
        for (size_t k = 0; k < least.size(); ++k) more[variable][k] += least[k] - any;
      }
    }
    size_t gone = 0;
    for (size_t variable = 0; variable < left_.size(); ++variable) {
      Numbers kept, dropped;
      for (size_t k = 0; k < left_[variable].size(); ++k)
        (all + more[variable][k] >= limit_ ? dropped : kept).push_back(k);
      if (dropped.empty()) continue;
      gone += dropped.size();
      Numbers told;
      for (size_t k : dropped) told.push_back(left_[variable][k]);
      steps_ += fmt::format("drop {}{}\n", variable, listed(told));
      if (kept.empty()) {
        left_[variable].clear();
        return gone;
      }
      restrict(variable, kept);
    }
    return gone;
  }

  void restrict(size_t variable, const Numbers& kept) {
    for (size_t t : at_[variable]) {
      Table& table = tables_[t];
      std::vector<bool> stays(left_[variable].size(), false);
      for (size_t k : kept) stays[k] = true;
      std::vector<Price> entries;
      for_each_entry(table, place_in(table, variable), [&](Price entry, size_t choice) {
        if (stays[choice]) entries.push_back(entry);
      });
      table.entries = std::move(entries);
    }
    Numbers choices;
    for (size_t k : kept) choices.push_back(left_[variable][k]);
    left_[variable] = std::move(choices);
  }

  /// Minimises a variable out of the sum of some tables.
  void eliminate(size_t variable, const Numbers& group) {
    Numbers scope;
    for (size_t t : group) scope = united(scope, distinct(tables_[t].scope));
    std::erase(scope, variable);
    size_t count = 1;
    for (size_t other : scope) count *= left_[other].size();
    Table made{scope, std::vector<Price>(count, kForbidden)};
    Numbers place(left_.size(), 0);
    for (size_t e = 0; e < count; ++e) {
      size_t rest = e;
      for (size_t i = scope.size(); i-- > 0;) {
        place[scope[i]] = rest % left_[scope[i]].size();
        rest /= left_[scope[i]].size();
      }
      for (size_t k = 0; k < left_[variable].size(); ++k) {
        place[variable] = k;
        Price sum = 0;
        for (size_t t : group) {
          size_t at = 0;
          for (size_t other : tables_[t].scope) at = at * left_[other].size() + place[other];
          sum += tables_[t].entries[at];
        }
        made.entries[e] = std::min(made.entries[e], sum);
      }
    }
    steps_ += fmt::format("out {}{}\n", variable, listed(group));
    for (size_t t : group) {
      for (size_t other : tables_[t].scope) std::erase(at_[other], t);
      tables_[t] = {{}, {0}};
    }
    add_table(std::move(made));
  }

  void eliminate(size_t variable) {
    std::vector<Numbers> groups, scopes;
    for (size_t t : at_[variable]) {
      bool placed = false;
      for (size_t g = 0; g < groups.size() && !placed; ++g) {
        const Numbers scope = united(scopes[g], distinct(tables_[t].scope));
        if (entries(scope) > kMostEntries) continue;
        groups[g].push_back(t);
        scopes[g] = scope;
        placed = true;
      }
      if (placed) continue;
      groups.push_back({t});
      scopes.push_back(distinct(tables_[t].scope));
    }
    for (const Numbers& group : groups) eliminate(variable, group);
  }

  size_t entries(const Numbers& scope) const {
    size_t count = 1;
    for (size_t variable : scope) {
      count *= left_[variable].size();
      if (count > kMostEntries) return count;
    }
    return count;
  }

  /// How large the table gets that eliminating a variable makes.
  size_t width(size_t variable) const {
    Numbers scope;
    for (size_t t : at_[variable]) scope = united(scope, distinct(tables_[t].scope));
    return entries(scope);
  }

  /// The variable whose elimination makes the smallest table comes next.
  void eliminate_all() {
    Numbers waiting(left_.size()), size;
    std::iota(waiting.begin(), waiting.end(), size_t{0});
    for (size_t variable : waiting) size.push_back(width(variable));
    while (!waiting.empty()) {
      const auto next = std::ranges::min_element(waiting, {}, [&](size_t v) { return size[v]; });
      const size_t variable = *next;
      waiting.erase(next);
      eliminate(variable);
      for (size_t other : tables_.back().scope) size[other] = width(other);
    }
  }

  /// What everything costs at least, or the limit if that is less.
  Price lowest() {
    if (limit_ == 0 || !narrow()) return limit_;
    if (const Price found = least(); found >= limit_) return limit_;
    build();
    const auto none = [&] {
      return std::ranges::any_of(left_, [](const Numbers& choices) { return choices.empty(); });
    };
    if (none()) return limit_;
    const Numbers sequence = arranged();
    Numbers rank(left_.size());
    for (size_t i = 0; i < sequence.size(); ++i) rank[sequence[i]] = i;
    for (int round = 0, idle = 0; round < kMostRounds && idle < 2; ++round) {
      for (size_t variable : sequence) gather(variable, rank, false);
      for (size_t i = sequence.size(); i-- > 0;) gather(sequence[i], rank, true);
      idle = prune() == 0 ? idle + 1 : 0;
      if (none()) return limit_;
    }
    eliminate_all();
    return least_of_tables();
  }

  const Problem& problem_;
  const Numbers ops_;
  std::vector<Numbers> left_;  // for each variable, ops first, the choices that it still has
  std::vector<Term> terms_;
  std::vector<Numbers> terms_at_;  // for each op
  Price limit_ = 0;
  std::string steps_;
  std::vector<Table> tables_;
  std::vector<Numbers> at_;  // for each variable, the tables over it, its own first
};

}  // namespace

Derived derive(const Problem& problem, const std::vector<size_t>& ops,
               const std::vector<size_t>& values) {
  return Derivation(problem, ops, values).run();
}

}  // namespace layline::proof
