// layline-check-proof FILE [PROGRAM]: checks what `layline compile --proof FILE` wrote, and nothing
// else: that the choice costs what the file says, that the steps give the bound that it says, and
// that it is about this program (docs/proof.md). It shares no code with the compiler.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Numbers = std::vector<size_t>;

/// Time in picoseconds, and at equal time permutes, as one number.
__extension__ using Price = __int128;
constexpr Price kPermutes = Price{1} << 32;
constexpr Price kForbidden = Price{1} << 100;
constexpr Price kMostPrice = kForbidden / 2;  // of what is not forbidden
constexpr size_t kMostEntries = size_t{1} << 22;
constexpr size_t kMostSets = 10'000;
constexpr int64_t kMostNumber = int64_t{1} << 61;
constexpr int64_t kMostElements = int64_t{1} << 48;

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The file, line by line. A line is words and, after a colon, text for people.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path) {
    if (!file_) throw Refused("cannot be read");
    next();
  }
  const std::string& word() const { return words_.at(0); }
  size_t line() const { return line_; }

  void expect(const char* word) const {
    if (words_.empty() || words_[0] != word) fail(std::string("'") + word + "' is expected");
  }
  bool is(const char* word) const { return !words_.empty() && words_[0] == word; }
  void next() {
    std::string text;
    words_.clear();
    if (!std::getline(file_, text)) {
      ended_ = true;
      return;
    }
    if (file_.eof()) throw Refused("the file ends within a line");
    ++line_;
    std::istringstream stream(text.substr(0, text.find(" : ")));
    for (std::string each; stream >> each;) words_.push_back(each);
    if (words_.empty()) fail("an empty line");
  }
  bool ended() const { return ended_; }
  size_t count() const { return words_.size() - 1; }

  int64_t integer(size_t i) const {
    if (i + 1 >= words_.size()) fail("a number is missing");
    const std::string& text = words_[i + 1];
    char* end = nullptr;
    const long long number = std::strtoll(text.c_str(), &end, 10);
    if (*end != '\0' || number > kMostNumber || number < -kMostNumber)
      fail("'" + text + "' is no number");
    return number;
  }
  size_t number(size_t i, size_t end = size_t{1} << 40) const {
    const int64_t value = integer(i);
    if (value < 0 || static_cast<uint64_t>(value) >= end)
      fail("'" + words_[i + 1] + "' is out of range");
    return static_cast<size_t>(value);
  }
  Numbers numbers(size_t from, size_t end) const {
    Numbers result;
    for (size_t i = from; i < count(); ++i) result.push_back(number(i, end));
    return result;
  }
  Price price(size_t i) const {
    const int64_t ps = integer(i), permutes = integer(i + 1);
    if (ps < 0 || permutes < 0 || permutes >= kPermutes) fail("no cost");
    return Price{ps} * kPermutes + permutes;
  }
  const std::string& text(size_t i) const {
    if (i + 1 >= words_.size()) fail("a word is missing");
    return words_[i + 1];
  }
  [[noreturn]] void fail(const std::string& why) const {
    if (ended_) throw Refused("the file ends too early");
    throw Refused("line " + std::to_string(line_) + ": " + why);
  }

 private:
  std::ifstream file_;
  size_t line_ = 0;
  bool ended_ = false;
  std::vector<std::string> words_;
};

// ---- What moving data costs ----

struct Transpose {
  int64_t piece = 1, read = 0, write = 0, matrix = 0;

  Price ps(int64_t elements, int64_t source_row, int64_t target_row) const {
    const auto pieces = [&](int64_t row) {
      return Price{elements / row} * ((row + piece - 1) / piece);
    };
    return pieces(source_row) * read + pieces(target_row) * write +
           Price{elements / source_row / target_row} * matrix;
  }
};

struct Profile {
  int64_t call = 0, margin = 0, byte = 0, most_factors = 0;
  Transpose transpose, transpose_bytes;
  std::vector<std::pair<int64_t, int64_t>> runs;  // bytes, and what so many take

