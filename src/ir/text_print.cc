#include <algorithm>
#include <iterator>
#include <limits>
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

/// The text of one attribute: an overload for each type that a field can have.
class FieldText {
 public:
  explicit FieldText(const PrintOptions& options) : options_(options) {}

  std::string operator()(const bool& value) const { return value ? "true" : "false"; }
  std::string operator()(const int64_t& value) const { return fmt::format("{}", value); }
  std::string operator()(const double& value) const { return exact_number(value); }
  std::string operator()(const DType& value) const { return std::string(name(value)); }
  std::string operator()(const Bounds& value) const {
    return fmt::format("[{},{}]", exact_number(value.min), exact_number(value.max));
  }
  std::string operator()(const Shape& value) const { return to_string(value); }
  std::string operator()(const Relayout& value) const { return to_string(value); }
  std::string operator()(const Constant& value) const { return constant_text(value, options_); }
  std::string operator()(const QuantisationRef& value) const {
    return value ? quantisation_text(*value, options_) : "";
  }
  std::string operator()(const BodyRef& value) const {
    return value.graph ? print(*value.graph, options_) : "";
  }
  template <typename Number>
  std::string operator()(const std::vector<Number>& values) const {
    std::string text = "[";
    for (const Number value : values) text += (text.size() > 1 ? "," : "") + (*this)(value);
    return text + "]";
  }
  template <typename Enum>
  requires std::is_enum_v<Enum> std::string operator()(const Enum& value) const {
    return std::string(words(value).at(static_cast<size_t>(value)));
  }

 private:
  const PrintOptions& options_;
};

/// What the fields of a default-constructed T print as; nothing for a T that has no default.
template <typename T>
std::vector<std::string> default_texts() {
  std::vector<std::string> texts;
  if constexpr (std::is_default_constructible_v<T>) {
    const T defaults{};
    T::fields(defaults, [&](std::string_view, const auto& field) {
      texts.push_back(FieldText(PrintOptions{})(field));
    });
  }
  return texts;
}

/// " { stride = [2,2], groups = 4 }" without the fields that print as their defaults do: the parser
/// starts from the defaults, so nothing is lost.
template <typename T>
std::string attributes_text(const T& attributes, const PrintOptions& options) {
  static const std::vector<std::string> defaults = default_texts<T>();
  std::string text;
  size_t index = 0;
  T::fields(attributes, [&](std::string_view field_name, const auto& field) {
    const std::string value = FieldText(options)(field);
    const bool is_default = value.empty() || (index < defaults.size() && defaults[index] == value);
    ++index;
    if (is_default) return;
    text += fmt::format("{}{} = {}", text.empty() ? " { " : ", ", field_name, value);
  });
  return text.empty() ? text : text + " }";
}

std::string fixed_text(const FixedValue& fixed) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(int64_t value) const { return fmt::format("int {}", value); }
    std::string operator()(double value) const { return "float " + exact_number(value); }
    std::string operator()(bool value) const { return value ? "bool true" : "bool false"; }
    std::string operator()(const std::string& value) const { return "string " + quote(value); }
  };
  return std::visit(Visitor{}, fixed);
}

std::string order_text(const std::vector<int>& order) {
  if (std::is_sorted(order.begin(), order.end())) return "";  // a sorted permutation: identity
  return fmt::format(" order ({})", fmt::join(order, ","));
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string print(const Graph& graph) {
    line("graph {} {{", quote(graph.name()));
    size_t id = 0;
    for (const Symbol& symbol : graph.symbols()) print(symbol, ++id);
    for (const GraphInput& input : graph.inputs()) print(input);
    for (const Node* node : graph) print(*node);
    for (const GraphOutput& output : graph.outputs()) {
      if (output.writes)
        line("  write %{} to %{}", output.value->name(),
             graph.inputs()[*output.writes].value->name());
      else
        print(output);
    }
    for (size_t i = 0; i < origins_.size(); ++i)
      line("  origin @{} {} {} {}", i + 1, quote(origins_[i]->node), quote(origins_[i]->source),
           quote(origins_[i]->module));
    line("}}");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void print(const Symbol& symbol, size_t id) {
    if (symbol.formula.kind != Formula::Kind::free)
      return line("  symbol s{} = {}", id, quote(to_string(symbol.formula)));
    const bool unbounded = symbol.max == std::numeric_limits<int64_t>::max();
    line("  symbol s{} {} in [{},{}]", id, quote(symbol.name), symbol.min,
         unbounded ? "inf" : fmt::format("{}", symbol.max));
  }

  void print(const GraphInput& input) {
    if (input.value == nullptr)
      line("  input {} fixed {}", quote(input.name), fixed_text(input.fixed));
    else if (input.is_state())
      line("  state {} %{} = {}", quote(input.name), input.value->name(),
           constant_text(*input.initial, options_));
    else
      line("  input {} %{} : {}{}", quote(input.name), input.value->name(),
           to_string(input.value->type()), order_text(input.dim_order));
  }

  void print(const GraphOutput& output) {
    if (output.value == nullptr)
      line("  output {} fixed {}", quote(output.name), fixed_text(output.fixed));
    else
      line("  output {} %{}{}", quote(output.name), output.value->name(),
           order_text(output.dim_order));
  }

  void print(const Node& node) {
    std::string operands;
    for (const Value* operand : node.operands())
      operands += (operands.empty() ? "%" : ", %") + operand->name();
    const std::string attributes =
        std::visit([&](const auto& alternative) { return attributes_text(alternative, options_); },
                   node.attributes());
    line("  %{} : {} = {}({}){}{}", node.result()->name(),
         to_string(plain_type(node.result()->type())), name(node.op()), operands, attributes,
         origin_text(node.origin()));
  }

  /// " @3": origins are numbered as they are met, and listed at the end.
  std::string origin_text(const OriginRef& origin) {
    if (!origin) return "";
    const auto [place, is_new] = origin_numbers_.emplace(origin.get(), origins_.size() + 1);
    if (is_new) origins_.push_back(origin.get());
    return fmt::format(" @{}", place->second);
  }

  const PrintOptions& options_;
  std::string out_;
  std::unordered_map<const Origin*, size_t> origin_numbers_;
  std::vector<const Origin*> origins_;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  return Printer(options).print(graph);
}

}  // namespace layline
