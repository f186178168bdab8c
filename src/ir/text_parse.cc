#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "ir/text.h"
#include "ir/text_constant.h"
#include "ir/text_scanner.h"
#include "ir/text_words.h"

namespace layline {
namespace {

/// Calls `item` for each element of "open item, item, ... close".
template <typename Item>
void parse_list(Scanner& in, std::string_view open, std::string_view close, Item item) {
  in.expect(open);
  if (in.accept(close)) return;
  do item();
  while (in.accept(","));
  in.expect(close);
}

bool parse_bool(Scanner& in) {
  if (in.accept_word("true")) return true;
  if (in.accept_word("false")) return false;
  in.fail_expected("true or false");
}

// One overload for each type that an attribute's field can have.
void parse_field(Scanner& in, bool& value) { value = parse_bool(in); }

void parse_field(Scanner& in, int64_t& value) { value = in.integer("an integer"); }

void parse_field(Scanner& in, double& value) { value = in.number("a number"); }

void parse_field(Scanner& in, DType& value) {
  const size_t position = in.next();
  const std::string_view word = in.word("an element type");
  const auto dtype = parse_dtype(word);
  if (!dtype) in.fail(position, fmt::format("no element type is called '{}'", word));
  value = *dtype;
}

void parse_field(Scanner& in, Bounds& value) {
  in.expect("[");
  value.min = in.number("a lower bound");
  in.expect(",");
  value.max = in.number("an upper bound");
  in.expect("]");
}

void parse_field(Scanner& in, Shape& value) {
  const size_t position = in.next();
  const std::string_view text = in.bracketed("a shape such as [1,3]");
  value = in.at(position, [&] { return parse_shape(text); });
}

void parse_field(Scanner& in, Relayout& value) {
  const size_t position = in.next();
  const std::string_view text = in.list_item("a relayout");
  value = in.at(position, [&] { return parse_relayout(text); });
}

void parse_field(Scanner& in, Constant& value) { value = parse_constant(in); }

void parse_field(Scanner& in, QuantisationRef& value) { value = parse_quantisation(in); }

void parse_field(Scanner& in, BodyRef& value);

template <typename Number>
void parse_field(Scanner& in, std::vector<Number>& values) {
  values.clear();
  parse_list(in, "[", "]", [&] { parse_field(in, values.emplace_back()); });
}

template <typename Enum>
requires std::is_enum_v<Enum>
void parse_field(Scanner& in, Enum& value) {
  const auto& known = words(value);
  const size_t position = in.next();
  const auto* found = std::find(known.begin(), known.end(), in.word("a mode"));
  if (found == known.end())
    in.fail(position, fmt::format("expected one of: {}", fmt::join(known, ", ")));
  value = static_cast<Enum>(found - known.begin());
}

/// "{ field = value, ... }", or nothing at all. A field that is not named keeps its default; where
/// the struct has no default, all must be named.
template <typename T>
void parse_fields(Scanner& in, T& attributes) {
  std::vector<std::string_view> given;
  auto parse_one = [&] {
    const size_t position = in.next();
    const std::string_view wanted = in.word("an attribute's name");
    if (std::find(given.begin(), given.end(), wanted) != given.end())
      in.fail(position, fmt::format("'{}' is given twice", wanted));
    in.expect("=");
    std::string known;
    T::fields(attributes, [&](std::string_view field_name, auto& field) {
      known += (known.empty() ? "" : ", ") + std::string(field_name);
      if (field_name != wanted) return;
      parse_field(in, field);
      given.push_back(wanted);
    });
    if (given.empty() || given.back() != wanted)
      in.fail(position, fmt::format("no attribute is called '{}'; there {}", wanted,
                                    known.empty() ? "is none" : "are: " + known));
  };
  const size_t position = in.next();
  if (in.accept("{") && !in.accept("}")) {
    do parse_one();
    while (in.accept(","));
    in.expect("}");
  }
  if constexpr (!std::is_default_constructible_v<T>) {
    T::fields(attributes, [&](std::string_view field_name, const auto& field) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, QuantisationRef>) return;
      if (std::find(given.begin(), given.end(), field_name) == given.end())
        in.fail(position, fmt::format("expected the attribute '{}'", field_name));
    });
  }
}