  Price run(int64_t bytes) const {
    if (bytes <= runs.front().first) return runs.front().second;
    for (size_t i = 1; i < runs.size(); ++i) {
      const auto [low, low_ps] = runs[i - 1];
      const auto [high, high_ps] = runs[i];
      if (bytes < high) return low_ps + Price{bytes - low} * (high_ps - low_ps) / (high - low);
    }
    return Price{bytes} * runs.back().second / runs.back().first;
  }
};

/// A way to hold a value: its positions split into factors, and these in another sequence.
struct Form {
  std::vector<int64_t> factors;
  Numbers order;

  std::vector<int64_t> strides() const {
    std::vector<int64_t> result(factors.size());
    int64_t stride = 1;
    for (size_t i = factors.size(); i-- > 0; stride *= factors[i]) result[i] = stride;
    return result;
  }
};

struct Value {
  int64_t bytes = 0, elements = 0;
  std::vector<Form> forms;
  std::map<std::pair<size_t, size_t>, Price> given;  // for sizes that are not numbers
  std::optional<size_t> producer;
  std::set<size_t> readers;
  std::set<size_t> outputs;
  std::vector<std::vector<Price>> price;

  Price of(size_t written, const std::set<size_t>& held) const {
    Price sum = 0;
    for (size_t form : held) sum += price[written][form];
    return sum;
  }
};

/// The digits of a form as they stand in memory, named by their strides in the value: the factors
/// are cut at all of `cuts`. None if a factor cannot be cut there.
std::optional<std::vector<std::pair<int64_t, int64_t>>> digits(const Form& form,
                                                               const std::set<int64_t>& cuts) {
  std::vector<std::pair<int64_t, int64_t>> result;  // stride and size
  const std::vector<int64_t> strides = form.strides();
  for (size_t factor : form.order) {
    const int64_t low = strides[factor], high = low * form.factors[factor];
    int64_t end = high;
    for (auto cut = cuts.lower_bound(high); cut != cuts.begin();) {
      if (*--cut < low) break;
      if (end % *cut != 0) return std::nullopt;
      if (*cut < end) result.emplace_back(*cut, end / *cut);
      end = *cut;
    }
    if (end != low) return std::nullopt;
  }
  return result;
}

/// One permute, from digits in one sequence to the same in another.
Price permute(const Profile& profile, const Value& value,
              const std::vector<std::pair<int64_t, int64_t>>& from,
              const std::vector<std::pair<int64_t, int64_t>>& to) {
  // Digits that stay neighbours are one factor.
  std::map<int64_t, int64_t> next;  // in the target, the stride that follows a stride
  for (size_t i = 1; i < to.size(); ++i) next[to[i - 1].first] = to[i].first;
  int64_t factors = 0, row = 1, target_row = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool joins =
        i > 0 && next.contains(from[i - 1].first) && next[from[i - 1].first] == from[i].first;
    factors += !joins;
    row = joins ? row * from[i].second : from[i].second;
    if (from[i].first == to.back().first) target_row = row;
  }
  const bool keeps_row = from.back().first == to.back().first;
  const int64_t bytes = value.elements * value.bytes, run = row * value.bytes;
  const Transpose& transpose = value.bytes == 1 ? profile.transpose_bytes : profile.transpose;
  const Price moved =
      keeps_row ? bytes / run * profile.run(run) : transpose.ps(value.elements, row, target_row);
  const int64_t calls = factors > profile.most_factors ? 2 : 1;
  const Price ps = Price{profile.call} + profile.margin + moved + Price{bytes} * profile.byte;
  return calls * (ps * kPermutes + 1);
}

Price conversion(const Profile& profile, const Value& value, const Form& from, const Form& to) {
  if (value.elements == 0) return 0;
  std::set<int64_t> cuts;
  for (const Form* form : {&from, &to})
    for (int64_t stride : form->strides()) cuts.insert(stride);
  const auto source = digits(from, cuts), target = digits(to, cuts);
  if (source && target) return *source == *target ? 0 : permute(profile, value, *source, *target);
  // The two have no digits in common: first to the value's own form, then on.
  Price sum = 0;
  for (const Form* form : {&from, &to}) {
    const std::vector<int64_t> strides = form->strides();
    auto moved = *digits(*form, {strides.begin(), strides.end()}), own = moved;
    std::ranges::sort(own, std::greater<>());
    if (own != moved)
      sum +=
          form == &from ? permute(profile, value, moved, own) : permute(profile, value, own, moved);
  }
  return sum;
}

