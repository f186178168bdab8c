#include "pte/program_check.h"

#include <set>
#include <string>

#include "base/error.h"
#include "pte/memory_plan.h"

namespace layline::pte {
namespace {

// The runtime's buffer for "name.overload" with the final zero.
constexpr size_t kMaxOperatorName = 99;

/// Upper bound of a tensor's bytes.
uint64_t bytes_of(const TensorDesc& tensor) {
  uint64_t bytes = size_of(tensor.type);
  for (int32_t size : tensor.sizes) {
    LAYLINE_ASSERT(size >= 0, "a tensor with a dim of {}", size);
    LAYLINE_ASSERT(!__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes),
                   "a tensor of more than 2^64 bytes");
  }
  return bytes;
}

class MethodCheck {
 public:
  MethodCheck(const Program& program, const Method& method) : program_(program), method_(method) {}

  void run() {
    for (size_t i = 0; i < method_.values.size(); ++i) {
      self_ = static_cast<ValueId>(i);
      std::visit(*this, method_.values[i]);
    }
    for (ValueId id : method_.inputs) any_value(id);
    for (ValueId id : method_.outputs) any_value(id);
    for (const Delegate& delegate : method_.delegates) {
      LAYLINE_ASSERT(!delegate.id.empty(), "a delegate without a backend");
      LAYLINE_ASSERT(delegate.blob < program_.blobs.size(), "no blob {}", delegate.blob);
    }
    for (const Instruction& instruction : method_.instructions) std::visit(*this, instruction);
  }

  void operator()(const TensorDesc& tensor) const {
    const size_t rank = tensor.sizes.size();
    LAYLINE_ASSERT(rank <= kMostAxes, "a tensor of rank {}; the runtime takes {}", rank, kMostAxes);
    if (!tensor.dim_order.empty()) {
      const std::set<uint8_t> axes(tensor.dim_order.begin(), tensor.dim_order.end());
      LAYLINE_ASSERT(
          tensor.dim_order.size() == rank && axes.size() == rank && *axes.rbegin() == rank - 1,
          "the dim order of value {} is no permutation of its dims", self_);
    }
    const uint64_t bytes = bytes_of(tensor);
    if (const auto* constant = std::get_if<ConstantData>(&tensor.storage)) {
      check_data(program_.constants, constant->index, bytes);
      LAYLINE_ASSERT(tensor.dynamism == ShapeDynamism::kStatic, "constant {} of dynamic shape",
                     self_);
    } else if (const auto* planned = std::get_if<PlannedData>(&tensor.storage)) {
      LAYLINE_ASSERT(planned->memory_id >= 1 && planned->memory_id <= method_.arena_bytes.size(),
                     "value {} in memory {}, which the method has not", self_, planned->memory_id);
      LAYLINE_ASSERT(planned->offset % kBufferAlignment == 0, "value {} at offset {}", self_,
                     planned->offset);
      const uint64_t arena = method_.arena_bytes[planned->memory_id - 1];
      LAYLINE_ASSERT(planned->offset <= arena && bytes <= arena - planned->offset,
                     "value {} ends outside its arena", self_);
      if (planned->initial_state)
        check_data(program_.initial_states, *planned->initial_state, bytes);
    }
  }
  void operator()(const IntList& list) const {
    for (const IntItem& item : list) {
      if (item.value) value_of<int64_t>(*item.value);
    }
  }
  void operator()(const TensorList& list) const {
    for (ValueId id : list.tensors) earlier_tensor(id);
  }
  void operator()(const OptionalTensorList& list) const {
    for (const std::optional<ValueId>& id : list.tensors) {
      if (id) earlier_tensor(*id);
    }
  }
  void operator()(const std::string&) const {}
  void operator()(const DoubleList&) const {}
  void operator()(const BoolList&) const {}
  void operator()(None) const {}
  void operator()(int64_t) const {}
  void operator()(double) const {}
  void operator()(bool) const {}

  void operator()(const KernelCall& call) const {
    LAYLINE_ASSERT(!call.name.empty(), "a kernel without a name");
    LAYLINE_ASSERT(call.name.size() + 1 + call.overload.size() <= kMaxOperatorName,
                   "the operator name {}.{} is too long for the runtime", call.name, call.overload);
    for (ValueId id : call.args) any_value(id);
  }
  void operator()(const DelegateCall& call) const {
    LAYLINE_ASSERT(call.delegate < method_.delegates.size(), "no delegate {}", call.delegate);
    for (ValueId id : call.args) any_value(id);
  }
  void operator()(const JumpFalse& jump) const {
    LAYLINE_ASSERT(jump.args.size() == 1, "a jump on {} conditions", jump.args.size());
    value_of<bool>(jump.args[0]);
    LAYLINE_ASSERT(jump.target < method_.instructions.size(), "no instruction {}", jump.target);
  }

 private:
  void any_value(ValueId id) const {
    LAYLINE_ASSERT(id >= 0 && static_cast<size_t>(id) < method_.values.size(),
                   "no value {} in method {}", id, method_.name);
  }
  void check_data(const std::vector<DataSource>& sources, uint32_t index, uint64_t bytes) const {
    LAYLINE_ASSERT(index < sources.size(), "no data {} for value {}", index, self_);
    LAYLINE_ASSERT(sources[index].size == bytes, "value {} has {} bytes, its data {}", self_, bytes,
                   sources[index].size);
  }
  template <typename T>
  void value_of(ValueId id) const {
    any_value(id);
    LAYLINE_ASSERT(std::holds_alternative<T>(method_.values[static_cast<size_t>(id)]),
                   "value {} is of the wrong kind for value {}", id, self_);
  }
  void earlier_tensor(ValueId id) const {
    value_of<TensorDesc>(id);
    LAYLINE_ASSERT(id < self_, "tensor list {} comes before its tensor {}", self_, id);
  }

  const Program& program_;
  const Method& method_;
  ValueId self_ = 0;
};

void check_unique(std::set<std::string>& seen, const std::string& name) {
  LAYLINE_ASSERT(!name.empty(), "a method or named data without a name");
  LAYLINE_ASSERT(seen.insert(name).second, "the name {} is used twice", name);
}

}  // namespace

void check_program(const Program& program) {
  std::set<std::string> method_names, keys;
  for (const Method& method : program.methods) {
    check_unique(method_names, method.name);
    MethodCheck(program, method).run();
  }
  for (const NamedData& data : program.named_data) {
    check_unique(keys, data.key);
    LAYLINE_ASSERT(data.blob < program.blobs.size(), "no blob {} for {}", data.blob, data.key);
  }
  for (const NamedConstant& named : program.named_constants) {
    check_unique(keys, named.key);
    LAYLINE_ASSERT(named.data.index < program.constants.size(), "no constant {} for {}",
                   named.data.index, named.key);
  }
}

}  // namespace layline::pte
