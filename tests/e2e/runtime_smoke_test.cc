// Small programs made by hand, loaded and run by the real runtime.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>

#include "../message_of.h"
#include "base/error.h"
#include "ir/tensor.h"
#include "pte/io_names.h"
#include "pte/program.h"
#include "pte/writer.h"
#include "runtime/bench.h"
#include "runtime/dim_order.h"
#include "runtime/program.h"
#include "runtime/random_input.h"
#include "runtime/threads.h"

namespace layline {
namespace {

template <typename T>
HostTensor tensor(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {dtype, std::move(shape), {bytes.begin(), bytes.end()}};
}

HostTensor f32(std::vector<int64_t> shape, const std::vector<float>& values) {
  return tensor(DType::f32, std::move(shape), values);
}

template <typename T>
std::vector<T> values_of(const HostTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::copy(tensor.bytes.begin(), tensor.bytes.end(),
            std::as_writable_bytes(std::span(values)).begin());
  return values;
}

std::vector<float> iota(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

std::vector<std::byte> bytes_of(const pte::Program& program) {
  MemorySink sink;
  pte::write_program(program, sink);
  return sink.take();
}

LoadedProgram load(const pte::Program& program) {
  return LoadedProgram::from_compiled(bytes_of(program), "test");
}

std::vector<std::byte> as_bytes(std::string_view text) {
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

/// A row-major tensor whose memory the caller gives.
pte::TensorDesc desc(std::vector<int32_t> sizes, pte::ScalarType type = pte::ScalarType::kFloat32) {
  pte::TensorDesc result;
  result.type = type;
  result.sizes = std::move(sizes);
  return result;
}

/// `sum = x + y`, all of the type `io`.
pte::Program add_program(const pte::TensorDesc& io) {
  pte::Method method;
  const auto x = method.add(io);
  const auto y = method.add(io);
  const auto sum = method.add(io);
  const auto alpha = method.add(int64_t{1});
  method.inputs = {x, y};
  method.outputs = {sum};
  method.instructions = {pte::KernelCall{"aten::add", "out", {x, y, alpha, sum, sum}}};
  pte::Program program;
  program.methods = {method};
  return program;
}

void name_io(pte::Program& program, const pte::MethodIoNames& names) {
  const uint32_t blob =
      program.add_blob(pte::DataSource::owned(as_bytes(pte::write_io_names({names}))));
  program.named_data.push_back({std::string(pte::kIoNamesKey), blob});
}

TEST(Runtime, RunsAProgramWithNamedInputs) {
  pte::Program program = add_program(desc({2, 3}));
  name_io(program, {"forward", {"x", "bias"}, {"sum"}});
  LoadedProgram loaded = load(program);
  ASSERT_EQ(loaded.inputs().size(), 2u);
  EXPECT_EQ(loaded.inputs()[1].name, "bias");
  EXPECT_EQ(describe(loaded.inputs()[1]), "f32[2, 3]");
  EXPECT_EQ(loaded.outputs()[0].name, "sum");
  const auto outputs = loaded.run({f32({2, 3}, iota(6)), f32({2, 3}, {1, 1, 1, 2, 2, 2})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values_of<float>(outputs[0]), (std::vector<float>{1, 2, 3, 5, 6, 7}));
}

TEST(Runtime, ForeignProgramsGetNumberedNames) {
  const LoadedProgram loaded = load(add_program(desc({1})));
  EXPECT_EQ(loaded.inputs()[1].name, "input_1");
  EXPECT_EQ(loaded.outputs()[0].name, "output_0");
}

TEST(Runtime, NamesMustFitTheMethod) {
  pte::Program program = add_program(desc({1}));
  name_io(program, {"forward", {"x"}, {"sum"}});
  EXPECT_NE(message_of<InternalError>([&] { load(program); }).find("names 1 inputs"),
            std::string::npos);
}

TEST(Runtime, ConvertsDimOrders) {
  // Copies a channels-last tensor into a row-major one, and back: both are the logical identity.
  const pte::TensorDesc first = desc({2, 3, 2, 2});
  pte::TensorDesc last = first;
  last.dim_order = {0, 2, 3, 1};
  for (const bool from_last : {true, false}) {
    pte::Method method;
    const auto in = method.add(from_last ? last : first);
    const auto out = method.add(from_last ? first : last);
    const auto blocking = method.add(false);
    const auto order = method.add(from_last ? pte::IntList{0, 1, 2, 3} : pte::IntList{0, 2, 3, 1});
    method.inputs = {in};
    method.outputs = {out};
    method.instructions = {pte::KernelCall{
        "dim_order_ops::_to_dim_order_copy", "out", {in, blocking, order, out, out}}};
    pte::Program program;
    program.methods = {method};
    LoadedProgram loaded = load(program);
    const auto outputs = loaded.run({f32({2, 3, 2, 2}, iota(24))});
    EXPECT_EQ(values_of<float>(outputs[0]), iota(24)) << from_last;
  }
}

TEST(Runtime, DynamicShapesUpToTheirBound) {
  pte::TensorDesc io = desc({4, 2});
  io.dynamism = pte::ShapeDynamism::kBound;
  LoadedProgram loaded = load(add_program(io));
  EXPECT_EQ(describe(loaded.inputs()[0]), "f32[<=4, <=2]");
  for (const int64_t batch : {3, 1, 4, 0}) {
    const HostTensor x = f32({batch, 2}, iota(static_cast<size_t>(batch) * 2));
    const auto outputs = loaded.run({x, x});
    EXPECT_EQ(outputs[0].shape, (std::vector<int64_t>{batch, 2}));
    ASSERT_EQ(outputs[0].bytes.size(), x.bytes.size());
    if (batch > 0) {
      EXPECT_EQ(values_of<float>(outputs[0])[1], 2);
    }
  }
  const HostTensor large = f32({5, 2}, iota(10));
  EXPECT_EQ(message_of<UserError>([&] {
              loaded.run({large, large});
            }),
            "input `input_0` is f32[5, 2], expected f32[<=4, <=2]");
}

TEST(Runtime, ScalarsHalvesAndIntegers) {
  LoadedProgram scalar = load(add_program(desc({})));
  EXPECT_EQ(values_of<float>(scalar.run({f32({}, {1}), f32({}, {2})})[0]), std::vector<float>{3});
  LoadedProgram half = load(add_program(desc({1}, pte::ScalarType::kFloat16)));
  const HostTensor x = tensor<uint16_t>(DType::f16, {1}, {float_to_half(1.5f)});
  EXPECT_EQ(values_of<uint16_t>(half.run({x, x})[0])[0], float_to_half(3.0f));
  LoadedProgram integer = load(add_program(desc({2}, pte::ScalarType::kInt64)));
  const HostTensor n = tensor<int64_t>(DType::i64, {2}, {int64_t{1} << 40, -1});
  EXPECT_EQ(values_of<int64_t>(integer.run({n, n})[0]),
            (std::vector<int64_t>{int64_t{1} << 41, -2}));
}

TEST(Runtime, PlannedInputsAndOutputs) {
  pte::Program program = add_program(desc({4}));
  pte::Method& method = program.methods[0];
  for (uint64_t i = 0; i < 3; ++i) {
    std::get<pte::TensorDesc>(method.values[i]).storage = pte::PlannedData{1, i * 16};
  }
  method.arena_bytes = {48};
  LoadedProgram loaded = load(program);
  const HostTensor x = f32({4}, iota(4));
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(values_of<float>(loaded.run({x, x})[0]), (std::vector<float>{0, 2, 4, 6}));
  }
}

TEST(Runtime, OutputsMayBeInputsConstantsDuplicatesAndNumbers) {
  pte::Program program = add_program(desc({2}));
  pte::Method& method = program.methods[0];
  const uint32_t data = program.add_constant(pte::DataSource::owned(f32({2}, {7, 8}).bytes));
  pte::TensorDesc constant_desc = desc({2});
  constant_desc.storage = pte::ConstantData{data};
  const auto constant = method.add(constant_desc);
  const auto number = method.add(int64_t{5});
  const auto nothing = method.add(pte::None{});
  method.inputs.push_back(number);
  method.inputs.push_back(nothing);
  const auto sum = method.outputs[0];
  method.outputs = {sum, method.inputs[0], constant, sum, number, nothing};
  LoadedProgram loaded = load(program);
  EXPECT_EQ(describe(loaded.inputs()[2]), "integer 5");
  EXPECT_EQ(loaded.inputs()[3].kind, IoKind::none);
  const auto outputs = loaded.run({f32({2}, {1, 2}), f32({2}, {10, 10}), {}, {}});
  EXPECT_EQ(values_of<float>(outputs[0]), (std::vector<float>{11, 12}));
  EXPECT_EQ(values_of<float>(outputs[1]), (std::vector<float>{1, 2}));
  EXPECT_EQ(values_of<float>(outputs[2]), (std::vector<float>{7, 8}));
  EXPECT_EQ(values_of<float>(outputs[3]), (std::vector<float>{11, 12}));
  EXPECT_EQ(values_of<int64_t>(outputs[4]), std::vector<int64_t>{5});
  EXPECT_TRUE(outputs[5].bytes.empty());
}

TEST(Runtime, RefusesInputsThatDoNotFit) {
  LoadedProgram loaded = load(add_program(desc({2, 3})));
  const HostTensor good = f32({2, 3}, iota(6));
  EXPECT_EQ(message_of<UserError>([&] {
              loaded.run({good, f32({3, 2}, iota(6))});
            }),
            "input `input_1` is f32[3, 2], expected f32[2, 3]");
  EXPECT_EQ(message_of<UserError>([&] {
              loaded.run({tensor<double>(DType::f64, {2, 3}, {0, 0, 0, 0, 0, 0}), good});
            }),
            "input `input_0` is f64[2, 3], expected f32[2, 3]");
  EXPECT_THROW(loaded.run({f32({2, 3}, iota(5)), good}), UserError);
  EXPECT_NO_THROW(loaded.run({good, good}));
}

TEST(Runtime, AMissingKernelIsNamed) {
  pte::Program program = add_program(desc({1}));
  std::get<pte::KernelCall>(program.methods[0].instructions[0]).name = "aten::no_such_kernel";
  const std::string message = message_of<InternalError>([&] { load(program); });
  EXPECT_NE(message.find("aten::no_such_kernel"), std::string::npos) << message;
}

TEST(Runtime, AMissingMethodIsAUsersError) {
  const std::vector<std::byte> bytes = bytes_of(add_program(desc({1})));
  EXPECT_EQ(message_of<UserError>([&] { LoadedProgram::from_compiled(bytes, "test", {"encode"}); }),
            "test: no method `encode`; it has forward");
}

TEST(Runtime, FilesThatAreNotProgramsAreUsersErrors) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("layline_smoke_{}.pte", getpid());
  const auto load_file = [&](std::span<const std::byte> bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<ptrdiff_t>(bytes.size()));
    return LoadedProgram::from_file(path);
  };
  const std::vector<std::byte> bytes = bytes_of(add_program(desc({1})));
  EXPECT_NO_THROW(load_file(bytes));
  EXPECT_THROW(load_file(as_bytes("not a program")), UserError);
  EXPECT_THROW(load_file(std::vector<std::byte>(4096)), UserError);
  for (size_t part = 0; part < 16; ++part) {
    EXPECT_THROW(load_file(std::span(bytes).first(bytes.size() * part / 16)), UserError) << part;
  }
  std::filesystem::remove(path);
  EXPECT_THROW(LoadedProgram::from_file(path), UserError);
}

TEST(Runtime, DimOrdersInvert) {
  const std::vector<int64_t> shape = {2, 3, 1, 4};
  std::vector<uint8_t> order = {0, 1, 2, 3};
  const HostTensor source = f32(shape, iota(24));
  do {
    std::vector<std::byte> ordered(source.bytes.size());
    std::vector<std::byte> back(source.bytes.size());
    to_dim_order(source.bytes, shape, order, 4, ordered);
    from_dim_order(ordered, shape, order, 4, back);
    EXPECT_EQ(back, source.bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  std::vector<std::byte> ordered(source.bytes.size());
  to_dim_order(source.bytes, shape, std::vector<uint8_t>{0, 2, 3, 1}, 4, ordered);
  EXPECT_EQ(values_of<float>({DType::f32, {24}, ordered})[1], 4);  // n0 h0 w0 c1
}

TEST(RandomInput, DependsOnTheSeedOnly) {
  const LoadedProgram loaded = load(add_program(desc({1000})));
  const auto once = random_inputs(loaded.inputs(), 1);
  EXPECT_EQ(once[0].bytes, random_inputs(loaded.inputs(), 1)[0].bytes);
  EXPECT_NE(once[0].bytes, random_inputs(loaded.inputs(), 2)[0].bytes);
  EXPECT_NE(once[0].bytes, once[1].bytes);
  double sum = 0;
  double squares = 0;
  for (const float value : values_of<float>(once[0])) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 1000, 0, 0.1);
  EXPECT_NEAR(squares / 1000, 1, 0.15);
}

TEST(RandomInput, RefusesWhatDoesNotFitInMemory) {
  IoInfo io;
  io.name = "x";
  io.shape = {int64_t{1} << 30, int64_t{1} << 30, int64_t{1} << 30};
  EXPECT_THROW(random_inputs({io}, 0), UserError);
}

TEST(Bench, SummarisesTimes) {
  const Latency latency = summarise({4, 1, 3, 2, 10});
  EXPECT_EQ(latency.min, 1);
  EXPECT_EQ(latency.median, 3);
  EXPECT_EQ(latency.mean, 4);
  EXPECT_EQ(latency.p90, 10);
  EXPECT_NEAR(latency.stddev, 3.5355, 1e-4);
  EXPECT_EQ(summarise({2, 1}).median, 1.5);
}

TEST(Bench, MeasuresSeveralPrograms) {
  const pte::Program small = add_program(desc({16}));
  const pte::Program large = add_program(desc({1 << 18}));
  for (const unsigned threads : {1u, 2u}) {
    const BenchReport report =
        bench({{"small", [&] { return load(small); }}, {"large", [&] { return load(large); }}},
              {.threads = threads, .iterations = 25, .seed = 0});
    ASSERT_EQ(report.programs.size(), 2u);
    EXPECT_EQ(report.iterations, 25u);
    EXPECT_EQ(report.programs[0].speedup, 1);
    EXPECT_LT(report.programs[1].speedup, 1);
    EXPECT_GT(report.programs[0].latency_ms.min, 0);
    EXPECT_GT(report.programs[0].load_ms, 0);
    EXPECT_GT(report.peak_memory_bytes, 0u);
  }
}

TEST(Threads, CannotChangeUnderALoadedProgram) {
  const LoadedProgram loaded = load(add_program(desc({1})));
  EXPECT_THROW(set_threads(2), UserError);
  EXPECT_THROW(set_threads(100000), UserError);
}

}  // namespace
}  // namespace layline
