#include "compiler/targets.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "targets/tosa/target.h"
#include "targets/xnnpack/target.h"

namespace layline {
namespace {

constexpr const Target* kTargets[] = {&xnnpack::kTarget, &tosa::kTarget};

}  // namespace

std::span<const Target* const> all_targets() { return kTargets; }

const Target& find_target(std::string_view name) {
  const auto* const found = std::ranges::find(kTargets, name, &Target::name);
  if (found != std::end(kTargets)) return **found;
  std::vector<std::string_view> names;
  for (const Target* target : kTargets) names.push_back(target->name);
  throw UserError("there is no target `{}`; there are {}", name, fmt::join(names, " and "));
}

}  // namespace layline
