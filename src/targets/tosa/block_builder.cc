#include "targets/tosa/block_builder.h"

#include <cctype>
#include <limits>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "targets/tosa/quantised.h"

namespace layline::tosa {
namespace {

/// The module that a node comes from, or the node itself outside of all modules.
std::string scope(const Node& node) {
  if (!node.origin()) return node.result()->name();
  return node.origin()->module.empty() ? node.origin()->node : node.origin()->module;
}

std::string operator_name(fb::Op op) {
  std::string name = fb::EnumNameOp(op);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

std::string_view operand_name(Op op, int operand) {
  std::string_view names = info(op).operand_names;
  for (int i = 0; i < operand; ++i) {
    const size_t blank = names.find(' ');
    if (blank == std::string_view::npos) return names;
    names.remove_prefix(blank + 1);
  }
  return names.substr(0, names.find(' '));
}

/// Constants as they lie in the file: 64-bit integers in 32 bits.
Constant narrowed(const Constant& data, const std::string& name) {
  if (data.dtype() != DType::i64) return data;
  const Tensor wide = tensor_of(data);
  Tensor narrow({DType::i32, data.shape()});
  for (int64_t i = 0; i < wide.count(); ++i) {
    const int64_t value = wide.get_int(i);
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
      throw UserError("the constant {} holds {}, and TOSA has integers of 32 bits only", name,
                      value);
    narrow.set_int(i, value);
  }
  return Constant::of(narrow);
}

}  // namespace

std::optional<fb::DType> element_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return fb::DType::FP32;
    case DType::f16:
      return fb::DType::FP16;
    case DType::i8:
      return fb::DType::INT8;
    case DType::i16:
      return fb::DType::INT16;
    case DType::i32:
    case DType::i64:
      return fb::DType::INT32;
    case DType::boolean:
      return fb::DType::BOOL;
    default:
      return std::nullopt;
  }
}

std::vector<int32_t> dims(const Shape& shape) {
  std::vector<int32_t> result;
  for (const Dim& dim : shape) result.push_back(static_cast<int32_t>(dim.value()));
  return result;
}

DType boundary_dtype(const GraphInput& input) {
  const QuantisationRef quantisation = quantised_input(input.value);
  return quantisation ? quantisation->dtype : input.value->dtype();
}

const Value* boundary_value(const GraphOutput& output) {
  return quantised_output(output.value) ? output.value->def()->operand(0) : output.value;
}

BlockBuilder::BlockBuilder(const Graph& graph, const Accelerator* accelerator)
    : graph_(graph), accelerator_(accelerator) {
  for (const GraphInput& input : graph.inputs()) {
    if (input.value == nullptr) continue;
    const std::string name = unique(input.name);
    program_.tensors.push_back(
        {name, *element_type(boundary_dtype(input)), dims(input.value->shape()), std::nullopt});
    program_.inputs.push_back(name);
    define(input.value, name, input.value->shape());
  }
  for (const GraphOutput& output : graph.outputs()) {
    outputs_.push_back(output.value ? unique(output.name) : "");
    if (output.value) output_names_.emplace(boundary_value(output), outputs_.back());
  }
}

std::string BlockBuilder::unique(std::string name) {
  std::string candidate = name;
  int& count = name_counts_[name];
  while (!names_.insert(candidate).second) candidate = fmt::format("{}_{}", name, ++count);
  return candidate;
}

void BlockBuilder::push(Operator op, const Node* maker) {
  program_.operators.push_back(std::move(op));
  makers_.push_back(maker);
}

void BlockBuilder::define(const Value* value, std::string tensor, const Shape& shape) {
  values_.emplace(value, Held{std::move(tensor), shape});
}

std::string BlockBuilder::in(const Node& node, int operand) {
  return in(node, operand, node.operand(operand)->shape());
}

std::string BlockBuilder::in(const Node& node, int operand, const Shape& shape) {
  return in(node, node.operand(operand), operand_name(node.op(), operand), shape);
}

std::string BlockBuilder::in(const Node& node, const Value* value, std::string_view role,
                             const Shape& shape) {
  if (const Constant* data = stored_constant(value)) {
    std::string& name = constants_[{value, shape}];
    if (name.empty())
      name = constant(node, role, data->relaid(Relayout::view(data->shape(), shape)));
    return name;
  }
  const Held& held = values_.at(value);
  if (held.shape == shape) return held.tensor;
  std::string& view = views_[{held.tensor, shape}];
  if (view.empty())
    view = reshaped(held.tensor, value->dtype(), shape, scope(node) + "/reshape", &node);
  return view;
}