template <typename T>
T initial_attributes() {
  if constexpr (std::is_default_constructible_v<T>)
    return T{};
  else
    return T{Constant::scalar(DType::f32, 0)};
}

/// The alternative of Attributes with this index, to be filled in.
template <size_t... index>
Attributes make_alternative(size_t wanted, std::index_sequence<index...>) {
  using Maker = Attributes (*)();
  constexpr Maker kMakers[] = {[] {
    return Attributes(initial_attributes<std::variant_alternative_t<index, AnyAttrs>>());
  }...};
  return kMakers[wanted]();
}

Attributes parse_attributes(Scanner& in, Op op) {
  Attributes attributes = make_alternative(
      info(op).attributes, std::make_index_sequence<std::variant_size_v<AnyAttrs>>());
  std::visit([&](auto& alternative) { parse_fields(in, alternative); }, attributes);
  return attributes;
}

FixedValue parse_fixed(Scanner& in) {
  if (in.accept_word("none")) return std::monostate{};
  if (in.accept_word("int")) return in.integer("an integer");
  if (in.accept_word("float")) return in.number("a number");
  if (in.accept_word("bool")) return parse_bool(in);
  if (in.accept_word("string")) return in.string("a string");
  in.fail_expected("none, int, float, bool or string");
}

/// Reads the statements between the braces into the graph.
class BodyParser {
 public:
  BodyParser(Scanner& in, Graph& graph) : in_(in), graph_(graph) {}

  void parse() {
    in_.expect("{");
    while (!in_.accept("}")) {
      if (in_.accept_word("symbol"))
        parse_symbol();
      else if (in_.accept_word("input"))
        parse_input();
      else if (in_.accept_word("state"))
        parse_state();
      else if (in_.accept_word("output"))
        parse_output();
      else if (in_.accept_word("write"))
        parse_write();
      else if (in_.accept_word("origin"))
        parse_origin();
      else if (in_.accept("%"))
        parse_node();
      else
        in_.fail_expected("symbol, input, state, output, write, origin, a %value or '}'");
    }
    name_inputs();
    for (const auto& [number, entry] : origins_)
      if (!entry.defined)
        in_.fail(entry.first_use, fmt::format("no line defines the origin @{}", number));
  }

 private:
  struct OriginEntry {
    std::shared_ptr<Origin> origin;
    size_t first_use = 0;
    bool defined = false;
  };

  void parse_symbol() {
    const size_t position = in_.next();
    const std::string wanted = fmt::format("s{}", graph_.symbols().size() + 1);
    if (in_.word("a symbol") != wanted)
      in_.fail(position, fmt::format("symbols are numbered in order: expected {}", wanted));
    if (graph_.symbols().size() == std::numeric_limits<SymbolId>::max())
      in_.fail(position, "too many symbols");
    if (in_.accept("=")) return parse_formula(position, wanted);
    Symbol symbol;
    symbol.name = in_.string("the symbol's name");
    in_.expect_word("in");
    in_.expect("[");
    symbol.min = in_.integer("the least value");
    in_.expect(",");
    symbol.max = in_.accept_word("inf") ? std::numeric_limits<int64_t>::max()
                                        : in_.integer("the greatest value or inf");
    in_.expect("]");
    if (symbol.min > symbol.max) in_.fail(position, fmt::format("{} has no value", wanted));
    if (symbol.min == symbol.max)
      in_.fail(position, fmt::format("{} is always {}: write the number", wanted, symbol.min));
    graph_.add_symbol(std::move(symbol));
  }

  void parse_formula(size_t position, const std::string& wanted) {
    const std::string formula = in_.string("the symbol's formula");
    const Dim size = in_.at(position, [&] { return graph_.symbol_table().parse(formula); });
    if (to_string(size) != wanted)
      in_.fail(position,
               fmt::format("{} is {}, and needs no symbol {}", formula, to_string(size), wanted));
  }