// ---- The problem ----

struct Order {
  Price price = 0;
  size_t written = 0;
  Numbers reads;
};

struct Op {
  bool has_all = false;
  size_t result = 0;
  Numbers operands;
  std::vector<Order> orders;
  size_t chosen = 0;

  /// What it holds of a value in an order.
  std::set<size_t> held(size_t value, size_t order) const {
    std::set<size_t> result_;
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i] == value) result_.insert(orders[order].reads[i]);
    return result_;
  }
};

struct Problem {
  Profile profile;
  std::vector<Value> values;
  std::vector<Op> ops;
};

Transpose read_transpose(Lines& lines, const char* word) {
  lines.expect(word);
  const Transpose result{lines.integer(0), lines.integer(1), lines.integer(2), lines.integer(3)};
  if (result.piece < 1 || result.read < 0 || result.write < 0 || result.matrix < 0)
    lines.fail("no costs");
  lines.next();
  return result;
}

Profile read_profile(Lines& lines) {
  lines.expect("costs");
  Profile profile{.call = lines.integer(0),
                  .margin = lines.integer(1),
                  .byte = lines.integer(2),
                  .most_factors = lines.integer(3),
                  .transpose = {},
                  .transpose_bytes = {},
                  .runs = {}};
  if (profile.call < 0 || profile.margin < 0 || profile.byte < 0) lines.fail("no costs");
  lines.next();
  profile.transpose = read_transpose(lines, "transpose");
  profile.transpose_bytes = read_transpose(lines, "transpose_bytes");
  lines.expect("runs");
  for (size_t i = 0; i < lines.count(); i += 2) {
    profile.runs.emplace_back(lines.integer(i), lines.integer(i + 1));
    const auto [bytes, ps] = profile.runs.back();
    if (bytes < 1 || ps < 0 || (i > 0 && bytes <= profile.runs[i / 2 - 1].first))
      lines.fail("no costs of runs");
  }
  if (profile.runs.empty()) lines.fail("no costs of runs");
  lines.next();
  return profile;
}

Form read_form(Lines& lines, const Value& value) {
  Form form;
  size_t i = 0;
  int64_t product = 1;
  for (; lines.text(i) != "->"; ++i) {
    form.factors.push_back(lines.integer(i));
    if (form.factors.back() < 0 || (value.elements > 0 && form.factors.back() < 2))
      lines.fail("no factor");
    if (product > kMostNumber / std::max<int64_t>(form.factors.back(), 1)) lines.fail("too large");
    product *= form.factors.back();
  }
  for (++i; i < lines.count(); ++i) form.order.push_back(lines.number(i, form.factors.size()));
  const std::set<size_t> distinct(form.order.begin(), form.order.end());
  if (distinct.size() != form.factors.size() || form.order.size() != form.factors.size() ||
      product != value.elements)
    lines.fail("not an order of all elements of the value");
  return form;
}

Value read_value(Lines& lines, const Profile& profile) {
  Value value;
  value.bytes = lines.integer(0);
  const bool is_given = lines.text(1) == "dynamic";
  if (!is_given) value.elements = lines.integer(1);
  if (value.bytes < 0 || value.bytes > 16 || value.elements < 0 || value.elements > kMostElements)
    lines.fail("no value");
  lines.next();
  for (; lines.is("form"); lines.next())
    value.forms.push_back(is_given ? Form{} : read_form(lines, value));
  if (value.forms.empty()) lines.fail("a value without a form");
  while (is_given && lines.is("price")) {
    const size_t from = lines.number(0, value.forms.size()),
                 to = lines.number(1, value.forms.size());
    if (from == to) lines.fail("staying costs nothing");
    value.given[{from, to}] = lines.price(2);
    lines.next();
  }
  for (size_t from = 0; from < value.forms.size(); ++from) {
    value.price.emplace_back();
    for (size_t to = 0; to < value.forms.size(); ++to) {
      const auto given = value.given.find({from, to});
      if (is_given && from != to && given == value.given.end()) lines.fail("a price is missing");
      value.price.back().push_back(
          given != value.given.end()
              ? given->second
              : (from == to ? 0 : conversion(profile, value, value.forms[from], value.forms[to])));
    }
  }
  return value;
}

