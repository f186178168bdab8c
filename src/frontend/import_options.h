// What the user says about a model that its file leaves open.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "ir/tensor.h"

namespace layline {

/// The values of a size: from `least` to `greatest`, in steps. Both are multiples of the step.
struct SizeRange {
  int64_t least = 1;
  int64_t greatest = 1;
  int64_t step = 1;
};

struct ImportOptions {
  /// By the name of a size.
  std::map<std::string, SizeRange> sizes;
  /// By the name of an input, which is then a constant: its value, or the number that all its
  /// elements are.
  std::map<std::string, std::variant<double, Tensor>> fixed;

  bool empty() const { return sizes.empty() && fixed.empty(); }
};

}  // namespace layline
