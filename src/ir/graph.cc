#include "ir/graph.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace layline {
namespace {

std::vector<int> identity_order(size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string describe(const Origin& origin) {
  std::string place = origin.source;
  if (!origin.module.empty()) place += (place.empty() ? "" : ", ") + origin.module;
  return place.empty() ? origin.node : fmt::format("{} ({})", origin.node, place);
}

std::string describe(const Node& node) {
  return node.origin() ? describe(*node.origin()) : node.result()->name();
}

const Constant* stored_constant(const Value* value) {
  if (value->def() == nullptr || !value->def()->is(Op::constant)) return nullptr;
  return &value->def()->attrs<ConstantAttrs>().data;
}

const Constant* constant_of(const Value* value) {
  return value->type().quantisation ? nullptr : stored_constant(value);
}

bool is_quantised(const Node& node) {
  if (node.result()->type().quantisation) return true;
  for (const Value* operand : node.operands())
    if (operand->type().quantisation) return true;
  return false;
}

Graph::Graph(std::string graph_name) : name_(std::move(graph_name)) {}
Graph::Graph(Graph&&) = default;
Graph& Graph::operator=(Graph&&) = default;
Graph::~Graph() = default;

std::string Graph::unique_name(std::string_view wanted) {
  std::string base(wanted.empty() ? "v" : wanted);
  for (char& c : base)
    if (!is_name_character(c)) c = '_';
  int& count = names_[base];
  std::string unique = base;
  while (count++ > 0) {
    unique = base + '_' + std::to_string(count - 1);
    if (names_.emplace(unique, 1).second) break;
  }
  return unique;
}

Value* Graph::new_value(TensorType type, std::string_view wanted_name) {
  Value& value = values_.emplace_back();
  value.number_ = values_.size() - 1;
  value.type_ = std::move(type);
  value.name_ = unique_name(wanted_name);
  return &value;
}

Value* Graph::add_input(std::string name, TensorType type, std::vector<int> dim_order) {
  if (dim_order.empty()) dim_order = identity_order(type.shape.size());
  Value* value = new_value(std::move(type), name);
  inputs_.push_back({std::move(name), value, std::move(dim_order), {}});
  return value;
}

Value* Graph::add_state(std::string name, Constant initial) {
  Value* value = add_input(std::move(name), {initial.dtype(), initial.shape()});
  inputs_.back().initial = std::move(initial);
  return value;
}

void Graph::add_fixed_input(std::string name, FixedValue value) {
  inputs_.push_back({std::move(name), nullptr, {}, std::move(value)});
}

void Graph::add_output(std::string name, Value* value, std::vector<int> dim_order) {
  if (dim_order.empty()) dim_order = identity_order(value->shape().size());
  value->outputs_.push_back(outputs_.size());
  outputs_.push_back({std::move(name), value, std::move(dim_order), {}});
}

void Graph::add_write(size_t input, Value* value) {
  add_output(inputs_[input].name, value, inputs_[input].dim_order);
  outputs_.back().writes = input;
}

void Graph::add_fixed_output(std::string name, FixedValue value) {
  outputs_.push_back({std::move(name), nullptr, {}, std::move(value)});
}

void Graph::link(Node* node) {
  node->next_ = insertion_;
  node->previous_ = insertion_ ? insertion_->previous_ : last_;
  (node->previous_ ? node->previous_->next_ : first_) = node;
  (insertion_ ? insertion_->previous_ : last_) = node;
  ++node_count_;
}

Value* Graph::add(Op op, std::vector<Value*> operands, Attributes attributes, OriginRef origin,
                  std::string_view value_name) {
  const OpInfo& row = info(op);
  LAYLINE_ASSERT(attributes.index() == row.attributes, "wrong attributes for {}", row.name);
  LAYLINE_ASSERT(
      static_cast<int>(operands.size()) >= row.min_operands &&
          (row.max_operands < 0 || static_cast<int>(operands.size()) <= row.max_operands),
      "{} given {} operands", row.name, operands.size());
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (const Value* operand : operands) types.push_back(operand->type());
  TensorType result_type;
  try {
    result_type = infer(op, types, attributes, symbols_);
  } catch (const UserError& error) {
    throw UserError("{}: {}: {}", origin ? describe(*origin) : std::string(value_name), row.name,
                    error.what());
  }

  Node& node = nodes_.emplace_back();
  node.op_ = op;
  node.operands_ = std::move(operands);
  node.attributes_ = std::move(attributes);
  node.origin_ = std::move(origin);
  if (value_name.empty())
    value_name = node.origin_ ? std::string_view(node.origin_->node) : row.name;
  node.result_ = new_value(std::move(result_type), value_name);
  node.result_->def_ = &node;
  for (int i = 0; i < node.operand_count(); ++i) node.operand(i)->uses_.push_back({&node, i});
  link(&node);
  return node.result_;
}

Value* Graph::constant(Constant data, OriginRef origin, std::string_view value_name) {
  return add(Op::constant, {}, ConstantAttrs{std::move(data)}, std::move(origin), value_name);
}

void Graph::set_operand(Node* node, int index, Value* to) {
  Value*& slot = node->operands_[static_cast<size_t>(index)];
  auto& uses = slot->uses_;
  uses.erase(std::find_if(uses.begin(), uses.end(), [&](const Use& use) {
    return use.user == node && use.operand == index;
  }));
  slot = to;
  to->uses_.push_back({node, index});
}

void Graph::replace_all_uses(Value* from, Value* to) {
  LAYLINE_ASSERT(from->type() == to->type(), "replacing {} {} by {} {}", from->name(),
                 to_string(from->type()), to->name(), to_string(to->type()));
  if (from == to) return;
  for (const Use& use : from->uses_) {
    use.user->operands_[static_cast<size_t>(use.operand)] = to;
    to->uses_.push_back(use);
  }
  from->uses_.clear();
  for (const size_t output : from->outputs_) {
    outputs_[output].value = to;
    to->outputs_.push_back(output);
  }
  from->outputs_.clear();
}

void Graph::set_output(size_t index, Value* value, std::vector<int> dim_order) {
  outputs_[index].dim_order = std::move(dim_order);
  Value*& slot = outputs_[index].value;
  if (slot == value) return;
  auto& outputs = slot->outputs_;
  *std::ranges::find(outputs, index) = outputs.back();
  outputs.pop_back();
  slot = value;
  value->outputs_.push_back(index);
}

Value* Graph::reorder_input(size_t index, std::vector<int> dim_order) {
  GraphInput& input = inputs_[index];
  Shape logical(dim_order.size());
  for (size_t i = 0; i < dim_order.size(); ++i)
    logical[static_cast<size_t>(input.dim_order[i])] = input.value->shape()[i];
  TensorType type = input.value->type();
  type.shape.clear();
  for (int dim : dim_order) type.shape.push_back(logical[static_cast<size_t>(dim)]);
  input.value = new_value(std::move(type), input.name);
  input.dim_order = std::move(dim_order);
  return input.value;
}

Value* Graph::reorder_state(size_t index, const Relayout& relayout) {
  GraphInput& input = inputs_[index];
  const auto all = input.relaid ? input.relaid->then(relayout) : std::optional(relayout);
  LAYLINE_ASSERT(input.is_state() && !input.pinned && all, "the state {} cannot be moved so",
                 input.name);
  input.relaid = *all;
  input.initial = input.initial->relaid(relayout);
  input.value = new_value({input.value->dtype(), relayout.target()}, input.name);
  input.dim_order = identity_order(relayout.target().size());
  return input.value;
}

void Graph::rename_boundary(std::vector<std::string> inputs, std::vector<std::string> outputs) {
  LAYLINE_ASSERT(inputs.size() == inputs_.size() && outputs.size() == outputs_.size(),
                 "{} and {} names for {} inputs and {} outputs", inputs.size(), outputs.size(),
                 inputs_.size(), outputs_.size());
  for (size_t i = 0; i < inputs.size(); ++i) inputs_[i].name = std::move(inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) outputs_[i].name = std::move(outputs[i]);
}

void Graph::erase(Node* node) {
  LAYLINE_ASSERT(node->result_->uses_.empty() && node->result_->outputs_.empty(),
                 "{} is erased while in use", node->result_->name());
  for (int i = 0; i < node->operand_count(); ++i) {
    auto& uses = node->operand(i)->uses_;
    uses.erase(std::find_if(uses.begin(), uses.end(),
                            [&](const Use& use) { return use.user == node && use.operand == i; }));
  }
  node->operands_.clear();
  (node->previous_ ? node->previous_->next_ : first_) = node->next_;
  (node->next_ ? node->next_->previous_ : last_) = node->previous_;
  if (insertion_ == node) insertion_ = node->next_;
  node->next_ = node->previous_ = nullptr;
  --node_count_;
  // The node stays until the graph goes; its weights and their scales would take as much memory
  // again as what replaces them.
  if (node->is(Op::constant))
    node->attributes_ = ConstantAttrs{Constant::owned(DType::f32, {0}, {}), {}};
  else if (node->is(Op::reinterpret))
    node->attributes_ = QuantisationAttrs{};
  else
    return;
  node->result_->type_.quantisation = {};
}

}  // namespace layline