Op read_op(Lines& lines, size_t number, std::vector<Value>& values) {
  Op op;
  op.result = lines.number(0, values.size());
  op.has_all = lines.text(1) == "all";
  if (!op.has_all && lines.text(1) != "chosen") lines.fail("'all' or 'chosen' is expected");
  if (values[op.result].producer) lines.fail("the value has a producer already");
  values[op.result].producer = number;
  lines.next();
  while (lines.is("reads")) {
    op.operands.push_back(lines.number(0, values.size()));
    values[op.operands.back()].readers.insert(number);
    lines.next();
  }
  while (lines.is("order")) {
    Order order{lines.price(0), lines.number(2, values[op.result].forms.size()), {}};
    if (lines.count() != 3 + op.operands.size()) lines.fail("not one form for each operand");
    for (size_t i = 0; i < op.operands.size(); ++i)
      order.reads.push_back(lines.number(3 + i, values[op.operands[i]].forms.size()));
    op.orders.push_back(std::move(order));
    lines.next();
  }
  if (op.orders.empty()) lines.fail("an op without an order");
  return op;
}

Problem read_problem(Lines& lines) {
  Problem problem;
  problem.profile = read_profile(lines);
  while (lines.is("value")) problem.values.push_back(read_value(lines, problem.profile));
  while (lines.is("op")) problem.ops.push_back(read_op(lines, problem.ops.size(), problem.values));
  for (; lines.is("output"); lines.next()) {
    const size_t value = lines.number(0, problem.values.size());
    problem.values[value].outputs.insert(lines.number(1, problem.values[value].forms.size()));
  }
  lines.expect("choice");
  if (lines.count() != problem.ops.size()) lines.fail("not one order for each op");
  for (size_t i = 0; i < problem.ops.size(); ++i)
    problem.ops[i].chosen = lines.number(i, problem.ops[i].orders.size());
  lines.next();
  return problem;
}

Price price_of_choice(const Problem& problem) {
  Price sum = 0;
  for (const Op& op : problem.ops) sum += op.orders[op.chosen].price;
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const Value& value = problem.values[v];
    std::set<size_t> held = value.outputs;
    for (size_t reader : value.readers)
      held.merge(problem.ops[reader].held(v, problem.ops[reader].chosen));
    const Op* producer = value.producer ? &problem.ops[*value.producer] : nullptr;
    sum += value.of(producer ? producer->orders[producer->chosen].written : 0, held);
  }
  return sum;
}

// ---- A part, and the steps of its proof ----

/// Some ops, all of whose orders are known, and some values at them, whatever the others do. A step
/// never makes the least of what it costs larger, as far as that is below the limit.
class Part {
 public:
  Part(const Problem& problem, const Lines& lines, Price limit, const Numbers& ops,
       const Numbers& values)
      : problem_(problem), lines_(lines), limit_(limit), ops_(ops) {
    std::map<size_t, size_t> place;
    for (size_t i = 0; i < ops.size(); ++i) place.emplace(ops[i], i);
    for (size_t op : ops) {
      left_.emplace_back(problem.ops[op].orders.size());
      std::iota(left_.back().begin(), left_.back().end(), size_t{0});
    }
    for (size_t v : values) {
      const Value& value = problem.values[v];
      Term term{.value = v};
      if (value.producer) {
        if (!place.contains(*value.producer)) lines.fail("a value that is written elsewhere");
        if (value.readers.contains(*value.producer)) lines.fail("a value that its op reads");
        term.writer = place.at(*value.producer);
      }
      // Readers elsewhere can only make it dearer.
      for (size_t reader : value.readers) {
        if (!place.contains(reader)) continue;
        term.readers.push_back(place.at(reader));
        term.held.emplace(place.at(reader), std::vector<std::set<size_t>>());
        for (size_t k = 0; k < problem.ops[reader].orders.size(); ++k) {
          std::set<size_t> held = problem.ops[reader].held(v, k);
          held.insert(value.outputs.begin(), value.outputs.end());
          term.held[place.at(reader)].push_back(std::move(held));
        }
      }
      terms_.push_back(std::move(term));
    }
    terms_at_.resize(ops.size());
    for (size_t t = 0; t < terms_.size(); ++t) {
      if (terms_[t].writer) terms_at_[*terms_[t].writer].push_back(t);
      for (size_t reader : terms_[t].readers) terms_at_[reader].push_back(t);
    }
    all_ = least();
  }

