#include "pte/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "pte_reader.h"

namespace layline::pte {
namespace {

namespace fb = executorch_flatbuffer;

std::vector<std::byte> text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> written(const Program& program) {
  MemorySink sink;
  write_program(program, sink);
  return sink.take();
}

TensorDesc planned(std::vector<int32_t> sizes, uint64_t offset) {
  return {
      ScalarType::kFloat32, std::move(sizes), {}, ShapeDynamism::kStatic, PlannedData{1, offset}};
}

/// y = relu(x) for x [2, 3].
Program relu_program() {
  Method method;
  const ValueId x = method.add(planned({2, 3}, 0));
  const ValueId y = method.add(planned({2, 3}, 32));
  method.instructions.push_back(KernelCall{"aten::relu", "out", {x, y, y}});
  method.inputs = {x};
  method.outputs = {y};
  method.arena_bytes = {128};
  Program program;
  program.methods.push_back(std::move(method));
  return program;
}

template <typename Vector>
auto elements(const Vector* vector) {
  return std::vector(vector->begin(), vector->end());
}

TEST(PteWriter, ProgramWithoutData) {
  const PteReader pte(written(relu_program()));
  EXPECT_EQ(pte.program_size(), pte.bytes().size());
  EXPECT_EQ(pte.segment_base(), 0u);
  EXPECT_EQ(pte.segment_data_size(), 0u);
  // The runtime refuses a program without the reserved entry.
  EXPECT_EQ(elements(pte.program().constant_segment()->offsets()), std::vector<uint64_t>{0});

  const auto& plan = pte.plan();
  EXPECT_EQ(plan.name()->str(), "forward");
  EXPECT_EQ(elements(plan.inputs()), std::vector<int32_t>{0});
  EXPECT_EQ(elements(plan.outputs()), std::vector<int32_t>{1});
  EXPECT_EQ(elements(plan.non_const_buffer_sizes()), (std::vector<int64_t>{0, 128}));
  ASSERT_EQ(plan.chains()->size(), 1u);
  const auto* call = plan.chains()->Get(0)->instructions()->Get(0)->instr_args_as_KernelCall();
  EXPECT_EQ(elements(call->args()), (std::vector<int32_t>{0, 1, 1}));
  EXPECT_EQ(plan.operators()->Get(0)->name()->str(), "aten::relu");
  EXPECT_EQ(plan.operators()->Get(0)->overload()->str(), "out");

  const auto* tensor = plan.values()->Get(1)->val_as_Tensor();
  EXPECT_EQ(tensor->scalar_type(), fb::ScalarType::FLOAT);
  EXPECT_EQ(elements(tensor->sizes()), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(elements(tensor->dim_order()), (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ(tensor->data_buffer_idx(), 0u);
  EXPECT_EQ(tensor->allocation_info()->memory_id(), 1u);
  EXPECT_EQ(tensor->allocation_info()->memory_offset_low(), 32u);
}

TEST(PteWriter, EveryKindOfValue) {
  Program program = relu_program();
  Method& method = program.methods[0];
  method.add(None{});
  method.add(int64_t{-7});
  method.add(2.5);
  method.add(true);
  method.add(std::string("mode"));
  method.add(IntList{4, -1, 4});
  method.add(IntList{IntItem::of(3), -1});
  method.add(DoubleList{0.5, 2.0});
  method.add(BoolList{true, false});
  method.add(TensorList{{0, 1}});
  method.add(OptionalTensorList{{std::nullopt, 1}});
  method.add(TensorDesc{});  // rank 0, data given by the caller
  method.add(TensorDesc{ScalarType::kInt64, {1, 8, 4, 4}, {0, 2, 3, 1}, ShapeDynamism::kBound, {}});
  const PteReader pte(written(program));
  const auto& values = *pte.plan().values();

  EXPECT_NE(values.Get(2)->val_as_Null(), nullptr);
  EXPECT_EQ(values.Get(3)->val_as_Int()->int_val(), -7);
  EXPECT_EQ(values.Get(4)->val_as_Double()->double_val(), 2.5);
  EXPECT_TRUE(values.Get(5)->val_as_Bool()->bool_val());
  EXPECT_EQ(values.Get(6)->val_as_String()->string_val()->str(), "mode");
  // Literals become Int values after all others, one for each number.
  ASSERT_EQ(values.size(), 15u + 2u);
  EXPECT_EQ(elements(values.Get(7)->val_as_IntList()->items()), (std::vector<int64_t>{15, 16, 15}));
  EXPECT_EQ(elements(values.Get(8)->val_as_IntList()->items()), (std::vector<int64_t>{3, 16}));
  EXPECT_EQ(values.Get(15)->val_as_Int()->int_val(), 4);
  EXPECT_EQ(values.Get(16)->val_as_Int()->int_val(), -1);
  EXPECT_EQ(elements(values.Get(9)->val_as_DoubleList()->items()), (std::vector<double>{0.5, 2.0}));
  EXPECT_EQ(elements(values.Get(10)->val_as_BoolList()->items()), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(elements(values.Get(11)->val_as_TensorList()->items()), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(elements(values.Get(12)->val_as_OptionalTensorList()->items()),
            (std::vector<int32_t>{-1, 1}));
  const auto* scalar = values.Get(13)->val_as_Tensor();
  ASSERT_NE(scalar->sizes(), nullptr);
  ASSERT_NE(scalar->dim_order(), nullptr);
  EXPECT_EQ(scalar->sizes()->size(), 0u);
  EXPECT_EQ(scalar->allocation_info(), nullptr);
  const auto* bound = values.Get(14)->val_as_Tensor();
  EXPECT_EQ(bound->shape_dynamism(), fb::TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(bound->scalar_type(), fb::ScalarType::LONG);
  EXPECT_EQ(elements(bound->dim_order()), (std::vector<uint8_t>{0, 2, 3, 1}));
}

TEST(PteWriter, DataGoesToItsSegments) {
  Program program = relu_program();
  Method& method = program.methods[0];
  const uint32_t first = program.add_constant(DataSource::owned(text_bytes("abcd")));
  const uint32_t second = program.add_constant(DataSource::owned(text_bytes("efghijkl")));
  const uint32_t state = program.add_initial_state(DataSource::owned(text_bytes("mnop")));
  const auto constant = [](ScalarType type, uint32_t index) {
    return TensorDesc{type, {4}, {}, ShapeDynamism::kStatic, ConstantData{index}};
  };
  method.add(constant(ScalarType::kUInt8, first));
  method.add(constant(ScalarType::kInt16, second));
  method.add(
      TensorDesc{ScalarType::kInt8, {4}, {}, ShapeDynamism::kStatic, PlannedData{1, 64, state}});
  method.delegates.push_back(
      {"XnnpackBackend", program.add_blob(DataSource::owned(text_bytes("payload")))});
  method.instructions.push_back(DelegateCall{0, {0, 1}});
  const uint32_t weight = program.add_blob(DataSource::owned(text_bytes("weight")));
  program.named_data = {{"w", weight}, {"tied", weight}};

  const PteReader pte(written(program));
  EXPECT_EQ(pte.segment_base() % 128, 0u);
  EXPECT_GE(pte.segment_base(), pte.program_size());
  EXPECT_EQ(pte.segment_base() + pte.segment_data_size(), pte.bytes().size());
  ASSERT_EQ(pte.program().segments()->size(), 4u);
  for (const auto* segment : *pte.program().segments()) EXPECT_EQ(segment->offset() % 128, 0u);

  EXPECT_EQ(elements(pte.program().constant_segment()->offsets()),
            (std::vector<uint64_t>{0, 0, 16}));
  EXPECT_EQ(text_at(pte.segment(0), 0, 4), "abcd");
  EXPECT_EQ(text_at(pte.segment(0), 16, 8), "efghijkl");
  EXPECT_EQ(pte.plan().values()->Get(2)->val_as_Tensor()->data_buffer_idx(), 1u);
  EXPECT_EQ(pte.plan().values()->Get(3)->val_as_Tensor()->data_buffer_idx(), 2u);

  ASSERT_EQ(pte.program().mutable_data_segments()->size(), 1u);
  EXPECT_EQ(pte.program().mutable_data_segments()->Get(0)->segment_index(), 1u);
  EXPECT_EQ(text_at(pte.segment(1), 0, 4), "mnop");
  EXPECT_EQ(pte.plan().values()->Get(4)->val_as_Tensor()->data_buffer_idx(), 1u);
  EXPECT_NE(pte.plan().values()->Get(4)->val_as_Tensor()->allocation_info(), nullptr);

  const auto* delegate = pte.plan().delegates()->Get(0);
  EXPECT_EQ(delegate->id()->str(), "XnnpackBackend");
  EXPECT_EQ(delegate->processed()->location(), fb::DataLocation::SEGMENT);
  EXPECT_EQ(text_at(pte.segment(delegate->processed()->index()), 0, 7), "payload");
  EXPECT_EQ(text_at(pte.named_data("w"), 0, 6), "weight");
  EXPECT_EQ(pte.named_data("w").data(), pte.named_data("tied").data());
}

TEST(PteWriter, ConstantsOfNoBytes) {
  Program program = relu_program();
  const uint32_t empty = program.add_constant(DataSource::owned({}));
  program.methods[0].add(
      TensorDesc{ScalarType::kFloat32, {0, 3}, {}, ShapeDynamism::kStatic, ConstantData{empty}});
  const PteReader pte(written(program));
  EXPECT_GT(pte.segment(0).size(), 0u);
  EXPECT_EQ(pte.segment_base() + pte.segment_data_size(), pte.bytes().size());
}

TEST(PteWriter, EachOperatorOnce) {
  Program program = relu_program();
  auto& instructions = program.methods[0].instructions;
  instructions.push_back(KernelCall{"aten::tanh", "out", {0, 1, 1}});
  instructions.push_back(instructions.front());
  const PteReader pte(written(program));
  EXPECT_EQ(pte.plan().operators()->size(), 2u);
  const auto* last = pte.plan().chains()->Get(0)->instructions()->Get(2);
  EXPECT_EQ(last->instr_args_as_KernelCall()->op_index(), 0);
}

TEST(PteWriter, SeveralMethods) {
  Program program = relu_program();
  program.methods.push_back(program.methods[0]);
  program.methods[1].name = "encode";
  const PteReader pte(written(program));
  ASSERT_EQ(pte.program().execution_plan()->size(), 2u);
  EXPECT_EQ(pte.plan(1).name()->str(), "encode");
}

TEST(PteWriter, OffsetsBeyond32Bits) {
  Program program = relu_program();
  const uint64_t offset = (uint64_t{5} << 32) + 16;
  program.methods[0].values[1] = planned({2, 3}, offset);
  program.methods[0].arena_bytes = {offset + 64};
  const PteReader pte(written(program));
  const auto* place = pte.plan().values()->Get(1)->val_as_Tensor()->allocation_info();
  EXPECT_EQ(place->memory_offset_low(), 16u);
  EXPECT_EQ(place->memory_offset_high(), 5u);
}

/// Keeps no bytes, only their number and the largest piece.
struct MeasuringSink : ByteSink {
  uint64_t total = 0;
  size_t largest = 0;
  void write(std::span<const std::byte> bytes) override {
    total += bytes.size();
    largest = std::max(largest, bytes.size());
  }
};

TEST(PteWriter, DataIsStreamed) {
  constexpr size_t kChunk = 4096;
  constexpr uint64_t kChunks = 100'000;
  Program program = relu_program();
  program.add_blob({kChunk * kChunks, [](ByteSink& sink) {
                      const std::vector<std::byte> chunk(kChunk);
                      for (uint64_t i = 0; i < kChunks; ++i) sink.write(chunk);
                    }});
  MeasuringSink sink;
  write_program(program, sink);
  EXPECT_GE(sink.total, kChunk * kChunks);
  EXPECT_EQ(sink.largest, kChunk);
}

TEST(PteWriter, SameDescriptionSameBytes) {
  Program program = relu_program();
  program.methods[0].add(IntList{3, 1, 2});
  program.named_data = {{"b", program.add_blob(DataSource::owned(text_bytes("b")))},
                        {"a", program.add_blob(DataSource::owned(text_bytes("a")))}};
  EXPECT_EQ(written(program), written(program));
}

TEST(PteWriter, SourceOfTheWrongSize) {
  Program program = relu_program();
  program.add_blob({4, [](ByteSink& sink) { sink.write(text_bytes("abc")); }});
  EXPECT_THROW(written(program), InternalError);
}

TEST(PteWriter, RefusesWhatTheRuntimeWould) {
  const auto refused = [](const char* what, auto spoil) {
    Program program = relu_program();
    program.add_constant(DataSource::owned(text_bytes("abcd")));
    spoil(program, program.methods[0]);
    MemorySink sink;
    EXPECT_THROW(write_program(program, sink), InternalError) << what;
    EXPECT_TRUE(sink.bytes().empty()) << what;
  };
  refused("input out of range", [](Program&, Method& m) { m.inputs = {9}; });
  refused("negative output", [](Program&, Method& m) { m.outputs = {-1}; });
  refused("argument out of range", [](Program&, Method& m) {
    m.instructions.push_back(KernelCall{"aten::relu", "out", {0, 2}});
  });
  refused("no such delegate", [](Program&, Method& m) {
    m.instructions.push_back(DelegateCall{0, {}});
  });
  refused("no such blob", [](Program&, Method& m) { m.delegates.push_back({"X", 0}); });
  refused("long operator name", [](Program&, Method& m) {
    m.instructions.push_back(KernelCall{std::string(96, 'x'), "out", {}});
  });
  refused("list before its tensor", [](Program&, Method& m) {
    m.add(TensorList{{3}});
    m.add(planned({1}, 0));
  });
  refused("list of another kind", [](Program&, Method& m) {
    m.add(int64_t{1});
    m.add(TensorList{{2}});
  });
  refused("size that is no Int", [](Program&, Method& m) { m.add(IntList{IntItem::of(0)}); });
  refused("outside the arena", [](Program&, Method& m) { m.add(planned({2, 3}, 112)); });
  refused("unaligned", [](Program&, Method& m) { m.add(planned({1}, 8)); });
  refused("no such arena", [](Program&, Method& m) { m.arena_bytes.clear(); });
  refused("negative size", [](Program&, Method& m) { m.add(planned({-1}, 0)); });
  refused("overflow",
          [](Program&, Method& m) { m.add(planned(std::vector<int32_t>(4, 1 << 20), 0)); });
  refused("rank 17", [](Program&, Method& m) { m.add(planned(std::vector<int32_t>(17, 1), 0)); });
  refused("bad dim order", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kFloat32, {2, 2}, {1, 1}, ShapeDynamism::kStatic, {}});
  });
  refused("constant of another size", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kFloat32, {2}, {}, ShapeDynamism::kStatic, ConstantData{0}});
  });
  refused("no such constant", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kFloat32, {1}, {}, ShapeDynamism::kStatic, ConstantData{1}});
  });
  refused("method twice", [](Program& p, Method& m) { p.methods.push_back(Method(m)); });
  refused("key twice", [](Program& p, Method&) {
    p.add_blob(DataSource::owned(text_bytes("a")));
    p.named_data = {{"k", 0}, {"k", 0}};
  });
}

}  // namespace
}  // namespace layline::pte
