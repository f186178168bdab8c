#include "targets/xnnpack/delegate_builder.h"

#include "base/error.h"
#include "targets/xnnpack/quantised.h"

namespace layline::xnnpack {

Datatype datatype(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Datatype::kFp32;
    case DType::f16:
      return Datatype::kFp16;
    default:
      throw InternalError(fmt::format("XNNPACK has no {} values", name(dtype)));
  }
}

std::vector<uint32_t> DelegateBuilder::dims(const Shape& shape) const {
  std::vector<uint32_t> result;
  for (const int64_t size : static_dims(symbols_.greatest(shape)))
    result.push_back(static_cast<uint32_t>(size));
  return result;
}

PayloadValue DelegateBuilder::described(TensorType type) const {
  type.shape = symbols_.greatest(type.shape);
  return describe(type);
}

DelegateBuilder::DelegateBuilder(ConstantPool& constants, const SymbolTable& symbols,
                                 std::span<Value* const> inputs, std::span<Value* const> outputs)
    : constants_(constants), symbols_(symbols) {
  for (const Value* value : inputs) values_[value] = graph_.define_input(described(value->type()));
  for (const Value* value : outputs)
    values_[value] = graph_.define_output(described(value->type()));
}

ValueId DelegateBuilder::define_constant(const Constant& data, const TensorType& type,
                                         const std::string& name) {
  PayloadValue value = described(type);
  value.constant = PayloadConstant{constants_.add(data, name), data.byte_count()};
  return graph_.define_value(std::move(value));
}

ValueId DelegateBuilder::in(const Value* value) {
  if (auto known = values_.find(value); known != values_.end()) return known->second;
  const Constant* data = stored_constant(value);
  LAYLINE_ASSERT(data != nullptr, "{} is read before it is written", value->name());
  return values_[value] = define_constant(*data, value->type(), value->name());
}

ValueId DelegateBuilder::out(const Value* value) {
  if (auto known = values_.find(value); known != values_.end()) return known->second;
  return values_[value] = temporary(value->type());
}

ValueId DelegateBuilder::packed(const Value* value) {
  if (auto known = packed_.find(value); known != packed_.end()) return known->second;
  return packed_[value] = packed(*constant_of(value), value->name());
}

ValueId DelegateBuilder::packed(const Constant& data, const std::string& name) {
  return define_constant(data, {data.dtype(), data.shape()}, name);
}

ValueId DelegateBuilder::packed_integers(const Constant& data, Datatype datatype,
                                         const Shape& shape, const std::string& name,
                                         const Constant& scales, int channel, int64_t group) {
  const PayloadConstant key{constants_.add(scales, name + "_scales"), scales.byte_count()};
  PayloadValue value{datatype, dims(shape), {}, {}};
  value.constant = PayloadConstant{constants_.add(data, name), data.byte_count()};
  if (group == 0)
    value.quantisation = PerChannel{channel, key};
  else
    value.quantisation = PerGroup{channel, static_cast<int32_t>(group), key};
  return graph_.define_value(std::move(value));
}

ValueId DelegateBuilder::dynamic(const Value* x, int unscaled) {
  const auto [known, is_new] = dynamic_.try_emplace({x, unscaled});
  if (!is_new) return known->second;
  known->second =
      graph_.define_value({Datatype::kQDInt8, dims(x->shape()), {}, PerTokenDynamic{unscaled}});
  add(Unary{UnaryKind::kConvert, in(x), known->second});
  return known->second;
}

ValueId DelegateBuilder::temporary(const TensorType& type) {
  return graph_.define_value(described(type));
}

}  // namespace layline::xnnpack
