#include "ir/evaluate.h"

#include <map>
#include <unordered_map>

#include "base/error.h"

namespace layline {
namespace {

/// The values of symbols, as the shapes of the inputs show them.
class Binding {
 public:
  /// Matches a declared shape with an actual one.
  void bind(const GraphInput& input, const Tensor& actual) {
    const TensorType& declared = input.value->type();
    bool fits = declared.dtype == actual.dtype() && declared.rank() == actual.rank();
    for (size_t a = 0; fits && a < declared.shape.size(); ++a) {
      const Dim& dim = declared.shape[a];
      const int64_t size = actual.dims()[a];
      // A product of symbols does not tell its factors.
      if (dim.is_static())
        fits = dim.value() == size;
      else if (dim.symbols().size() == 1)
        fits = size % dim.coefficient() == 0 &&
               sizes_.emplace(dim.symbols()[0], size / dim.coefficient()).first->second ==
                   size / dim.coefficient();
    }
    if (!fits)
      throw UserError("input {}: expected {}, found {}", input.name, to_string(declared),
                      to_string(actual.type()));
  }

  Dim operator()(const Dim& dim) const {
    Dim size = dim.coefficient();
    for (const SymbolId symbol : dim.symbols()) {
      const auto found = sizes_.find(symbol);
      if (found == sizes_.end())
        throw UserError("the size {} does not follow from the inputs", to_string(dim));
      size = size * found->second;
    }
    return size;
  }

  Shape operator()(Shape shape) const {
    for (Dim& dim : shape) dim = (*this)(dim);
    return shape;
  }

  Attributes operator()(Attributes attributes) const {
    if (auto* relayout = std::get_if<RelayoutAttrs>(&attributes)) {
      const Relayout& symbolic = relayout->relayout;
      relayout->relayout =
          Relayout::from_factors((*this)(symbolic.source()), (*this)(symbolic.factors()),
                                 symbolic.order(), (*this)(symbolic.target()));
    } else if (auto* shape = std::get_if<ShapeAttrs>(&attributes)) {
      shape->shape = (*this)(shape->shape);
    } else if (auto* slice = std::get_if<SliceAttrs>(&attributes)) {
      slice->size = (*this)(slice->size);
    }
    return attributes;
  }

 private:
  std::map<SymbolId, int64_t> sizes_;
};

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

Tensor evaluate_bound(const Node& node, std::span<const Tensor> operands, const Binding& binding) {
  try {
    return evaluate_op(node.op(), operands, binding(node.attributes()));
  } catch (const UserError& error) {
    throw UserError("{}: {}: {}", describe(node), name(node.op()), error.what());
  }
}

}  // namespace

Tensor evaluate_op(Op op, std::span<const Tensor> operands, const Attributes& attributes) {
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) types.push_back(operand.type());
  const OpInfo& row = info(op);
  const TensorType result = row.infer(types, attributes);
  // Of nothing there is nothing to compute, and its other sizes may be absurd.
  if (element_count(result.shape).is_zero()) return Tensor(result);
  return row.evaluate(operands, attributes, result);
}

Tensor evaluate_node(const Node& node, std::span<const Tensor> operands) {
  return evaluate_bound(node, operands, Binding());
}

Tensor tensor_of(const Constant& constant) {
  return Tensor({constant.dtype(), constant.shape()}, constant.bytes());
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
  Live live;
  Binding binding;
  size_t given = 0;
  for (const GraphInput& input : graph.inputs()) {
    if (input.value == nullptr) continue;
    if (given == inputs.size()) throw UserError("input {} is missing", input.name);
    binding.bind(input, inputs[given]);
    live.add(input.value, inputs[given++]);
  }
  if (given != inputs.size()) throw UserError("expected {} inputs, found {}", given, inputs.size());

  for (const Node* node : graph) {
    std::vector<Tensor> operands;
    for (const Value* operand : node->operands()) operands.push_back(live.use(operand));
    Tensor result = evaluate_bound(*node, operands, binding);
    if (observe) observe(*node, result);
    live.add(node->result(), std::move(result));
  }

  std::vector<Tensor> outputs;
  for (const GraphOutput& output : graph.outputs())
    if (output.value != nullptr) outputs.push_back(live.use(output.value));
  return outputs;
}

}  // namespace layline