  void step() {
    if (lines_.is("drop")) return drop();
    if (lines_.is("table")) return add_table_of_value();
    if (lines_.is("move")) return move();
    if (lines_.is("out")) return eliminate();
    lines_.fail("no step");
  }

  Price bound() const {
    if (nothing_left_) return limit_;
    return std::min(limit_, tables_.empty() ? all_ : least_of_tables());
  }

 private:
  struct Term {
    size_t value;
    std::optional<size_t> writer = {};
    Numbers readers = {};
    std::map<size_t, std::vector<std::set<size_t>>> held = {};  // for each reader and order
  };
  struct Table {
    Numbers scope;
    std::vector<Price> entries;  // the last variable fastest
  };

  const Order& order(size_t op, size_t number) const {
    return problem_.ops[ops_[op]].orders[number];
  }
  const Value& value(const Term& term) const { return problem_.values[term.value]; }

  Numbers written(const Term& term) const {
    if (!term.writer) return {0};
    Numbers result;
    for (size_t each : left_[*term.writer]) result.push_back(order(*term.writer, each).written);
    return result;
  }

  Price least_of(size_t op) const {
    Price least = kForbidden;
    for (size_t each : left_[op]) least = std::min(least, order(op, each).price);
    return least;
  }

  /// Every reader must have what it reads, so a value costs no less than the most of them needs.
  Price least_of(const Term& term) const {
    const Numbers from = written(term);
    Price least = kForbidden;
    for (size_t form : std::set<size_t>(from.begin(), from.end())) {
      Price most = value(term).of(form, value(term).outputs);
      for (size_t reader : term.readers) {
        Price of_reader = kForbidden;
        for (size_t each : left_[reader])
          of_reader = std::min(of_reader, value(term).of(form, term.held.at(reader)[each]));
        most = std::max(most, of_reader);
      }
      least = std::min(least, most);
    }
    return least;
  }

  /// The op and the values at it.
  Price least_at(size_t op) const {
    Price sum = least_of(op);
    for (size_t t : terms_at_[op]) sum += least_of(terms_[t]);
    return sum;
  }

  Price least() const {
    Price sum = 0;
    for (size_t i = 0; i < ops_.size(); ++i) sum += least_of(i);
    for (const Term& term : terms_) sum += least_of(term);
    return sum;
  }

  /// Choices of a variable with which everything costs the limit or more.
  void drop() {
    const size_t variable = lines_.number(0, left_.size());
    std::vector<Price> with;  // for each choice that is left
    const Price elsewhere = tables_.empty() ? all_ - least_at(variable) : 0;
    if (tables_.empty()) {
      const Numbers all = left_[variable];
      for (size_t each : all) {
        left_[variable] = {each};
        with.push_back(elsewhere + least_at(variable));
      }
      left_[variable] = all;
    } else {
      with.assign(left_[variable].size(), 0);
      for (const Table& table : tables_) {
        const std::vector<Price> least = least_with(table, variable);
        for (size_t k = 0; k < with.size(); ++k) with[k] += least[k];
      }
    }
    std::vector<bool> stays(left_[variable].size(), true);
    for (size_t i = 1; i < lines_.count(); ++i) {
      const auto at = std::ranges::find(left_[variable], lines_.number(i));
      if (at == left_[variable].end()) lines_.fail("no choice of this variable");
      const auto k = static_cast<size_t>(at - left_[variable].begin());
      if (with[k] < limit_)
        lines_.fail("a choice is dropped with which less than the limit is possible");
      stays[k] = false;
    }
    for (Table& table : tables_) {
      if (!contains(table, variable)) continue;
      std::vector<Price> entries;
      for_each(table, variable, [&](size_t entry, size_t k) {
        if (stays[k]) entries.push_back(table.entries[entry]);
      });
      table.entries = std::move(entries);
    }
    Numbers kept;
    for (size_t k = 0; k < stays.size(); ++k)
      if (stays[k]) kept.push_back(left_[variable][k]);
    left_[variable] = std::move(kept);
    nothing_left_ = nothing_left_ || left_[variable].empty();
    if (tables_.empty()) all_ = elsewhere + least_at(variable);
  }

