#include "targets/constant_methods.h"

#include <algorithm>

#include "base/error.h"

namespace layline {
namespace {

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

void add_constant_methods(const ConstantMethods& constants, pte::Program& program) {
  const size_t of_model = program.methods.size();
  for (const auto& [name, values] : constants) {
    if (!is_identifier(name))
      throw UserError("constant method '{}': a name is letters, digits and underscores", name);
    for (size_t i = 0; i < of_model; ++i)
      if (program.methods[i].name == name)
        throw UserError("constant method '{}': the model has a method of this name", name);
    if (values.empty())
      throw UserError("constant method '{}': an empty list returns nothing", name);
    pte::Method method;
    method.name = name;
    for (const ConstantValue& value : values)
      method.outputs.push_back(
          method.add(std::visit([](auto number) { return pte::Value(number); }, value)));
    program.methods.push_back(std::move(method));
  }
}

}  // namespace layline
