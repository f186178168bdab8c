#include "targets/xnnpack/delegate_builder.h"

#include "base/error.h"

namespace layline::xnnpack {

xnn::Datatype datatype(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return xnn::Datatype::kFp32;
    case DType::f16:
      return xnn::Datatype::kFp16;
    default:
      throw InternalError(fmt::format("XNNPACK has no {} values", name(dtype)));
  }
}

std::vector<uint32_t> DelegateBuilder::dims(const Shape& shape) const {
  std::vector<uint32_t> result;
  for (const Dim& dim : shape)
    result.push_back(static_cast<uint32_t>(dim.is_static() ? dim.value() : symbols_.greatest(dim)));
  return result;
}

DelegateBuilder::DelegateBuilder(ConstantPool& constants, const SymbolTable& symbols,
                                 std::span<Value* const> inputs, std::span<Value* const> outputs)
    : constants_(constants), symbols_(symbols) {
  for (const Value* value : inputs)
    values_[value] = graph_.define_input({datatype(value->dtype()), dims(value->shape()), {}, {}});
  for (const Value* value : outputs)
    values_[value] = graph_.define_output({datatype(value->dtype()), dims(value->shape()), {}, {}});
}

xnn::ValueId DelegateBuilder::define_constant(const Constant& data, const std::string& name) {
  const std::string key = constants_.add(data, name);
  return graph_.define_value(
      {datatype(data.dtype()), dims(data.shape()), xnn::Constant{key, data.byte_count()}, {}});
}

xnn::ValueId DelegateBuilder::in(const Value* value) {
  if (auto known = values_.find(value); known != values_.end()) return known->second;
  const Constant* data = constant_of(value);
  LAYLINE_ASSERT(data != nullptr, "{} is read before it is written", value->name());
  return values_[value] = define_constant(*data, value->name());
}

xnn::ValueId DelegateBuilder::out(const Value* value) {
  if (auto known = values_.find(value); known != values_.end()) return known->second;
  return values_[value] = temporary(value->dtype(), value->shape());
}

xnn::ValueId DelegateBuilder::packed(const Value* value) {
  if (auto known = packed_.find(value); known != packed_.end()) return known->second;
  return packed_[value] = packed(*constant_of(value), value->name());
}

xnn::ValueId DelegateBuilder::packed(const Constant& data, const std::string& name) {
  return define_constant(data, name);
}

xnn::ValueId DelegateBuilder::temporary(DType dtype, const Shape& shape) {
  return graph_.define_value({datatype(dtype), dims(shape), {}, {}});
}

}  // namespace layline::xnnpack