  /// From here on the part is a sum of tables: one for each op alone, and those of each value.
  void begin_tables() {
    if (!tables_.empty()) return;
    for (size_t op = 0; op < ops_.size(); ++op) {
      Table own{{op}, {}};
      for (size_t each : left_[op]) own.entries.push_back(order(op, each).price);
      tables_.push_back(std::move(own));
      own_.push_back(op);
    }
  }

  void add_table_of_value() {
    begin_tables();
    const size_t number = lines_.number(0);
    const auto term =
        std::ranges::find_if(terms_, [&](const Term& each) { return each.value == number; });
    if (term == terms_.end() || !tabled_.insert(number).second)
      lines_.fail("no value of the part, or one that has tables already");
    const Numbers readers = lines_.numbers(1, ops_.size());
    for (size_t reader : readers)
      if (!term->held.contains(reader)) lines_.fail("the op does not read the value");
    if (std::set<size_t>(readers.begin(), readers.end()).size() != readers.size())
      lines_.fail("a reader twice");
    if (term->readers.size() > 1)
      add_kept(*term, readers);
    else
      add_pair(*term, readers);
  }

  void add_pair(const Term& term, const Numbers& readers) {
    Table table;
    if (term.writer) table.scope.push_back(*term.writer);
    table.scope.insert(table.scope.end(), readers.begin(), readers.end());
    for (size_t form : written(term)) {
      if (readers.empty()) table.entries.push_back(value(term).of(form, value(term).outputs));
      for (size_t reader : readers)
        for (size_t each : left_[reader])
          table.entries.push_back(value(term).of(form, term.held.at(reader)[each]));
    }
    tables_.push_back(std::move(table));
  }

  /// Several readers: a variable for what is held of the value, of all unions of what they read.
  /// Unions with which everything costs the limit or more are left out.
  void add_kept(const Term& term, const Numbers& readers) {
    const Numbers from = written(term);
    const std::set<size_t> any(from.begin(), from.end());
    const Price elsewhere = all_ - least_of(term);
    std::vector<std::set<size_t>> sets = {value(term).outputs};
    for (size_t reader : readers) {
      std::set<Numbers> held;
      for (size_t each : left_[reader])
        held.insert(Numbers(term.held.at(reader)[each].begin(), term.held.at(reader)[each].end()));
      std::set<std::set<size_t>> known;
      std::vector<std::set<size_t>> further;
      for (const auto& set : sets)
        for (const Numbers& read : held) {
          std::set<size_t> both = set;
          both.insert(read.begin(), read.end());
          if (known.insert(both).second && std::ranges::any_of(any, [&](size_t form) {
                return elsewhere + value(term).of(form, both) < limit_;
              }))
            further.push_back(std::move(both));
          if (further.size() > kMostSets) lines_.fail("too many sets");
        }
      sets = std::move(further);
    }
    const size_t kept = left_.size();
    left_.emplace_back(sets.size());
    std::iota(left_.back().begin(), left_.back().end(), size_t{0});
    nothing_left_ = nothing_left_ || sets.empty();
    own_.push_back(tables_.size());
    tables_.push_back({{kept}, std::vector<Price>(sets.size(), 0)});
    Table pays;
    if (term.writer) pays.scope.push_back(*term.writer);
    pays.scope.push_back(kept);
    for (size_t form : from)
      for (const auto& set : sets) pays.entries.push_back(value(term).of(form, set));
    tables_.push_back(std::move(pays));
    for (size_t reader : readers) {
      Table needs{{reader, kept}, {}};
      for (size_t each : left_[reader])
        for (const auto& set : sets)
          needs.entries.push_back(
              std::ranges::includes(set, term.held.at(reader)[each]) ? 0 : kForbidden);
      tables_.push_back(std::move(needs));
    }
  }
  static bool contains(const Table& table, size_t variable) {
    return std::ranges::find(table.scope, variable) != table.scope.end();
  }