std::string BlockBuilder::reshaped(const std::string& tensor, DType dtype, const Shape& shape,
                                   const std::string& name, const Node* maker) {
  std::vector<int64_t> sizes = static_dims(shape);
  std::string result = unique(name);
  Operator op{united(fb::ReshapeAttributeT{}), {tensor, this->shape(std::move(sizes))}, {result}};
  push(std::move(op), maker);
  program_.tensors.push_back({result, *element_type(dtype), dims(shape), std::nullopt});
  return result;
}

std::string BlockBuilder::constant(const Node& node, std::string_view role, const Constant& data) {
  return add_constant(fmt::format("{}/{}", scope(node), role), data);
}

std::string BlockBuilder::add_constant(const std::string& name, const Constant& data) {
  std::string result = unique(name);
  push({united(fb::ConstAttributeT{}), {}, {result}}, nullptr);
  program_.tensors.push_back(
      {result, *element_type(data.dtype()), dims(data.shape()), narrowed(data, result)});
  return result;
}

std::string BlockBuilder::scalar(DType dtype, double value, size_t rank) {
  std::string& name = scalars_[{dtype, value, rank}];
  if (name.empty()) {
    const Constant data = Constant::scalar(dtype, value);
    name = add_constant("const", data.relaid(Relayout::view({}, Shape(rank, Dim(1)))));
  }
  return name;
}

std::string BlockBuilder::zero48() {
  if (!zero48_.empty()) return zero48_;
  constexpr size_t kBytes = 6;
  zero48_ = unique("const");
  push({united(fb::ConstAttributeT{}), {}, {zero48_}}, nullptr);
  program_.tensors.push_back(
      {zero48_,
       fb::DType::INT48,
       {1},
       Constant::owned(DType::i8, {Dim(kBytes)}, std::vector<std::byte>(kBytes))});
  return zero48_;
}

std::string BlockBuilder::shape(std::vector<int64_t> values) {
  std::string& name = shapes_[values];
  if (!name.empty()) return name;
  name = unique(fmt::format("shape_{}", fmt::join(values, "x")));
  push({united(fb::ConstShapeAttributeT{}), {}, {name}}, nullptr);
  program_.shapes.push_back({name, std::move(values)});
  return name;
}

std::string BlockBuilder::add(const Node& node, fb::AttributeUnion attribute,
                              std::vector<std::string> inputs, fb::DType type, const Shape& shape,
                              const Value* result) {
  const auto op = static_cast<fb::Op>(attribute.type);
  const auto output =
      result && result->shape() == shape ? output_names_.find(result) : output_names_.end();
  std::string name = output != output_names_.end()
                         ? output->second
                         : unique(fmt::format("{}/{}", scope(node), operator_name(op)));
  push({std::move(attribute), std::move(inputs), {name}}, &node);
  program_.tensors.push_back({name, type, dims(shape), std::nullopt});
  return name;
}

void BlockBuilder::forward(const Node& node) {
  const Value* operand = node.operand(0);
  if (stored_constant(operand)) {
    define(node.result(), in(node, 0), operand->shape());
    return;
  }
  const Held held = values_.at(operand);
  define(node.result(), held.tensor, held.shape);
}

Program BlockBuilder::finish() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (graph_.outputs()[i].value == nullptr) continue;
    const Value* value = boundary_value(graph_.outputs()[i]);
    program_.outputs.push_back(outputs_[i]);
    std::string tensor;
    Shape held_shape = value->shape();
    if (const Constant* data = stored_constant(value)) {
      tensor = add_constant(outputs_[i] + "/value", *data);
    } else {
      const Held& held = values_.at(value);
      tensor = held.tensor;
      held_shape = held.shape;
    }
    if (tensor == outputs_[i]) continue;
    names_.erase(outputs_[i]);
    if (held_shape != value->shape()) {
      reshaped(tensor, value->dtype(), value->shape(), outputs_[i], nullptr);
      continue;
    }
    unique(outputs_[i]);
    push({united(fb::IdentityAttributeT{}), {tensor}, {outputs_[i]}}, nullptr);
    program_.tensors.push_back(
        {outputs_[i], *element_type(value->dtype()), dims(value->shape()), std::nullopt});
  }
  LAYLINE_ASSERT(makers_.size() == program_.operators.size(), "{} operators, and makers of {}",
                 program_.operators.size(), makers_.size());
  return std::move(program_);
}

}  // namespace layline::tosa
