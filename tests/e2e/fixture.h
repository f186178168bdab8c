// Fixtures of tests/data: NAME.pt2 is a model, NAME.npz what goes in and what torch gets out
// (tests/models/export.py has the names of the arrays).
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/npz.h"
#include "compiler/compile.h"
#include "runtime/host_tensor.h"

namespace layline {

/// Names of the fixtures, without ".pt2", sorted.
std::vector<std::string> all_fixtures();

/// The path of its model.
std::string model_of(const std::string& fixture);

/// Its arrays. A variant, NAME.VARIANT, computes what NAME does, and has none of its own.
NpzArchive arrays_of(const std::string& fixture);

/// Tokens and places, as a program takes and gives them.
HostTensor integers(const std::vector<int64_t>& values, std::vector<int64_t> shape);
std::vector<int64_t> values_of(const HostTensor& integers);

/// The name of a test of one fixture.
std::string test_name(const testing::TestParamInfo<std::string>& fixture);

struct Tolerance {
  double relative;       // of floats, to the largest value of the output
  int64_t integers = 0;  // of everything else
};

/// Of a quantised fixture: some steps of 8 bits.
Tolerance quantised_tolerance(const std::string& fixture);

/// Loads each method of a program that the fixture became, and makes its runs (fixture_runs.h).
/// Floats are within `tolerance` of the largest value of the output, everything else is the same.
/// Inputs are as they were after the run, or as changed_K has them.
void expect_outputs(const Compiled& compiled, const std::string& fixture,
                    const Tolerance& tolerance);

}  // namespace layline