  /// Calls `visit` with each entry and its choice of a variable; 0 if the table has it not.
  template <typename Visit>
  void for_each(const Table& table, size_t variable, Visit visit) const {
    size_t stride = 1, i = table.scope.size();
    while (i > 0 && table.scope[i - 1] != variable) stride *= left_[table.scope[--i]].size();
    for (size_t entry = 0; entry < table.entries.size(); ++entry)
      visit(entry, i == 0 ? 0 : entry / stride % left_[variable].size());
  }

  /// For each choice of a variable, the least entry with it.
  std::vector<Price> least_with(const Table& table, size_t variable) const {
    const bool has = contains(table, variable);
    std::vector<Price> least(has ? left_[variable].size() : 1, kForbidden);
    for_each(table, variable,
             [&](size_t entry, size_t k) { least[k] = std::min(least[k], table.entries[entry]); });
    if (!has) least.assign(left_[variable].size(), least[0]);
    return least;
  }

  Price least_of_tables() const {
    Price sum = 0;
    for (const Table& table : tables_) sum += *std::ranges::min_element(table.entries);
    return sum;
  }

  /// Takes from a table, for each choice of a variable, and gives it to the variable's own table.
  /// The sum stays.
  void move() {
    const size_t t = lines_.number(0, tables_.size()), variable = lines_.number(1, left_.size());
    Table& own = tables_[own_.at(variable)];
    if (gone_.contains(t) || gone_.contains(own_[variable]) || t == own_[variable] ||
        !contains(tables_[t], variable) || lines_.count() != 2 + left_[variable].size())
      lines_.fail("nothing to move so");
    const auto add = [&](Price& entry, Price more) {
      if (entry >= kForbidden) return;
      entry += more;
      if (entry >= kMostPrice || entry <= -kMostPrice) lines_.fail("too large");
    };
    for_each(tables_[t], variable, [&](size_t entry, size_t k) {
      add(tables_[t].entries[entry], -Price{lines_.integer(2 + k)} * kPermutes);
    });
    for (size_t k = 0; k < left_[variable].size(); ++k)
      add(own.entries[k], Price{lines_.integer(2 + k)} * kPermutes);
  }

  /// Adds up some tables and minimises a variable out. Where other tables have the variable, too,
  /// each chooses for itself, which costs no more.
  void eliminate() {
    const size_t variable = lines_.number(0, left_.size());
    const Numbers group = lines_.numbers(1, tables_.size());
    std::set<size_t> scope;
    for (size_t t : group) {
      if (!gone_.insert(t).second) lines_.fail("a table that is gone");
      scope.insert(tables_[t].scope.begin(), tables_[t].scope.end());
    }
    scope.erase(variable);
    Table made{{scope.begin(), scope.end()}, {}};
    size_t count = left_[variable].size();
    for (size_t other : scope) {
      count *= left_[other].size();
      if (count > kMostEntries) lines_.fail("too large a table");
    }
    if (nothing_left_) return;
    made.entries.assign(count / left_[variable].size(), kForbidden);
    Numbers place(left_.size(), 0);
    for (Price& entry : made.entries) {
      for (place[variable] = 0; place[variable] < left_[variable].size(); ++place[variable]) {
        Price sum = 0;
        for (size_t t : group) {
          size_t at = 0;
          for (size_t other : tables_[t].scope) at = at * left_[other].size() + place[other];
          const Price next = tables_[t].entries[at];
          sum = sum >= kForbidden || next >= kForbidden ? kForbidden : sum + next;
          if (sum >= kMostPrice && sum != kForbidden) lines_.fail("too large");
        }
        entry = std::min(entry, sum);
      }
      // The next choice of the others, the last fastest.
      for (size_t i = made.scope.size(); i-- > 0;) {
        if (++place[made.scope[i]] < left_[made.scope[i]].size()) break;
        place[made.scope[i]] = 0;
      }
    }
    for (size_t t : group) tables_[t] = {{}, {0}};
    tables_.push_back(std::move(made));
  }

