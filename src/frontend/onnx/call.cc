#include "frontend/onnx/call.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.h"

namespace layline::onnx {
namespace {

/// The names of the inputs of the graph that a value is computed from.
std::vector<std::string> inputs_behind(const layline::Graph& graph, const Value* value) {
  std::unordered_set<const Value*> seen = {value};
  std::vector<const Value*> open = {value};
  while (!open.empty()) {
    const layline::Node* node = open.back()->def();
    open.pop_back();
    if (node == nullptr) continue;
    for (const Value* operand : node->operands())
      if (seen.insert(operand).second) open.push_back(operand);
  }
  std::vector<std::string> names;
  for (const GraphInput& input : graph.inputs())
    if (seen.contains(input.value)) names.push_back(input.name);
  return names;
}

}  // namespace

Call::Call(const Shared& shared, const Node& node, std::vector<const Attribute*> attributes,
           std::vector<Value*> inputs, int64_t opset, OriginRef origin, std::string_view op,
           ImportBody import_body)
    : Builder(shared.graph, std::move(origin), op),
      shared_(shared),
      node_(node),
      attributes_(std::move(attributes)),
      inputs_(std::move(inputs)),
      opset_(opset),
      import_body_(std::move(import_body)) {}

Value* Call::input(size_t i) const {
  Value* value = optional(i);
  if (value == nullptr) fail("input {} is missing", i);
  return value;
}

std::vector<Value*> Call::inputs() const {
  std::vector<Value*> values;
  for (size_t i = 0; i < inputs_.size(); ++i) values.push_back(input(i));
  if (values.empty()) fail("has no inputs");
  return values;
}

void Call::depends_on_data(const Value* value, std::string_view what) const {
  const std::vector<std::string> names = inputs_behind(graph(), value);
  if (names.empty()) fail("{} cannot be computed when the model is compiled", what);
  fail(
      "{} depends on the data of the input `{}`, but must be known when the model is compiled; if "
      "the input is always the same, fix it: --fix {}=NUMBER or --fix {}=FILE.npy",
      what, fmt::join(names, "`, `"), names[0], names[0]);
}

const Tensor& Call::known(size_t i, std::string_view what) const {
  const Value* value = input(i);
  const Tensor* tensor = shared_.sizes.constant(value);
  if (tensor != nullptr) return *tensor;
  if (shared_.sizes.numbers(value) != nullptr)
    fail("{} follows from a dynamic size, which is not supported here; fix it with --dim", what);
  depends_on_data(value, what);
}

Ints Call::integers(size_t i, std::string_view what) const {
  const Tensor& tensor = known(i, what);
  Ints values;
  for (int64_t j = 0; j < tensor.count(); ++j) values.push_back(tensor.get_int(j));
  return values;
}

int64_t Call::integer_at(size_t i, std::string_view what) const {
  const Ints values = integers(i, what);
  if (values.size() != 1) fail("{} has {} elements, expected one", what, values.size());
  return values[0];
}

double Call::number_at(size_t i, std::string_view what) const {
  const Tensor& tensor = known(i, what);
  if (tensor.count() != 1) fail("{} has {} elements, expected one", what, tensor.count());
  return tensor.get(0);
}

std::vector<Sum> Call::sums(size_t i, std::string_view what) const {
  const Value* value = input(i);
  const Numbers* numbers = shared_.sizes.numbers(value);
  if (numbers == nullptr) depends_on_data(value, what);
  std::vector<Sum> sums;
  for (const Fraction& element : numbers->elements) {
    if (element.divisor != 1) fail("{} is no whole number", what);
    sums.push_back(element.numerator);
  }
  return sums;
}

std::optional<Sum> Call::number_of(const Value* value) const {
  const Numbers* all = numbers(value);
  if (all == nullptr || all->elements.size() != 1 || all->elements[0].divisor != 1)
    return std::nullopt;
  return all->elements[0].numerator;
}

const Attribute* Call::find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes_, attribute, &Attribute::name);
  return found == attributes_.end() ? nullptr : *found;
}

const Attribute* Call::find(std::string_view attribute, Attribute::Kind kind) const {
  const Attribute* found = find(attribute);
  if (found != nullptr && found->kind != kind && found->kind != Attribute::Kind::kNone)
    fail("the attribute `{}` is of the wrong kind", attribute);
  return found;
}

const Attribute& Call::require(std::string_view attribute, Attribute::Kind kind) const {
  const Attribute* found = find(attribute, kind);
  if (found == nullptr) fail("the attribute `{}` is missing", attribute);
  return *found;
}

int64_t Call::integer(std::string_view attribute) const {
  return require(attribute, Attribute::Kind::kInt).integer;
}

int64_t Call::integer(std::string_view attribute, int64_t otherwise) const {
  const Attribute* found = find(attribute, Attribute::Kind::kInt);
  return found ? found->integer : otherwise;
}

double Call::number(std::string_view attribute, double otherwise) const {
  const Attribute* found = find(attribute, Attribute::Kind::kFloat);
  return found ? found->number : otherwise;
}

std::string_view Call::string(std::string_view attribute, std::string_view otherwise) const {
  const Attribute* found = find(attribute, Attribute::Kind::kString);
  return found ? found->string : otherwise;
}

Ints Call::ints(std::string_view attribute, Ints otherwise) const {
  const Attribute* found = find(attribute, Attribute::Kind::kInts);
  return found ? found->integers : std::move(otherwise);
}

std::vector<double> Call::numbers(std::string_view attribute) const {
  const Attribute* found = find(attribute, Attribute::Kind::kFloats);
  return found ? std::vector<double>(found->numbers.begin(), found->numbers.end())
               : std::vector<double>();
}

std::vector<std::string_view> Call::strings(std::string_view attribute) const {
  const Attribute* found = find(attribute, Attribute::Kind::kStrings);
  return found ? found->strings : std::vector<std::string_view>();
}

Constant Call::tensor(std::string_view attribute) const {
  return shared_.tensors.read(require(attribute, Attribute::Kind::kTensor).tensor);
}

DType Call::dtype(std::string_view attribute, DType otherwise) const {
  const Attribute* found = find(attribute, Attribute::Kind::kInt);
  if (found == nullptr) return otherwise;
  const auto type = static_cast<ElementType>(found->integer);
  const auto dtype = stored_dtype(type);
  if (!dtype) fail("`{}` is {}, which layline does not support", attribute, name(type));
  return *dtype;
}

std::optional<Ints> Call::attribute_or_input(std::string_view attribute, size_t input) const {
  if (has(input)) return integers(input, attribute);
  if (has(attribute)) return ints(attribute, {});
  return std::nullopt;
}

int64_t Call::axis(int64_t given, int64_t rank) const {
  if (given < -rank || given >= rank) fail("there is no axis {} of {}", given, rank);
  return given < 0 ? given + rank : given;
}

Ints Call::axes(const Ints& given, int64_t rank) const {
  Ints axes;
  for (const int64_t one : given) axes.push_back(axis(one, rank));
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end())
    fail("an axis is given twice: {}", fmt::join(given, ", "));
  return axes;
}

const Graph& Call::body_of(std::string_view attribute) const {
  const Attribute& found = require(attribute, Attribute::Kind::kGraph);
  if (found.graphs.size() != 1) fail("the attribute `{}` has no graph", attribute);
  return found.graphs[0];
}

std::vector<Value*> Call::body(std::string_view attribute, std::vector<Value*> inputs) const {
  return import_body_(body_of(attribute), std::move(inputs));
}

}  // namespace layline::onnx
