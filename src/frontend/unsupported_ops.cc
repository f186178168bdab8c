#include "frontend/unsupported_ops.h"

#include <fmt/format.h>

namespace layline {

void UnsupportedOps::add(const std::string& op, const Origin& origin, const std::string& remedy) {
  Places& places = places_[op];
  if (places.count++ == 0)
    places.first = describe(origin) + (remedy.empty() ? "" : " (" + remedy + ")");
}

std::string UnsupportedOps::count() const {
  return fmt::format("{} unsupported op{}", places_.size(), places_.size() == 1 ? "" : "s");
}

std::string UnsupportedOps::list() const {
  std::string list;
  for (const auto& [op, places] : places_) {
    list += fmt::format("{}{} at {}", list.empty() ? "" : "; ", op, places.first);
    if (places.count > 1) list += fmt::format(" and {} more", places.count - 1);
  }
  return list;
}

}  // namespace layline
