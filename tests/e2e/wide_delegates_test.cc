// The runtime lets a delegate have so many inputs and outputs; what has more is several delegates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../unit/make_tensor.h"
#include "../zip_writer.h"
#include "base/sink.h"
#include "compiler/compile.h"
#include "runtime/program.h"

namespace layline {
namespace {

TEST(WideDelegates, MoreOutputsThanOneDelegateTakes) {
  constexpr int kOutputs = 9'000;
  std::string text = "graph \"forward\" {\ninput \"x\" %x : f32[2]\n%y0 = neg(%x)\n";
  // Each reads the one before it, so that values cross from delegate to delegate.
  for (int i = 1; i <= kOutputs; ++i)
    text += fmt::format("%y{0} = {2}(%y{1}, %x)\noutput \"y{0}\" %y{0}\n", i, i - 1,
                        i % 2 == 0 ? "add" : "sub");
  const TemporaryFile file(text + "}\n");
  const Compiled compiled = compile(file.path(), {});
  EXPECT_EQ(compiled.report.delegates, 4);
  MemorySink sink;
  compiled.program->write(sink);
  LoadedProgram loaded = LoadedProgram::from_compiled(sink.bytes(), "the program");
  const Tensor x = f32({2}, {1, 3});
  const std::vector<HostTensor> outputs = loaded.run({as_host(x)});
  ASSERT_EQ(outputs.size(), size_t{kOutputs});
  for (int i = 1; i <= kOutputs; ++i) {
    const Tensor y = as_tensor(outputs[static_cast<size_t>(i - 1)]);
    const double times = i % 2 == 0 ? -1 : -2;
    ASSERT_EQ(y.get(0), times * x.get(0)) << i;
    ASSERT_EQ(y.get(1), times * x.get(1)) << i;
  }
}

TEST(WideDelegates, OneOpThatReadsMoreThanADelegateTakes) {
  constexpr int kInputs = 5'000;
  std::string text = "graph \"forward\" {\n", all;
  for (int i = 0; i < kInputs; ++i) {
    text += fmt::format("input \"x{0}\" %x{0} : f32[1]\n", i);
    all += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  const TemporaryFile file(text + "%y = concat(" + all + ") { axis = 0 }\noutput \"y\" %y\n}\n");
  const Compiled compiled = compile(file.path(), {});
  ASSERT_EQ(compiled.report.portable_ops.size(), 1u);
  EXPECT_EQ(compiled.report.portable_ops[0].why, "it reads more than one delegate takes");
  MemorySink sink;
  compiled.program->write(sink);
  LoadedProgram loaded = LoadedProgram::from_compiled(sink.bytes(), "the program");
  std::vector<HostTensor> given;
  for (int i = 0; i < kInputs; ++i) given.push_back(as_host(f32({1}, {double(i)})));
  const std::vector<HostTensor> outputs = loaded.run(given);
  ASSERT_EQ(outputs.size(), 1u);
  const Tensor y = as_tensor(outputs[0]);
  for (int i = 0; i < kInputs; ++i) ASSERT_EQ(y.get(i), i);
}

}  // namespace
}  // namespace layline
