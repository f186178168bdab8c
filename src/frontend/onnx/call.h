// One node of an ONNX model while it is imported: its inputs by place, its attributes by name, and
// the core ops that are built for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/onnx/model.h"
#include "frontend/onnx/size_arithmetic.h"
#include "frontend/onnx/tensor.h"
#include "ir/builder.h"

namespace layline::onnx {

/// Imports a graph that an attribute holds, with these values for its inputs; gives its outputs.
using ImportBody =
    std::function<std::vector<Value*>(const Graph& body, std::vector<Value*> inputs)>;

/// What the calls of one model share.
struct Shared {
  layline::Graph& graph;
  SizeArithmetic& sizes;
  StoredTensors& tensors;
  layline::Graph& placeholders;  // for what bodies of loops are given while they are imported
  int64_t& permutes;             // so many does the model have up to here
};

class Call : public Builder {
 public:
  /// `op` is what messages call the op. The attributes are those of the node, with what a function
  /// was called with in place of what its body refers to.
  Call(const Shared& shared, const Node& node, std::vector<const Attribute*> attributes,
       std::vector<Value*> inputs, int64_t opset, OriginRef origin, std::string_view op,
       ImportBody import_body);

  const Node& node() const { return node_; }
  /// The version of the set of ops that the op's domain has in this model.
  int64_t opset() const { return opset_; }

  // Inputs, counted from 0. One that is left out is null.
  size_t input_count() const { return inputs_.size(); }
  bool has(size_t i) const { return optional(i) != nullptr; }
  Value* input(size_t i) const;
  Value* optional(size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  /// All inputs, none of which is left out.
  std::vector<Value*> inputs() const;

  // Inputs whose elements decide what is built. Those that depend on data are refused.
  /// The elements of an input that follows from constants only; `what` names it in messages.
  const Tensor& known(size_t i, std::string_view what) const;
  Ints integers(size_t i, std::string_view what) const;
  int64_t integer_at(size_t i, std::string_view what) const;
  double number_at(size_t i, std::string_view what) const;
  /// Integers that may follow from dynamic sizes.
  std::vector<Sum> sums(size_t i, std::string_view what) const;
  /// The elements of a value that this call has built, if they follow from constants and sizes.
  const Numbers* numbers(const Value* value) const { return shared_.sizes.numbers(value); }
  /// The one integer that a value holds, if it follows from constants and sizes.
  std::optional<Sum> number_of(const Value* value) const;
  const Tensor* constant_value(const Value* value) const { return shared_.sizes.constant(value); }

  // Attributes. A missing one gives the default; one of the wrong kind is a UserError.
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  int64_t integer(std::string_view attribute) const;
  int64_t integer(std::string_view attribute, int64_t otherwise) const;
  bool flag(std::string_view attribute, bool otherwise) const {
    return integer(attribute, otherwise ? 1 : 0) != 0;
  }
  double number(std::string_view attribute, double otherwise) const;
  std::string_view string(std::string_view attribute, std::string_view otherwise) const;
  Ints ints(std::string_view attribute, Ints otherwise) const;
  std::vector<double> numbers(std::string_view attribute) const;
  std::vector<std::string_view> strings(std::string_view attribute) const;
  Constant tensor(std::string_view attribute) const;
  /// The type of elements that an attribute names by its number.
  DType dtype(std::string_view attribute, DType otherwise) const;

  /// A list that is an attribute up to some opset and an input since; nothing if it is left out.
  std::optional<Ints> attribute_or_input(std::string_view attribute, size_t input) const;

  /// An axis counted from 0. Negative ones count from the end.
  int64_t axis(int64_t given, int64_t rank) const;
  /// Axes counted from 0, sorted, each once.
  Ints axes(const Ints& given, int64_t rank) const;

  /// Imports the graph in an attribute.
  std::vector<Value*> body(std::string_view attribute, std::vector<Value*> inputs) const;
  const Graph& body_of(std::string_view attribute) const;
  layline::Graph& placeholders() const { return shared_.placeholders; }
  int64_t& permutes() const { return shared_.permutes; }

  // Results, in the order of the node's outputs. Null stands for one that is not built.
  void result(Value* value) { results_.push_back(value); }
  const std::vector<Value*>& results() const { return results_; }
  /// Whether the model names this output.
  bool wants(size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }

 private:
  const Attribute* find(std::string_view attribute) const;
  const Attribute* find(std::string_view attribute, Attribute::Kind kind) const;
  const Attribute& require(std::string_view attribute, Attribute::Kind kind) const;
  [[noreturn]] void depends_on_data(const Value* value, std::string_view what) const;

  Shared shared_;
  const Node& node_;
  std::vector<const Attribute*> attributes_;
  std::vector<Value*> inputs_;
  int64_t opset_;
  ImportBody import_body_;
  std::vector<Value*> results_;
};

}  // namespace layline::onnx
