#include "targets/tosa/accelerator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/error.h"

namespace layline::tosa {
namespace {

constexpr Accelerator kAccelerators[] = {
    {"ethos-u55-32", false, true, 0},    {"ethos-u55-64", false, true, 0},
    {"ethos-u55-128", false, true, 0},   {"ethos-u55-256", false, true, 0},
    {"ethos-u65-256", false, false, 0},  {"ethos-u65-512", false, false, 0},
    {"ethos-u85-128", true, false, 32},  {"ethos-u85-256", true, false, 64},
    {"ethos-u85-512", true, false, 64},  {"ethos-u85-1024", true, false, 64},
    {"ethos-u85-2048", true, false, 64},
};

}  // namespace

const Accelerator& find_accelerator(const std::string& name) {
  const auto* found = std::ranges::find(kAccelerators, name, &Accelerator::name);
  if (found != std::end(kAccelerators)) return *found;
  std::vector<std::string_view> names;
  for (const Accelerator& accelerator : kAccelerators) names.push_back(accelerator.name);
  throw UserError("there is no accelerator `{}`; there are {}", name, fmt::join(names, ", "));
}

const Accelerator* chosen_accelerator(const std::string& name) {
  return name.empty() ? nullptr : &find_accelerator(name);
}

}  // namespace layline::tosa
