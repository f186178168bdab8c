#include "ir/evaluate.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "ir/quantised_tensor.h"

namespace layline {
namespace {

/// The values of symbols that the shapes of the inputs show.
SymbolValues bind(const Graph& graph, std::span<const Tensor> inputs) {
  SymbolValues sizes(graph.symbol_table());
  auto each = [&](auto visit) {
    size_t given = 0;
    for (const GraphInput& input : graph.inputs())
      if (input.value != nullptr) visit(input, inputs[given++]);
  };
  each([&](const GraphInput& input, const Tensor& actual) {
    const Shape& declared = input.value->shape();
    for (size_t a = 0; a < declared.size() && declared.size() == actual.dims().size(); ++a)
      sizes.learn(declared[a], actual.dims()[a]);
  });
  each([&](const GraphInput& input, const Tensor& actual) {
    const TensorType& declared = input.value->type();
    if (declared.dtype != actual.dtype() || sizes(declared.shape) != actual.type().shape)
      throw UserError("input {}: expected {}, found {}", input.name, to_string(declared),
                      to_string(actual.type()));
  });
  return sizes;
}

Attributes bound(Attributes attributes, const SymbolValues& sizes) {
  if (auto* relayout = std::get_if<RelayoutAttrs>(&attributes)) {
    const Relayout& symbolic = relayout->relayout;
    relayout->relayout = Relayout::from_factors(sizes(symbolic.source()), sizes(symbolic.factors()),
                                                symbolic.order(), sizes(symbolic.target()));
  } else if (auto* shape = std::get_if<ShapeAttrs>(&attributes)) {
    shape->shape = sizes(shape->shape);
  } else if (auto* slice = std::get_if<SliceAttrs>(&attributes)) {
    slice->size = sizes(slice->size);
  } else if (auto* counted = std::get_if<CountedSliceAttrs>(&attributes)) {
    counted->size = sizes(counted->size);
  } else if (auto* resize = std::get_if<ResizeAttrs>(&attributes)) {
    resize->size = sizes(resize->size);
  }
  return attributes;
}

/// Gives the size of a counted slice its value, which holds for all that follows.
void count(const Node& node, std::span<const Tensor> operands, const SymbolTable& symbols,
           SymbolValues& sizes) {
  const auto& attrs = node.attrs<CountedSliceAttrs>();
  const Dim& size = attrs.size[static_cast<size_t>(attrs.axis)];
  if (size.is_static()) return;
  const SymbolId symbol = size.symbols()[0];
  const int64_t number = operands[1].get_int(0);
  const auto [least, greatest] = symbols.range(Sum(size));
  if (number < least || number > greatest)
    throw UserError("{}: {} counts {}, which is not between {} and {}", describe(node),
                    name(node.op()), number, least, greatest);
  if (!sizes.knows(symbol)) sizes.set(symbol, number);
}

/// The tensors that later nodes still need.
class Live {
 public:
  void add(const Value* value, Tensor tensor) {
    const size_t uses = value->uses().size() + static_cast<size_t>(value->output_uses());
    if (uses > 0) entries_.emplace(value, Entry{std::move(tensor), uses});
  }

  /// The tensor for one of the value's uses; the last one takes it away.
  Tensor use(const Value* value) {
    const auto found = entries_.find(value);
    LAYLINE_ASSERT(found != entries_.end(), "{} is used before it is computed", value->name());
    if (--found->second.uses_left > 0) return found->second.tensor;
    Tensor tensor = std::move(found->second.tensor);
    entries_.erase(found);
    return tensor;
  }

