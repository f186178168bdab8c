#include "ir/attributes.h"

namespace layline {
namespace {

template <typename T>
bool same_fields(const T& a, const T& b) {
  // The fields of both are visited in the same order; the k-th of one meets the k-th of the other.
  std::vector<const void*> left;
  T::fields(a, [&](std::string_view, const auto& field) { left.push_back(&field); });
  bool same = true;
  size_t k = 0;
  T::fields(b, [&](std::string_view, const auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    same = same && *static_cast<const Field*>(left[k++]) == field;
  });
  return same;
}

}  // namespace

Attributes::Attributes() = default;
Attributes::Attributes(const Attributes&) = default;
Attributes::Attributes(Attributes&&) noexcept = default;
Attributes& Attributes::operator=(const Attributes&) = default;
Attributes& Attributes::operator=(Attributes&&) noexcept = default;
Attributes::~Attributes() = default;

bool operator==(const Attributes& a, const Attributes& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& left) {
        return same_fields(left, std::get<std::remove_cvref_t<decltype(left)>>(b));
      },
      a);
}

QuantisationRef* quantisation_of(Attributes& attributes) {
  return std::visit(
      []<typename T>(T& attrs) -> QuantisationRef* {
        if constexpr (requires { attrs.quantisation; })
          return &attrs.quantisation;
        else
          return nullptr;
      },
      attributes);
}

const QuantisationRef* quantisation_of(const Attributes& attributes) {
  return quantisation_of(const_cast<Attributes&>(attributes));
}

Bounds* bounds_of(Attributes& attributes) {
  return std::visit(
      []<typename T>(T& attrs) -> Bounds* {
        if constexpr (requires { attrs.bounds; })
          return &attrs.bounds;
        else
          return nullptr;
      },
      attributes);
}

const Bounds* bounds_of(const Attributes& attributes) {
  return bounds_of(const_cast<Attributes&>(attributes));
}

bool is_dynamic(const Attributes& attributes) {
  return std::visit(
      []<typename T>(const T& attrs) {
        if constexpr (requires { attrs.dynamic; })
          return attrs.dynamic;
        else
          return false;
      },
      attributes);
}

}  // namespace layline
