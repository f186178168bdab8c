// Fixtures of tests/data: a model, what goes in, and what torch gets out.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "targets/target.h"

namespace layline {

/// Names of the fixtures, without ".pt2", sorted.
std::vector<std::string> all_fixtures();

/// The name of a test of one fixture.
std::string test_name(const testing::TestParamInfo<std::string>& fixture);

struct Tolerance {
  double relative;       // of floats, to the largest value of the output
  int64_t integers = 0;  // of everything else
};

/// Of a quantised fixture: some steps of 8 bits.
Tolerance quantised_tolerance(const std::string& fixture);

/// Runs a loaded method on input_K.npy of `folder` and compares with output_K.npy: floats within
/// `tolerance` of the largest value of the output, everything else exactly. Inputs are as they were
/// after the run, or as changed_K.npy has them.
void expect_step(LoadedProgram& loaded, const std::filesystem::path& folder,
                 const Tolerance& tolerance);

/// The same for a method of a program: once, or for each folder step_0, step_1... that
/// there is. Then the same loaded program on other sizes, the folders size_1, size_2... in
/// `folder`, and on the first once more.
void expect_outputs(const TargetProgram& program, const std::string& method,
                    const std::filesystem::path& folder, const Tolerance& tolerance);

}  // namespace layline