 private:
  struct Entry {
    Tensor tensor;
    size_t uses_left;
  };
  std::unordered_map<const Value*, Entry> entries_;
};

Tensor evaluate_bound(const Node& node, std::span<const Tensor> operands,
                      const SymbolValues& sizes) {
  try {
    return evaluate_op(node.op(), operands, bound(node.attributes(), sizes));
  } catch (const UserError& error) {
    throw UserError("{}: {}: {}", describe(node), name(node.op()), error.what());
  }
}

}  // namespace

namespace {

/// The definition of a typed op: dequantise the operands, compute, quantise the result.
Tensor evaluate_on_reals(const OpInfo& row, std::span<const Tensor> operands,
                         const Attributes& attributes, const TensorType& result) {
  std::vector<Tensor> reals;
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) {
    reals.push_back(real_tensor(operand));
    types.push_back(reals.back().type());
  }
  if (is_dynamic(attributes))
    reals[0] = dynamically_quantised(reals[0], row.op == Op::linear ? reals[0].rank() - 1 : 1);
  SymbolTable none;
  Tensor real = row.evaluate(reals, attributes, row.infer(types, attributes, none));
  return result.quantisation ? quantised_tensor(real, result.quantisation) : real;
}

bool is_quantised_tensor(const Tensor& tensor) {
  return static_cast<bool>(tensor.type().quantisation);
}

}  // namespace

Tensor evaluate_op(Op op, std::span<const Tensor> operands, const Attributes& attributes) {
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) types.push_back(operand.type());
  const OpInfo& row = info(op);
  SymbolTable none;
  const TensorType result = infer(op, types, attributes, none);
  // A result without elements needs no computing, and its other sizes may be absurd.
  if (element_count(result.shape).is_zero()) return Tensor(result);
  // What moves integers, or knows what they stand for, needs no real numbers; what pads does.
  const bool as_they_are = (row.op_class == OpClass::movement && op != Op::pad) ||
                           op == Op::constant || op == Op::quantize || op == Op::dequantize ||
                           op == Op::reinterpret;
  const bool quantised = result.quantisation || is_dynamic(attributes) ||
                         std::ranges::any_of(operands, is_quantised_tensor);
  return quantised && !as_they_are ? evaluate_on_reals(row, operands, attributes, result)
                                   : row.evaluate(operands, attributes, result);
}

Tensor evaluate_node(const Node& node, std::span<const Tensor> operands) {
  const SymbolTable none;
  return evaluate_bound(node, operands, SymbolValues(none));
}

Tensor tensor_of(const Constant& constant) {
  return Tensor({constant.dtype(), constant.shape()}, constant.bytes());
}

Tensor tensor_of(const Value* constant) {
  const Constant* data = stored_constant(constant);
  LAYLINE_ASSERT(data != nullptr, "{} is no constant", constant->name());
  return Tensor(constant->type(), data->bytes());
}

Tensor in_memory(const GraphInput& state, Tensor tensor) {
  if (!state.relaid) return tensor;
  return evaluate_op(Op::relayout, std::span(&tensor, 1), RelayoutAttrs{*state.relaid});
}

Tensor in_model(const GraphInput& state, Tensor tensor) {
  if (!state.relaid) return tensor;
  return evaluate_op(Op::relayout, std::span(&tensor, 1), RelayoutAttrs{state.relaid->inverse()});
}

std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs,
                             const Observer& observe) {
  const auto wanted = std::ranges::count_if(
      graph.inputs(), [](const GraphInput& input) { return input.value != nullptr; });
  if (static_cast<size_t>(wanted) != inputs.size())
    throw UserError("expected {} inputs, found {}", wanted, inputs.size());
  SymbolValues sizes = bind(graph, inputs);
  Live live;
  size_t given = 0;
  for (const GraphInput& input : graph.inputs())
    if (input.value != nullptr) live.add(input.value, inputs[given++]);

  for (const Node* node : graph) {
    std::vector<Tensor> operands;
    for (const Value* operand : node->operands()) operands.push_back(live.use(operand));
    if (node->is(Op::counted_slice)) count(*node, operands, graph.symbol_table(), sizes);
    Tensor result = evaluate_bound(*node, operands, sizes);
    if (observe) observe(*node, result);
    live.add(node->result(), std::move(result));
  }

  std::vector<Tensor> outputs;
  for (const GraphOutput& output : graph.outputs())
    if (output.value != nullptr) outputs.push_back(live.use(output.value));
  return outputs;
}

}  // namespace layline
