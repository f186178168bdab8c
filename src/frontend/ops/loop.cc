#include "frontend/ops/loop.h"

#include <algorithm>
#include <cmath>

#include "frontend/ops/creation.h"
#include "ir/evaluate.h"

namespace layline::ops {
namespace {

constexpr double kLargestCount = 1 << 23;  // and sums of two are exact in all types that can count
/// ExecuTorch stops a method after ten million instructions, and a step has about ten.
constexpr int64_t kMostSteps = 1 << 20;

bool has_one_element(const Value* value) { return element_count(value->shape()).is_one(); }

/// The integer that a constant with one element is.
std::optional<int64_t> integer(const Value* value) {
  const Constant* constant = constant_of(value);
  if (constant == nullptr || !has_one_element(value)) return std::nullopt;
  const double number = tensor_of(*constant).get(0);
  if (std::trunc(number) != number || std::abs(number) > kLargestCount) return std::nullopt;
  return static_cast<int64_t>(number);
}

/// The type of all elements of a sequence.
TensorType all_of(TensorType element, const Dim& length) {
  element.shape.insert(element.shape.begin(), length);
  return element;
}

/// What some values are computed from.
struct Sources {
  std::unordered_set<const Value*> values;  // these, and all that is copied or found outside
  std::vector<Value*> outside;              // same in every step, and not computed from constants
};

/// Whether a value is computed from constants only, at fixed sizes.
bool is_fixed(const Value* value, std::unordered_map<const Value*, bool>& known) {
  if (const auto found = known.find(value); found != known.end()) return found->second;
  const Node* node = value->def();
  const bool fixed = node != nullptr && is_static(value->shape()) &&
                     std::ranges::all_of(node->operands(), [&](const Value* operand) {
                       return is_fixed(operand, known);
                     });
  return known[value] = fixed;
}

Sources sources_of(const std::vector<Value*>& values, const std::unordered_set<const Value*>& given,
                   const std::unordered_set<const Node*>& body) {
  Sources sources;
  std::unordered_map<const Value*, bool> fixed;
  std::vector<Value*> open(values.rbegin(), values.rend());
  while (!open.empty()) {
    Value* value = open.back();
    open.pop_back();
    if (!sources.values.insert(value).second || given.contains(value)) continue;
    if (!body.contains(value->def()) && !is_fixed(value, fixed)) {
      sources.outside.push_back(value);
      continue;
    }
    const auto operands = value->def()->operands();
    open.insert(open.end(), operands.rbegin(), operands.rend());
  }
  return sources;
}

std::unordered_set<const Node*> set_of(const std::vector<Node*>& nodes) {
  return {nodes.begin(), nodes.end()};
}

}  // namespace

bool can_count(DType dtype) { return byte_size(dtype) >= 4; }

Loop::Loop(const Builder& build, Graph& placeholders)
    : build_(build), placeholders_(placeholders), last_(build.graph().last()) {}

Loop::~Loop() {
  const std::vector<Node*> nodes = body();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) build_.graph().erase(*node);
}

Value* Loop::placeholder(std::string_view name, TensorType type) {
  Value* value = placeholders_.add_input(std::string(name), std::move(type));
  given_.insert(value);
  return value;
}

Value* Loop::carried(Value* initial) {
  carried_.push_back({initial, placeholder("carried", initial->type()), nullptr});
  return carried_.back().before;
}

Value* Loop::element(Value* sequence) {
  TensorType type = sequence->type();
  type.shape.erase(type.shape.begin());
  sequences_.push_back({sequence, placeholder("element", std::move(type))});
  return sequences_.back().each;
}

Value* Loop::count(const TensorType& type, int64_t first, int64_t step) {
  counts_.push_back({placeholder("count", type), {first, step}});
  return counts_.back().each;
}

void Loop::leave(Value* after) {
  const auto next = std::ranges::find(carried_, nullptr, &Carried::after);
  next->after = after;
}

/// The nodes that depend on what a step is given, in order.
std::vector<Node*> Loop::body() const {
  std::unordered_set<const Value*> dependent = given_;
  std::vector<Node*> nodes;
  for (Node* node = last_ ? last_->next() : build_.graph().first(); node; node = node->next()) {
    if (std::ranges::none_of(node->operands(),
                             [&](const Value* operand) { return dependent.contains(operand); }))
      continue;
    dependent.insert(node->result());
    nodes.push_back(node);
  }
  return nodes;
}

/// All that a step computes for others.
std::vector<Value*> Loop::results() const {
  std::vector<Value*> values = outputs_;
  for (const Carried& each : carried_) values.push_back(each.after);
  return values;
}

