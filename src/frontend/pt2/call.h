// One node of an exported program while it is imported: its arguments by name with the defaults of
// the op's schema at the point of use, and the core ops that are built for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pt2/exported_program.h"
#include "frontend/pt2/symbols.h"
#include "frontend/pt2/tensor_env.h"
#include "ir/builder.h"

namespace layline::pt2 {

/// The dtype in which the graph holds such tensors. It is f32 for bfloat16: neither XNNPACK nor the
/// runtime's kernels compute much in bfloat16, and f32 is nearer to what the model means.
DType core_dtype(TorchDType dtype);
/// The dtype in which they are stored, and cross the program's boundary.
DType stored_dtype(TorchDType dtype);

/// A number in the model's text: torch distinguishes bool, int and float when it promotes types.
struct Scalar {
  double value = 0;
  DType kind = DType::f32;  // boolean, i64 or f32: the default dtype of such a number
};

class Call : public Builder {
 public:
  Call(layline::Graph& graph, const Graph& program, const Node& node, TensorEnv& env,
       Symbols& symbols, OriginRef origin, std::function<bool(std::string_view)> is_read);

  using Builder::scalar;

  // Arguments. A missing one gives the default; one of the wrong kind is a UserError.
  bool has(std::string_view argument) const;
  Value* tensor(std::string_view argument) const;
  /// The tensor; null if absent or None.
  Value* optional_tensor(std::string_view argument) const;
  std::vector<Value*> tensors(std::string_view argument) const;
  /// The tensors of a list; null for the entries that are None.
  std::vector<Value*> optional_tensors(std::string_view argument) const;
  /// Whether the model records row-major strides for the tensor.
  bool is_contiguous(std::string_view argument) const;
  int64_t integer(std::string_view argument) const;
  int64_t integer(std::string_view argument, int64_t otherwise) const;
  double number(std::string_view argument, double otherwise) const;
  bool flag(std::string_view argument, bool otherwise) const;
  std::string_view string(std::string_view argument, std::string_view otherwise) const;
  Ints ints(std::string_view argument, Ints otherwise) const;
  /// A list with one entry for each of `count` axes: a single entry stands for all.
  Ints ints_per_axis(std::string_view argument, size_t count, Ints otherwise) const;
  /// An integer that may follow from a dynamic size.
  Sum expression(std::string_view argument) const;
  /// The integer as i64[], if it is known only when the model runs: it follows from a dynamic size
  /// or from a number that the model reads from a tensor. Null for any other argument.
  Value* computed(std::string_view argument) const;
  /// Whether the integer follows from a number that the model reads from a tensor.
  bool reads_data(std::string_view argument) const;
  std::optional<std::vector<double>> numbers(std::string_view argument) const;
  /// Sizes, which may be symbolic; -1 is given as nullopt.
  std::vector<std::optional<Dim>> sizes(std::string_view argument) const;
  std::optional<DType> dtype(std::string_view argument) const;
  /// The dtype in which the model has the tensor given as `argument`, bfloat16 included.
  DType dtype_in_model(std::string_view argument) const;
  /// A number, or nullopt if the argument is a tensor or absent.
  std::optional<Scalar> scalar(std::string_view argument) const;
  /// An axis argument counted from 0, checked against `rank`.
  int64_t axis(std::string_view argument, int64_t otherwise, int64_t rank) const;
  /// The axis of x given as `dim`, or the first if absent; x must have axes.
  int64_t axis_of(const Value* x) const;
  /// A list of axes counted from 0, sorted; all of them when absent or empty.
  Ints axes(std::string_view argument, int64_t rank) const;

  // Results, in the order of the node's outputs.
  void result(Value* value) { results_.push_back(value); }
  void results(const std::vector<Value*>& values);
  /// The new value of an argument that the op writes to, in the order of OpRule::writes.
  void write(Value* value) { written_.push_back(value); }
  size_t output_count() const;
  /// Whether anything in the model reads an output. Those behind the first may be left out.
  bool is_read(size_t output) const;
  /// The type that the model records for an output.
  TensorType recorded(size_t output = 0) const;

  const Node& node() const { return node_; }
  const std::vector<Value*>& results() const { return results_; }
  const std::vector<Value*>& written() const { return written_; }

  /// Name of the tensor given as `argument`.
  std::string_view tensor_name(std::string_view argument) const;
  /// Name of the tensor that the op views or writes to: its first argument.
  std::string_view base() const;
  /// Whether torch had to copy the base to give the tensor `result`, as dtypes and strides tell.
  bool copied_base_to(std::string_view result) const;

 private:
  /// What the model records for a tensor with strides; null if it records none.
  const TensorMeta* strided(std::string_view tensor) const;
  std::vector<Sum> lengths(const std::vector<SymInt>& recorded) const;
  bool is_row_major(const TensorMeta& meta) const;
  /// The names of the tensors that the node gives.
  std::vector<std::string_view> output_names() const;
  const Argument* find(std::string_view argument) const;
  const Argument& require(std::string_view argument) const;
  [[noreturn]] void wrong_kind(std::string_view argument, std::string_view expected) const;
  /// The name, checked to be that of a tensor that exists.
  std::string_view defined(std::string_view name) const;
  Value* read(std::string_view name) const;
  /// What the model records for a symbolic integer.
  const SymInt& recorded(std::string_view argument, const SymIntArg& item) const;
  int64_t literal(std::string_view argument, const SymIntArg& item) const;
  Sum expression(std::string_view argument, const SymIntArg& item) const;

  const Graph& program_;
  const Node& node_;
  TensorEnv& env_;
  Symbols& symbols_;
  std::function<bool(std::string_view)> is_read_;
  std::vector<Value*> results_, written_;
};

}  // namespace layline::pt2
