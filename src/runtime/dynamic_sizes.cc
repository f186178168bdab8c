#include "runtime/dynamic_sizes.h"

#include <set>

#include "base/error.h"

namespace layline {
namespace {

bool is_free(const Symbol& symbol) { return symbol.formula.kind == Formula::Kind::free; }

/// The free symbols that a size depends on.
void collect(const SymbolTable& table, const Dim& dim, std::set<SymbolId>& free) {
  for (const SymbolId id : dim.symbols()) {
    const Symbol& symbol = table.all()[id - 1u];
    if (is_free(symbol)) free.insert(id);
    for (const Sum& argument : symbol.formula.arguments)
      for (const auto& [monomial, coefficient] : argument.terms()) collect(table, monomial, free);
  }
}

}  // namespace

DynamicSizes::DynamicSizes(const pte::MethodIoNames& recorded) {
  for (const pte::RecordedSymbol& symbol : recorded.symbols) {
    const Dim expected = Dim::symbol(static_cast<SymbolId>(table_.all().size() + 1));
    if (symbol.formula.empty())
      table_.add({symbol.name, symbol.min, symbol.max, {}});
    else if (table_.parse(symbol.formula) != expected)
      throw UserError("the program's `{}` data is damaged: the formula {}; compile the model again",
                      pte::kIoNamesKey, symbol.formula);
  }
  for (const std::vector<std::string>& shape : recorded.input_shapes) {
    Shape& dims = shapes_.emplace_back();
    for (const std::string& dim : shape) {
      dims.push_back(parse_dim(dim));
      for (const SymbolId id : dims.back().symbols())
        if (id > table_.all().size())
          throw UserError("the program's `{}` data is damaged: no symbol s{}; compile again",
                          pte::kIoNamesKey, id);
    }
  }
}

std::string DynamicSizes::describe(size_t input) const {
  if (input >= shapes_.size() || is_static(shapes_[input])) return {};
  std::string text = to_string(shapes_[input]);
  std::set<SymbolId> free, derived;
  for (const Dim& dim : shapes_[input]) {
    collect(table_, dim, free);
    for (const SymbolId id : dim.symbols())
      if (!is_free(table_.all()[id - 1u])) derived.insert(id);
  }
  for (const SymbolId id : derived)
    text += fmt::format(", s{} = {}", id, to_string(table_.all()[id - 1u].formula));
  for (const SymbolId id : free) {
    const Symbol& symbol = table_.all()[id - 1u];
    text += fmt::format(", s{} from {} to {}", id, symbol.min, symbol.max);
  }
  return text;
}

SymbolValues DynamicSizes::learn(const std::vector<std::optional<Sizes>>& given) const {
  SymbolValues values(table_);
  for (size_t i = 0; i < shapes_.size(); ++i)
    for (size_t axis = 0; given[i] && axis < shapes_[i].size(); ++axis)
      values.learn(shapes_[i][axis], (*given[i])[axis]);
  return values;
}

void DynamicSizes::check(const std::vector<std::string>& names,
                         const std::vector<std::optional<Sizes>>& given) const {
  const SymbolValues values = learn(given);
  for (size_t i = 0; i < shapes_.size(); ++i) {
    for (size_t axis = 0; given[i] && axis < shapes_[i].size(); ++axis) {
      const Dim& dim = shapes_[i][axis];
      const int64_t size = (*given[i])[axis];
      if (dim.is_static()) {
        if (dim.value() != size)
          throw UserError("input `{}`: axis {} is {}, but it is fixed: {}", names[i], axis, size,
                          describe(i));
        continue;
      }
      if (const auto linear = table_.as_linear(dim); linear && values.knows(linear->symbol)) {
        const Symbol& symbol = table_.all()[linear->symbol - 1u];
        const int64_t value = values(Dim::symbol(linear->symbol));
        if (value < symbol.min || value > symbol.max)
          throw UserError("input `{}`: axis {} is {}, out of range: {}", names[i], axis, size,
                          describe(i));
      }
      std::set<SymbolId> free;
      collect(table_, dim, free);
      bool known = true;
      for (const SymbolId id : free) known = known && values.knows(id);
      if (!known || values(dim) != size)
        throw UserError("input `{}`: axis {} is {}{}; the shape is {}", names[i], axis, size,
                        known ? fmt::format(", but the other inputs make it {}", values(dim))
                              : std::string(", which no size of the model gives"),
                        describe(i));
    }
  }
}

std::vector<DynamicSizes::Sizes> DynamicSizes::complete(
    const std::vector<std::string>& names, const std::vector<std::optional<Sizes>>& given) const {
  check(names, given);
  SymbolValues values = learn(given);
  for (size_t s = 0; s < table_.all().size(); ++s) {
    const auto id = static_cast<SymbolId>(s + 1);
    if (is_free(table_.all()[s]) && !values.knows(id)) values.set(id, table_.all()[s].max);
  }
  std::vector<Sizes> sizes;
  for (size_t i = 0; i < shapes_.size(); ++i)
    sizes.push_back(given[i] ? *given[i] : static_dims(values(shapes_[i])));
  return sizes;
}

}  // namespace layline