void Loop::replace(Value* from, Value* to) {
  build_.graph().replace_all_uses(from, to);
  std::ranges::replace(outputs_, from, to);
  for (Carried& each : carried_)
    if (each.after == from) each.after = to;
}

std::optional<Loop::Line> Loop::line(const Value* value) const {
  if (const auto count = std::ranges::find(counts_, value, &Count::each); count != counts_.end())
    return count->line;
  if (const auto number = integer(value)) return Line{*number, 0};
  const Node* node = value->def();
  if (node == nullptr || !has_one_element(value)) return std::nullopt;
  const auto operand = [&](int i) { return line(node->operand(i)); };
  switch (node->op()) {
    case Op::convert:
      return can_count(value->dtype()) ? operand(0) : std::nullopt;
    case Op::relayout:
      return operand(0);
    case Op::add:
    case Op::sub: {
      const auto a = operand(0), b = operand(1);
      if (!a || !b) return std::nullopt;
      const int64_t sign = node->is(Op::add) ? 1 : -1;
      return Line{a->first + sign * b->first, a->step + sign * b->step};
    }
    case Op::where: {  // as indices that may count from the end are made
      const Node* condition = node->operand(0)->def();
      if (condition == nullptr || !condition->is(Op::less) || integer(condition->operand(1)) != 0)
        return std::nullopt;
      const auto compared = line(condition->operand(0));
      const bool never = compared && compared->first >= 0 && compared->step >= 0;
      return never ? operand(2) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

void Loop::take_gathered(const Dim& length) {
  const std::vector<Node*> nodes = body();
  const std::unordered_set<const Node*> own = set_of(nodes);
  for (Node* node : nodes) {
    if (!node->is(Op::gather) || node->attrs<AxisAttrs>().axis != 0) continue;
    Value* x = node->operand(0);
    const auto place = line(node->operand(1));
    if (given_.contains(x) || own.contains(x->def()) || !place || place->first < 0 ||
        place->step != 1)
      continue;
    if (place->first != 0 || x->shape()[0] != length) {
      if (!x->shape()[0].is_static() || !length.is_static() ||
          place->first + length.value() > x->shape()[0].value())
        continue;
      x = build_.slice(x, 0, place->first, length);
    }
    const auto known = std::ranges::find(sequences_, x, &Sequence::all);
    Value* each = known != sequences_.end() ? known->each : element(x);
    // The gathered element has an axis of length 1, which models then drop.
    const std::vector<Use> uses(node->result()->uses().begin(), node->result()->uses().end());
    for (const Use& use : uses)
      if (use.user->is(Op::relayout) && use.user->result()->type() == each->type() &&
          use.user->attrs<RelayoutAttrs>().relayout.is_view())
        replace(use.user->result(), each);
    build_.graph().set_insertion_point(node);
    Value* row = build_.view(each, node->result()->shape());
    build_.graph().set_insertion_point(nullptr);
    replace(node->result(), row);
  }
}

std::string Loop::refusal(const Dim& length) const {
  if (build_.graph().symbol_table().greatest(length) > kMostSteps)
    return fmt::format("it may run more than {} rounds", kMostSteps);
  for (const Carried& each : carried_)
    if (each.initial->type() != each.after->type() || !is_static(each.initial->shape()))
      return fmt::format("its body is given {} and leaves {}", to_string(each.initial->type()),
                         to_string(each.after->type()));
  const std::vector<Node*> nodes = body();
  const Sources sources = sources_of(results(), given_, set_of(nodes));
  std::vector<const Value*> used(sources.outside.begin(), sources.outside.end());
  for (const Sequence& each : sequences_) used.push_back(each.each);
  for (const Node* node : nodes) used.push_back(node->result());
  for (const Value* value : used)
    if (sources.values.contains(value) && !is_static(value->shape()))
      return fmt::format("its body uses a dynamic {}, `{}`", to_string(value->type()),
                         value->name());
  for (const Node* node : nodes)
    if (sources.values.contains(node->result()) && node->is(Op::choose_scale))
      return "its body chooses scales when it runs";
  return "";
}

/// What the node of a body computes, for all steps at once; null if it depends on more than
/// elements of sequences, or is no op that can do that without more work or memory.
Value* Loop::for_all_steps(const Node& node, const std::unordered_set<const Node*>& body) const {
  std::vector<Value*> operands;
  int64_t sequences = 0, largest = 0;
  const int64_t rank = node.result()->type().rank();
  bool aligned = true;
  for (Value* operand : node.operands()) {
    const auto sequence = std::ranges::find(sequences_, operand, &Sequence::each);
    const bool found = sequence != sequences_.end();
    if (!found && (given_.contains(operand) || body.contains(operand->def()))) return nullptr;
    operands.push_back(found ? sequence->all : operand);
    if (!found) continue;
    ++sequences;
    largest = std::max(largest, element_count(operand->shape()).value());
    aligned = aligned && operand->type().rank() == rank;
  }
  if (sequences == 0) return nullptr;
  const bool one_in_front = sequences == 1 && operands[0] != node.operand(0);
  switch (node.op()) {
    case Op::linear:
      if (!one_in_front) return nullptr;
      break;
    case Op::matmul:
      if (!one_in_front || operands[1]->type().rank() != 2) return nullptr;
      break;
    case Op::relayout:
      if (!node.attrs<RelayoutAttrs>().relayout.is_view()) return nullptr;
      return build_.view(operands[0], all_of(node.result()->type(), operands[0]->shape()[0]).shape);
    default:
      if (!is_elementwise(node.op()) || !aligned ||
          element_count(node.result()->shape()).value() > largest)
        return nullptr;
  }
  return build_.graph().add(node.op(), std::move(operands), node.attributes(), node.origin());
}

/// Computes for all steps at once, before the loop, what follows from elements of sequences alone.
void Loop::hoist() {
  const std::vector<Node*> nodes = body();
  std::unordered_set<const Node*> body = set_of(nodes);
  const Sources sources = sources_of(results(), given_, body);
  std::vector<std::pair<const Node*, Value*>> hoisted;
  for (Node* node : nodes) {
    if (!sources.values.contains(node->result())) continue;
    const auto twin = std::ranges::find_if(hoisted, [&](const auto& other) {
      return other.first->op() == node->op() && other.first->attributes() == node->attributes() &&
             std::ranges::equal(other.first->operands(), node->operands());
    });
    Value* each = twin != hoisted.end() ? twin->second : nullptr;
    if (each == nullptr) {
      Value* all = for_all_steps(*node, body);
      if (all == nullptr) continue;
      each = element(all);
      hoisted.emplace_back(node, each);
    }
    replace(node->result(), each);
    body.erase(node);
  }
}

Loop::Results Loop::build(const Dim& length, bool backwards) {
  hoist();
  const std::unordered_set<const Node*> body = set_of(this->body());
  const Sources sources = sources_of(results(), given_, body);
  auto graph = std::make_shared<Graph>("step");
  std::unordered_map<const Value*, Value*> own;
  std::vector<Value*> operands;
  const auto input = [&](const char* name, Value* operand, const Value* placeholder) {
    operands.push_back(operand);
    own[placeholder] = graph->add_input(name, placeholder->type());
  };
  const auto counted = [&](const Count& count) {
    return arange(build_, all_of(count.each->type(), length), static_cast<double>(count.line.first),
                  static_cast<double>(count.line.step));
  };
  for (const Sequence& each : sequences_)
    if (sources.values.contains(each.each)) input("element", each.all, each.each);
  for (const Count& each : counts_)
    if (sources.values.contains(each.each)) input("count", counted(each), each.each);
  if (operands.empty()) {  // the loop is as long as a sequence
    const Value* each = count({DType::i64, {}}, 0, 1);
    input("count", counted(counts_.back()), each);
  }
  const size_t first_carried = operands.size();
  for (const Carried& each : carried_) input("carried", each.initial, each.before);
  const size_t first_outside = operands.size();
  for (Value* value : sources.outside) input("same", value, value);

  for (const Node* node : build_.graph()) {
    if (!sources.values.contains(node->result()) || own.contains(node->result())) continue;
    std::vector<Value*> copies;
    for (const Value* operand : node->operands()) copies.push_back(own.at(operand));
    own[node->result()] =
        graph->add(node->op(), std::move(copies), node->attributes(), node->origin());
  }
  for (const Value* output : outputs_) graph->add_output("output", own.at(output));
  for (size_t i = 0; i < carried_.size(); ++i)
    graph->add_write(first_carried + i, own.at(carried_[i].after));
  for (size_t i = 0; i < sources.outside.size(); ++i)
    graph->add_write(first_outside + i, own.at(sources.outside[i]));

  const BodyRef ref{std::move(graph)};
  const auto result = [&](size_t output) {
    return build_.add(Op::scan, operands, ScanAttrs{ref, static_cast<int64_t>(output), backwards});
  };
  Results results;
  for (size_t i = 0; i < outputs_.size(); ++i) results.given.push_back(result(i));
  for (size_t i = 0; i < carried_.size(); ++i) results.left.push_back(result(outputs_.size() + i));
  return results;
}

}  // namespace layline::ops
