// Kernels of the ExecuTorch runtime for what no delegate takes: for each core op, the calls that
// compute it on contiguous tensors.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "pte/arena.h"
#include "pte/program.h"
#include "targets/constant_pool.h"
#include "targets/size_calls.h"

namespace layline {

pte::ScalarType scalar_type(DType dtype);

/// A method under construction: values of the IR on one side, the program's on the other.
class MethodBuilder {
 public:
  MethodBuilder(ConstantPool& constants, const SymbolTable& symbols, std::string name)
      : constants_(constants), sizes_(method_, symbols) {
    method_.name = std::move(name);
  }
  MethodBuilder(const MethodBuilder&) = delete;

  /// A tensor with the value's own shape, as kernels need it. Constants are made when first asked
  /// for. A value at the boundary in another dim order gets an alias.
  pte::ValueId tensor(const Value* value);
  /// A tensor of the same bytes in whatever dim order: the boundary's if there is one.
  pte::ValueId bytes(const Value* value);
  /// Declares the tensor of an input or an output in the dim order of the boundary.
  pte::ValueId define_boundary(const Value* value, const std::vector<int>& dim_order,
                               pte::Storage storage);
  /// Declares the tensor of an input, whose sizes then tell what the symbols are.
  pte::ValueId define_input(const Value* value, const std::vector<int>& dim_order);
  /// Declares a planned tensor.
  void define(const Value* value);
  /// Declares that the value is this tensor.
  void define_as(const Value* value, pte::ValueId tensor) { values_.emplace(value, tensor); }
  /// Declares that the value is the same bytes as `of`, if those are in the arena.
  bool define_view(const Value* value, const Value* of);
  /// Declares that a counted slice is a part of its operand's bytes, if those are a state's and the
  /// part is a run of them.
  bool define_run(const Node& slice);
  /// Declares what the size of a counted slice is.
  void declare_size(const Node& slice);
  /// Calls `write`, which computes the value. The tensor at the boundary then gets the value's
  /// sizes, too.
  template <typename Write>
  void compute(const Value* value, Write write) {
    const auto boundary = boundary_.find(value);
    if (boundary == boundary_.end() || is_static(value->shape())) return write();
    const pte::ValueId written = values_[value] = alias_of_boundary(value, boundary->second);
    write();
    view(written, logical_shape(value, boundary->second), boundary->second);
  }
  /// Whether both are the same memory of a state.
  bool is_same_state(pte::ValueId a, pte::ValueId b) const;
  /// Tensors that the IR has no value for.
  pte::ValueId constant(const Constant& data);
  pte::ValueId temporary(const TensorType& type);

  pte::ValueId none() { return literal(pte::None{}); }
  pte::ValueId integer(int64_t value) { return literal(value); }
  pte::ValueId real(double value) { return literal(value); }
  pte::ValueId boolean(bool value) { return literal(value); }
  pte::ValueId string(std::string value) { return literal(std::move(value)); }
  pte::ValueId ints(const std::vector<int64_t>& values);
  /// The number that an i64 tensor of one element holds when the program has come here.
  pte::ValueId item(pte::ValueId tensor);
  /// A shape, and a size that may be dynamic.
  pte::ValueId sizes(const Shape& shape) { return literal(sizes_.list(shape)); }
  pte::ValueId size(const Sum& size) {
    return size.is_number() ? integer(size.constant()) : sizes_.value(size);
  }
  const SymbolTable& symbols() const { return sizes_.symbols(); }
  pte::ValueId tensors(std::vector<pte::ValueId> values) {
    return literal(pte::TensorList{std::move(values)});
  }

  /// The index of one axis, as kernels that index tensors take it.
  pte::ValueId index_along(size_t axis, pte::ValueId index) {
    std::vector<std::optional<pte::ValueId>> axes(axis);
    axes.push_back(index);
    return literal(pte::OptionalTensorList{std::move(axes)});
  }

  /// Calls a kernel whose last schema argument is the out tensor, which it also returns.
  void call(std::string_view kernel, std::string_view overload, std::vector<pte::ValueId> arguments,
            pte::ValueId out);
  /// Calls a kernel that writes into a value's own tensor, which is asked for after the arguments.
  void call(std::string_view kernel, std::string_view overload, std::vector<pte::ValueId> arguments,
            const Value* out) {
    call(kernel, overload, std::move(arguments), tensor(out));
  }

  pte::Method& method() { return method_; }
  const std::vector<pte::Alias>& aliases() const { return aliases_; }

 private:
  pte::TensorDesc describe(const TensorType& type) const;
  pte::ValueId alias(const TensorType& type, pte::ValueId of);
  pte::ValueId alias_of_boundary(const Value* value, pte::ValueId boundary);
  Shape logical_shape(const Value* value, pte::ValueId boundary) const;
  /// Gives a dynamic tensor the sizes of a view of another.
  void view(pte::ValueId from, const Shape& shape, pte::ValueId to);
  pte::TensorDesc& tensor_of(pte::ValueId id) {
    return std::get<pte::TensorDesc>(method_.values[static_cast<size_t>(id)]);
  }
  bool is_planned(pte::ValueId id) const;

  pte::ValueId literal(pte::Value value) { return method_.add(std::move(value)); }

  ConstantPool& constants_;
  pte::Method method_;
  SizeCalls sizes_;
  std::unordered_map<const Value*, pte::ValueId> values_;
  std::unordered_map<const Value*, pte::ValueId> boundary_;  // where the dim order is another
  std::map<Dim, const Value*> counts_;                       // the sizes of counted slices
  std::vector<pte::Alias> aliases_;
};

/// ExecuTorch's library of kernels for language models, which not every runtime has.
inline constexpr std::string_view kLlmKernels = "llm";

struct PortableKernel {
  Op op;
  /// Operators that `emit` may call, "aten::add.out" each: they must be registered in the runtime.
  std::vector<std::string_view> operators;
  /// Why the kernels cannot compute this node; empty if they can.
  std::string (*refuse)(const Node& node);
  void (*emit)(MethodBuilder& method, const Node& node);
  /// The library that has them; empty for the one that every runtime has.
  std::string_view library = {};
};

const std::vector<PortableKernel>& portable_kernels();
/// Null if the runtime has nothing for the op.
const PortableKernel* find_portable_kernel(Op op);
/// Why no kernel of the runtime computes this node; empty if one does.
std::string kernel_refusal(const Node& node);
/// Why no tensor of the runtime can have the value's shape; empty if one can.
std::string rank_refusal(const Value* value);

}  // namespace layline
