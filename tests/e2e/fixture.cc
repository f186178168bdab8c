#include "fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "../fixture_runs.h"
#include "ir/tensor.h"
#include "runtime/program.h"
#include "runtime/tensor_file.h"

namespace layline {
namespace {

void expect_close(const HostTensor& actual, const HostTensor& expected,
                  const Tolerance& tolerance) {
  ASSERT_EQ(actual.dtype, expected.dtype);
  ASSERT_EQ(actual.shape, expected.shape);
  const Tensor a = as_tensor(actual), e = as_tensor(expected);
  double largest = 1e-30, error = 0;
  for (int64_t i = 0; i < e.count(); ++i) {
    if (!is_float(e.dtype())) {
      ASSERT_LE(std::abs(a.get_int(i) - e.get_int(i)), tolerance.integers) << "element " << i;
    } else if (std::isfinite(e.get(i))) {
      largest = std::max(largest, std::abs(e.get(i)));
      ASSERT_TRUE(std::isfinite(a.get(i))) << "element " << i << " is " << a.get(i);
      error = std::max(error, std::abs(a.get(i) - e.get(i)));
    } else {
      ASSERT_TRUE(std::isnan(e.get(i)) ? std::isnan(a.get(i)) : a.get(i) == e.get(i))
          << "element " << i << " is " << a.get(i) << " instead of " << e.get(i);
    }
  }
  EXPECT_LE(error / largest, tolerance.relative);
}

void expect_run(LoadedProgram& loaded, const FixtureRun& run, const Tolerance& tolerance) {
  SCOPED_TRACE(run.prefix());
  std::vector<HostTensor> inputs(loaded.inputs().size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (loaded.inputs()[i].kind == IoKind::tensor) inputs[i] = as_host(run.read("input", i));
  const std::vector<HostTensor> outputs = loaded.run(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool saved = run.contains("output", i);
    EXPECT_EQ(loaded.outputs()[i].kind == IoKind::tensor, saved) << "output " << i;
    if (!saved) continue;
    SCOPED_TRACE(fmt::format("output {} ({})", i, loaded.outputs()[i].name));
    expect_close(outputs[i], as_host(run.read("output", i)), tolerance);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (loaded.inputs()[i].kind != IoKind::tensor) continue;
    SCOPED_TRACE(fmt::format("input {} after the run", i));
    const bool changed = run.contains("changed", i);
    expect_close(loaded.get_input(i), changed ? as_host(run.read("changed", i)) : inputs[i],
                 tolerance);
  }
}

}  // namespace

std::vector<std::string> all_fixtures() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(LAYLINE_TEST_DATA))
    if (entry.path().extension() == ".pt2") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::string model_of(const std::string& fixture) {
  return fmt::format("{}/{}.pt2", LAYLINE_TEST_DATA, fixture);
}

NpzArchive arrays_of(const std::string& fixture) {
  const std::string name = fixture.substr(0, fixture.find('.'));
  return NpzArchive(fmt::format("{}/{}.npz", LAYLINE_TEST_DATA, name));
}

HostTensor integers(const std::vector<int64_t>& values, std::vector<int64_t> shape) {
  HostTensor tensor{DType::i64, std::move(shape), {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  tensor.bytes.assign(bytes, bytes + values.size() * sizeof(int64_t));
  return tensor;
}

std::vector<int64_t> values_of(const HostTensor& integers) {
  const Tensor tensor = as_tensor(integers);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.get_int(i));
  return values;
}

std::string test_name(const testing::TestParamInfo<std::string>& fixture) {
  std::string name = fixture.param;
  std::ranges::replace(name, '.', '_');
  return name;
}

Tolerance quantised_tolerance(const std::string& fixture) {
  // A quarter of its averages are halves, which torch's floats round by chance: 3 steps of 127.
  const bool has_halves = fixture.starts_with("quantised_tosa_yardstick_model_9_");
  return {has_halves ? 0.024 : 0.02, 1};
}

void expect_outputs(const Compiled& compiled, const std::string& fixture,
                    const Tolerance& tolerance) {
  const NpzArchive archive = arrays_of(fixture);
  MemorySink sink;
  compiled.program->write(sink);
  for (const std::string& method : compiled.report.methods) {
    LoadedProgram loaded = LoadedProgram::from_compiled(sink.bytes(), "the fixture", {method});
    for (const FixtureRun& run : runs_of(archive, method)) expect_run(loaded, run, tolerance);
  }
}

}  // namespace layline
