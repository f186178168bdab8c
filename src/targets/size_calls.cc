#include "targets/size_calls.h"

#include "base/error.h"

namespace layline {

void SizeCalls::declare(pte::ValueId input, int64_t axis, const Dim& size) {
  if (const auto linear = symbols_.as_linear(size))
    sources_.try_emplace(linear->symbol, Source{input, axis, *linear});
}

pte::ValueId SizeCalls::integer(int64_t number) {
  method_.values.emplace_back(std::in_place_type<int64_t>, number);
  return static_cast<pte::ValueId>(method_.values.size() - 1);
}

pte::ValueId SizeCalls::call(const char* op, pte::ValueId a, pte::ValueId b) {
  const pte::ValueId out = integer(0);
  method_.instructions.push_back(pte::KernelCall{op, "Scalar", {a, b, out}});
  return out;
}

/// (size - offset) / factor
pte::ValueId SizeCalls::read(SymbolId id) {
  const auto source = sources_.find(id);
  if (source == sources_.end())
    throw UserError("the size {} does not follow from the sizes of the inputs",
                    symbols_.all()[id - 1u].name);
  const auto& [input, axis, size] = source->second;
  pte::ValueId value = integer(0);
  method_.instructions.push_back(
      pte::KernelCall{"aten::sym_size", "int", {input, integer(axis), value}});
  if (size.offset != 0) value = call("executorch_prim::sub", value, integer(size.offset));
  if (size.factor != 1) value = call("executorch_prim::floordiv", value, integer(size.factor));
  return value;
}

pte::ValueId SizeCalls::symbol(SymbolId id) {
  if (const auto known = known_.find(id); known != known_.end()) return known->second;
  const Formula& formula = symbols_.all()[id - 1u].formula;
  pte::ValueId result{};
  switch (formula.kind) {
    case Formula::Kind::free:
      result = read(id);
      break;
    case Formula::Kind::sum:
      result = value(formula.arguments[0]);
      break;
    case Formula::Kind::quotient:
      result = value(formula.arguments[0]);
      result = call("executorch_prim::floordiv", result, integer(formula.divisor));
      break;
    case Formula::Kind::maximum:
    case Formula::Kind::minimum:
      result = value(formula.arguments[0]);
      for (size_t i = 1; i < formula.arguments.size(); ++i)
        result = call(formula.kind == Formula::Kind::maximum ? "executorch_prim::sym_max"
                                                             : "executorch_prim::sym_min",
                      result, value(formula.arguments[i]));
      break;
  }
  known_.emplace(id, result);
  return result;
}

pte::ValueId SizeCalls::value(const Sum& sum) {
  std::optional<pte::ValueId> total;
  for (const auto& [monomial, coefficient] : sum.terms()) {
    std::optional<pte::ValueId> term;
    if (monomial.is_one() || coefficient != 1) term = integer(coefficient);
    for (const SymbolId id : monomial.symbols())
      term = term ? call("executorch_prim::mul", *term, symbol(id)) : symbol(id);
    total = total ? call("executorch_prim::add", *total, *term) : *term;
  }
  return total ? *total : integer(0);
}

pte::ValueId SizeCalls::value(const Dim& size) { return value(Sum(size)); }

pte::IntList SizeCalls::list(const Shape& shape) {
  pte::IntList items;
  for (const Dim& size : shape)
    items.push_back(size.is_static() ? pte::IntItem(size.value()) : pte::IntItem::of(value(size)));
  return items;
}

}  // namespace layline
