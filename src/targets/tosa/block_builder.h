// Builds a TOSA block: values of the IR on one side, named tensors on the other.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "targets/tosa/accelerator.h"
#include "targets/tosa/program.h"

namespace layline::tosa {

/// The element type that stands for an IR dtype; nothing if TOSA has none. 64-bit integers are
/// INT32: they are indices and counts, and constants are checked.
std::optional<fb::DType> element_type(DType dtype);

/// The type that crosses the boundary: integers, if the numbers are quantised there (quantised.h).
DType boundary_dtype(const GraphInput& input);
const Value* boundary_value(const GraphOutput& output);

class BlockBuilder {
 public:
  /// Builds for an NPU, or without one for anything that runs TOSA.
  explicit BlockBuilder(const Graph& graph, const Accelerator* accelerator = nullptr);

  const Accelerator* accelerator() const { return accelerator_; }

  /// The tensor of an operand, in the operand's shape or in another of as many elements. A constant
  /// is defined when it is first read; a view of a tensor is one RESHAPE of it.
  std::string in(const Node& node, int operand);
  std::string in(const Node& node, int operand, const Shape& shape);
  /// The tensor of a value that the node reads by way of others.
  std::string in(const Node& node, const Value* value, std::string_view role, const Shape& shape);
  /// A constant that the graph does not have, or has in another order.
  std::string constant(const Node& node, std::string_view role, const Constant& data);
  /// A constant of one element, with `rank` axes of size 1.
  std::string scalar(DType dtype, double value, size_t rank = 1);
  /// The constant 0 of 48 bits and shape [1]; the IR has no such type.
  std::string zero48();
  std::string shape(std::vector<int64_t> values);

  /// Adds the operator that `attribute` belongs to, as one of several that make up the node.
  template <typename Attribute>
  std::string step(const Node& node, Attribute attribute, std::vector<std::string> inputs,
                   DType dtype, const Shape& shape) {
    return step(node, std::move(attribute), std::move(inputs), *element_type(dtype), shape);
  }
  template <typename Attribute>
  std::string step(const Node& node, Attribute attribute, std::vector<std::string> inputs,
                   fb::DType type, const Shape& shape) {
    return add(node, united(std::move(attribute)), std::move(inputs), type, shape, nullptr);
  }
  /// Adds the operator that gives the node's result, in its shape or in one of as many elements.
  template <typename Attribute>
  void result(const Node& node, Attribute attribute, std::vector<std::string> inputs) {
    result(node, std::move(attribute), std::move(inputs), node.result()->shape());
  }
  template <typename Attribute>
  void result(const Node& node, Attribute attribute, std::vector<std::string> inputs,
              const Shape& shape) {
    define(node.result(),
           add(node, united(std::move(attribute)), std::move(inputs),
               *element_type(node.result()->dtype()), shape, node.result()),
           shape);
  }
  /// Makes the node's operand its result, at most in another shape.
  void forward(const Node& node);

  /// Adds the outputs; call it last. The names are those of the graph, made unique among tensors.
  Program finish();
  /// The node that each operator of the program was written for; null for what only names an
  /// output.
  const std::vector<const Node*>& makers() const { return makers_; }

 private:
  struct Held {
    std::string tensor;
    Shape shape;  // the tensor's; the value may be a view of it
  };

  template <typename Attribute>
  static fb::AttributeUnion united(Attribute attribute) {
    fb::AttributeUnion result;
    result.Set(std::move(attribute));
    return result;
  }
  std::string add(const Node& node, fb::AttributeUnion attribute, std::vector<std::string> inputs,
                  fb::DType type, const Shape& shape, const Value* result);
  std::string add_constant(const std::string& name, const Constant& data);
  void define(const Value* value, std::string tensor, const Shape& shape);
  std::string reshaped(const std::string& tensor, DType dtype, const Shape& shape,
                       const std::string& name, const Node* maker);
  void push(Operator op, const Node* maker);
  std::string unique(std::string name);

  const Graph& graph_;
  const Accelerator* accelerator_;
  std::vector<const Node*> makers_;
  Program program_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> name_counts_;
  std::unordered_map<const Value*, std::string> output_names_;  // only values that leave unchanged
  std::vector<std::string> outputs_;                            // one for each output of the graph
  std::unordered_map<const Value*, Held> values_;
  std::map<std::pair<std::string, Shape>, std::string> views_;
  std::map<std::pair<const Value*, Shape>, std::string> constants_;
  std::map<std::tuple<DType, double, size_t>, std::string> scalars_;
  std::map<std::vector<int64_t>, std::string> shapes_;
  std::string zero48_;
};

std::vector<int32_t> dims(const Shape& shape);

}  // namespace layline::tosa