  void parse_input() {
    input_names_.push_back(in_.string("the input's name"));
    if (in_.accept_word("fixed"))
      return graph_.add_fixed_input(input_names_.back(), parse_fixed(in_));
    in_.expect("%");
    const auto [position, value_name] = parse_new_name();
    in_.expect(":");
    const size_t type_position = in_.next();
    TensorType type = parse_type(in_);
    check_symbols(type, type_position);
    std::vector<int> order = parse_order(type.shape.size());
    values_[value_name] =
        graph_.add_input(std::string(value_name), std::move(type), std::move(order));
  }

  void parse_state() {
    input_names_.push_back(in_.string("the state's name"));
    in_.expect("%");
    const auto [position, value_name] = parse_new_name();
    in_.expect("=");
    values_[value_name] = graph_.add_state(std::string(value_name), parse_constant(in_));
  }

  void parse_write() {
    Value* value = parse_operand();
    in_.expect_word("to");
    const size_t position = in_.next();
    const Value* to = parse_operand();
    const auto input = std::ranges::find(graph_.inputs(), to, &GraphInput::value);
    if (input == graph_.inputs().end())
      in_.fail(position, fmt::format("%{} is no input and no state", to->name()));
    if (to->type() != value->type())
      in_.fail(position, fmt::format("%{} is {}, but %{} is {}", to->name(), to_string(to->type()),
                                     value->name(), to_string(value->type())));
    const auto index = static_cast<size_t>(input - graph_.inputs().begin());
    if (std::ranges::find(graph_.outputs(), std::optional(index), &GraphOutput::writes) !=
        graph_.outputs().end())
      in_.fail(position, fmt::format("%{} is written twice", to->name()));
    graph_.add_write(index, value);
  }

  /// An input gives its value its own name, so it was added under the name that the value has in
  /// the text; now it gets the one it has in the model.
  void name_inputs() {
    std::vector<std::string> output_names;
    for (const GraphOutput& output : graph_.outputs())
      output_names.push_back(output.writes ? input_names_[*output.writes] : output.name);
    graph_.rename_boundary(std::move(input_names_), std::move(output_names));
  }

  void parse_output() {
    std::string output_name = in_.string("the output's name");
    if (in_.accept_word("fixed"))
      return graph_.add_fixed_output(std::move(output_name), parse_fixed(in_));
    Value* value = parse_operand();
    std::vector<int> order = parse_order(value->shape().size());
    graph_.add_output(std::move(output_name), value, std::move(order));
  }

  void parse_origin() {
    const size_t position = in_.next();
    in_.expect("@");
    OriginEntry& entry = origins_[in_.integer("a number")];
    if (entry.defined) in_.fail(position, "this origin is defined already");
    if (!entry.origin) entry.origin = std::make_shared<Origin>();
    entry.defined = true;
    entry.origin->node = in_.string("the node's name in the model");
    entry.origin->source = in_.string("the source line");
    entry.origin->module = in_.string("the module");
  }

  /// Reads a statement after its %.
  void parse_node() {
    const auto [position, value_name] = parse_new_name();
    std::optional<TensorType> declared;
    size_t type_position = position;
    if (in_.accept(":")) {
      type_position = in_.next();
      declared = parse_type(in_);
    }
    in_.expect("=");
    const size_t op_position = in_.next();
    const std::string_view op_name = in_.word("an op");
    const auto op = parse_op(op_name);
    if (!op) in_.fail(op_position, fmt::format("no op is called '{}'", op_name));
    std::vector<Value*> operands;
    parse_list(in_, "(", ")", [&] { operands.push_back(parse_operand()); });
    check_operand_count(info(*op), operands.size(), op_position);
    Attributes attributes = parse_attributes(in_, *op);
    OriginRef origin = parse_origin_use(value_name);
    Value* value = in_.at(op_position, [&] {
      return graph_.add(*op, std::move(operands), std::move(attributes), std::move(origin),
                        value_name);
    });
    check_symbols(value->type(), op_position);
    if (declared && *declared != plain_type(value->type()))
      in_.fail(type_position, fmt::format("%{} is declared {}, but its {} gives {}", value_name,
                                          to_string(*declared), op_name, to_string(value->type())));
    values_[value_name] = value;
  }

