// The table of portable kernels against the operators that the runtime really has.
#include <executorch/runtime/kernel/operator_registry.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "targets/kernel_calls.h"

namespace layline {
namespace {

/// Kernels may be registered for some dtypes and dim orders only, so names are compared and no
/// particular signature is asked for.
std::set<std::string> registered_operators() {
  std::set<std::string> names;
  for (const auto& kernel : executorch::runtime::get_registered_kernels())
    names.insert(kernel.name_);
  return names;
}

TEST(PortableKernels, EveryOperatorIsRegisteredInTheRuntime) {
  const auto registered = registered_operators();
  ASSERT_FALSE(registered.empty());
  for (const PortableKernel& kernel : portable_kernels()) {
    if (!kernel.library.empty()) continue;
    for (const std::string_view name : kernel.operators)
      EXPECT_TRUE(registered.contains(std::string(name)))
          << name << " for " << layline::name(kernel.op);
  }
}

TEST(PortableKernels, OneRowForEachOp) {
  std::set<Op> seen;
  for (const PortableKernel& kernel : portable_kernels()) {
    EXPECT_TRUE(seen.insert(kernel.op).second) << name(kernel.op);
    EXPECT_FALSE(kernel.operators.empty()) << name(kernel.op);
    EXPECT_EQ(find_portable_kernel(kernel.op), &kernel);
  }
}

}  // namespace
}  // namespace layline