  const Problem& problem_;
  const Lines& lines_;
  const Price limit_;
  const Numbers ops_;
  std::vector<Term> terms_;
  std::vector<Numbers> terms_at_;  // for each op
  std::vector<Numbers> left_;      // for each variable, ops first, the choices that are left
  std::vector<Table> tables_;
  Numbers own_;              // for each variable, the table of it alone
  std::set<size_t> gone_;    // tables that were added up
  std::set<size_t> tabled_;  // values that have tables
  Price all_ = 0;            // what everything costs at least, as far as it is known without tables
  bool nothing_left_ = false;
};

// ---- The file ----

std::string shown(Price price) {
  char text[80];
  const auto permutes = static_cast<long long>(price % kPermutes);
  std::snprintf(text, sizeof text, "%.6f ms and %lld permute%s",
                static_cast<double>(price / kPermutes) / 1e9, permutes, permutes == 1 ? "" : "s");
  return text;
}

/// Ops or values that no part has had before.
Numbers read_new(Lines& lines, const char* word, std::vector<bool>& used) {
  lines.expect(word);
  Numbers numbers = lines.numbers(0, used.size());
  for (size_t number : numbers) {
    if (used[number]) lines.fail("a part has it already: its cost would count twice");
    used[number] = true;
  }
  lines.next();
  return numbers;
}

void check_method(Lines& lines) {
  lines.expect("method");
  const std::string name = lines.text(0);
  lines.next();
  const Problem problem = read_problem(lines);
  lines.expect("cost");
  const Price cost = price_of_choice(problem);
  if (cost != lines.price(0)) lines.fail("the choice costs " + shown(cost));
  lines.next();
  std::vector<bool> used_ops(problem.ops.size(), false), used_values(problem.values.size(), false);
  Price bound = 0;
  while (lines.is("part")) {
    const Price limit = lines.price(0);
    lines.next();
    const Numbers ops = read_new(lines, "ops", used_ops);
    for (size_t op : ops)
      if (!problem.ops[op].has_all) lines.fail("an op whose orders are not all known");
    const Numbers values = read_new(lines, "values", used_values);
    Part part(problem, lines, limit, ops, values);
    for (; !lines.is("gives"); lines.next()) part.step();
    if (part.bound() != lines.price(0)) lines.fail("the steps give " + shown(part.bound()));
    bound += part.bound();
    lines.next();
  }
  lines.expect("bound");
  if (bound != lines.price(0)) lines.fail("the parts give " + shown(bound));
  if (bound > cost) lines.fail("the bound is above the cost");
  lines.next();
  lines.expect("end");
  lines.next();
  std::printf("%s: %s, at least %s: %s\n", name.c_str(), shown(cost).c_str(), shown(bound).c_str(),
              bound == cost ? "proved" : "not proved to be the least");
}

/// The length and a sum (FNV-1a) of the program's bytes.
void check_program(Lines& lines, const char* path) {
  lines.expect("program");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Refused(std::string("'") + path + "' cannot be read");
  uint64_t sum = 0xcbf29ce484222325, bytes = 0;
  std::vector<char> block(size_t{1} << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    for (std::streamsize i = 0; i < file.gcount(); ++i)
      sum = (sum ^ static_cast<unsigned char>(block[static_cast<size_t>(i)])) * 0x100000001b3;
    bytes += static_cast<uint64_t>(file.gcount());
  }
  char text[40];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  if (lines.text(0) != std::to_string(bytes) || lines.text(1) != text)
    throw Refused(std::string("the choice is not that of '") + path + "'");
}

void check(const char* path, const char* program) {
  Lines lines(path);
  if (!lines.is("layline-proof") || lines.text(0) != "1")
    throw Refused("no proof of layline's, version 1");
  lines.next();
  if (program != nullptr) check_program(lines, program);
  lines.expect("program");
  lines.next();
  lines.expect("methods");
  const size_t methods = lines.number(0);
  lines.next();
  for (size_t i = 0; i < methods; ++i) check_method(lines);
  if (!lines.ended()) lines.fail("more than the methods");
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::cerr << "layline-check-proof FILE [PROGRAM]\n";
    return 2;
  }
  try {
    check(arguments[1], count == 3 ? arguments[2] : nullptr);
  } catch (const Refused& refused) {
    std::cerr << arguments[1] << ": " << refused.what() << "\n";
    return 1;
  }
  return 0;
}