  void check_operand_count(const OpInfo& row, size_t count, size_t position) const {
    const auto given = static_cast<int64_t>(count);
    if (given >= row.min_operands && (row.max_operands < 0 || given <= row.max_operands)) return;
    in_.fail(position,
             fmt::format("{} takes ({}), not {} operands", row.name, row.operand_names, given));
  }

  /// " @3". The line that defines it may come later; until then errors name the value instead.
  OriginRef parse_origin_use(std::string_view value_name) {
    const size_t position = in_.next();
    if (!in_.accept("@")) return nullptr;
    OriginEntry& entry = origins_[in_.integer("a number")];
    if (!entry.origin) {
      entry.origin = std::make_shared<Origin>(Origin{"%" + std::string(value_name), "", ""});
      entry.first_use = position;
    }
    return entry.origin;
  }

  /// Reads a name after its %, one that no value has yet.
  std::pair<size_t, std::string_view> parse_new_name() {
    const size_t position = in_.next();
    const std::string_view value_name = in_.word("a value's name");
    if (values_.contains(value_name))
      in_.fail(position, fmt::format("%{} is defined already", value_name));
    return {position, value_name};
  }

  Value* parse_operand() {
    const size_t position = in_.next();
    in_.expect("%");
    const std::string_view value_name = in_.word("a value's name");
    const auto found = values_.find(value_name);
    if (found == values_.end())
      in_.fail(position, fmt::format("%{} is not defined before this use", value_name));
    return found->second;
  }

  /// "order (0,2,3,1)", a permutation of the rank, or nothing: the identity.
  std::vector<int> parse_order(size_t rank) {
    std::vector<int> order;
    const size_t position = in_.next();
    if (!in_.accept_word("order")) return order;
    std::vector<bool> seen(rank, false);
    parse_list(in_, "(", ")", [&] {
      const int64_t dim = in_.integer("a dim");
      if (dim < 0 || static_cast<size_t>(dim) >= rank || seen[static_cast<size_t>(dim)])
        in_.fail(position, fmt::format("the order is no permutation of {} dims", rank));
      seen[static_cast<size_t>(dim)] = true;
      order.push_back(static_cast<int>(dim));
    });
    if (order.size() != rank)
      in_.fail(position, fmt::format("the order is no permutation of {} dims", rank));
    return order;
  }

  void check_symbols(const TensorType& type, size_t position) const {
    for (const Dim dim : type.shape)
      for (const SymbolId id : dim.symbols())
        if (id > graph_.symbols().size())
          in_.fail(position, fmt::format("the symbol s{} is not defined", id));
  }

  Scanner& in_;
  Graph& graph_;
  std::unordered_map<std::string_view, Value*> values_;
  std::map<int64_t, OriginEntry> origins_;
  std::vector<std::string> input_names_;
};

void parse_field(Scanner& in, BodyRef& value) {
  in.expect_word("graph");
  auto graph = std::make_shared<Graph>(in.string("the graph's name"));
  BodyParser(in, *graph).parse();
  value.graph = std::move(graph);
}

}  // namespace

std::vector<Graph> parse_graphs(std::string_view text, std::string_view file_name) {
  Scanner in(text, file_name);
  std::vector<Graph> graphs;
  do {
    in.expect_word("graph");
    const size_t position = in.next();
    std::string name = in.string("the graph's name");
    if (std::ranges::find(graphs, name, &Graph::name) != graphs.end())
      in.fail(position, fmt::format("a second graph {}", quote(name)));
    BodyParser(in, graphs.emplace_back(std::move(name))).parse();
  } while (!in.at_end());
  return graphs;
}

Graph parse_graph(std::string_view text, std::string_view file_name) {
  std::vector<Graph> graphs = parse_graphs(text, file_name);
  if (graphs.size() != 1)
    throw UserError("{}: {} graphs where one is expected", file_name, graphs.size());
  return std::move(graphs[0]);
}

}  // namespace layline
