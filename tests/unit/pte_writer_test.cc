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
  EXPECT_EQ(tensor->storage_offset(), 0);
  EXPECT_FALSE(tensor->requires_grad());
  EXPECT_EQ(tensor->layout(), 0);
  EXPECT_EQ(pte.program().version(), 0u);
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

/// A name for the bytes of a constant adds a segment, and no bytes.
TEST(PteWriter, NamedConstantsAreInTheFileOnce) {
  Program program = relu_program();
  program.add_constant(DataSource::owned(text_bytes("abcd")));
  const uint32_t table = program.add_constant(DataSource::owned(text_bytes("efghijkl")));
  program.add_blob(DataSource::owned(text_bytes("payload")));
  const uint64_t bytes = PteReader(written(program)).segment_data_size();
  program.named_constants = {{"table", {table}}};
  const PteReader pte(written(program));
  EXPECT_EQ(pte.segment_data_size(), bytes);
  EXPECT_EQ(pte.segment_base() + pte.segment_data_size(), pte.bytes().size());
  EXPECT_EQ(pte.named_data("table").data(), pte.segment(0).data() + 16);
  EXPECT_EQ(pte.named_data("table").size(), 8u);
  EXPECT_EQ(text_at(pte.segment(1), 0, 7), "payload");
  program.named_constants = {{"table", {2}}};
  EXPECT_THROW(written(program), InternalError);
  program.named_constants = {{"table", {0}}, {"table", {1}}};
  EXPECT_THROW(written(program), InternalError);
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

/// What is described by nothing has no bytes, and is not asked for any.
TEST(PteWriter, DataOfNoBytesNeedsNoSource) {
  Program program = relu_program();
  program.add_blob({});
  program.add_blob(DataSource::owned(text_bytes("a")));
  const PteReader pte(written(program));
  EXPECT_EQ(pte.segment(0).size(), 0u);
  EXPECT_EQ(text_at(pte.segment(1), 0, 1), "a");
  EXPECT_EQ(pte.program().mutable_data_segments()->size(), 0u);
}

TEST(PteWriter, EveryDelegateHasItsPayload) {
  Program program = relu_program();
  program.add_constant(DataSource::owned(text_bytes("constant")));
  Method& method = program.methods[0];
  for (const std::string_view text : {"one", "two", "three"})
    method.delegates.push_back(
        {"Backend " + std::string(text), program.add_blob(DataSource::owned(text_bytes(text)))});
  for (const uint32_t index : {2u, 0u}) method.instructions.push_back(DelegateCall{index, {0, 1}});
  const PteReader pte(written(program));
  ASSERT_EQ(pte.plan().delegates()->size(), 3u);
  for (const auto* delegate : *pte.plan().delegates()) {
    const auto segment = pte.segment(delegate->processed()->index());
    EXPECT_EQ("Backend " + text_at(segment, 0, segment.size()), delegate->id()->str());
  }
  const auto* calls = pte.plan().chains()->Get(0)->instructions();
  EXPECT_EQ(calls->Get(1)->instr_args_as_DelegateCall()->delegate_index(), 2);
  EXPECT_EQ(calls->Get(2)->instr_args_as_DelegateCall()->delegate_index(), 0);
  EXPECT_EQ(elements(calls->Get(1)->instr_args_as_DelegateCall()->args()),
            (std::vector<int32_t>{0, 1}));
}

TEST(PteWriter, OperatorsDifferInNameOrOverload) {
  Program program = relu_program();
  for (const auto& [name, overload] : {std::pair("a", "b"), {"b", "a"}, {"a", "a"}})
    program.methods[0].instructions.push_back(KernelCall{name, overload, {0, 1, 1}});
  const PteReader pte(written(program));
  ASSERT_EQ(pte.plan().operators()->size(), 4u);
  EXPECT_EQ(pte.plan().operators()->Get(2)->name()->str(), "b");
  EXPECT_EQ(pte.plan().operators()->Get(2)->overload()->str(), "a");
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

TEST(PteWriter, TakesTheMostThatTheRuntimeDoes) {
  Program program = relu_program();
  Method& method = program.methods[0];
  method.add(planned(std::vector<int32_t>(16, 1), 0));
  method.add(planned({4}, 112));  // ends with the arena
  method.add(planned({0}, 128));
  method.add(OptionalTensorList{{0, std::nullopt, 4}});
  method.add(TensorDesc{ScalarType::kInt8, {2, 0, 3}, {2, 0, 1}, ShapeDynamism::kBound, {}});
  // 95 + 1 + 3 bytes, and the final zero.
  method.instructions.push_back(KernelCall{std::string(95, 'x'), "out", {6}});
  EXPECT_EQ(PteReader(written(program)).plan().values()->size(), 7u);
}

/// Data of `sizes` bytes each, all of them the letters of one alphabet.
std::vector<DataSource> letters(const std::vector<size_t>& sizes) {
  std::vector<DataSource> sources;
  for (const size_t size : sizes) {
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>('a' + i % 26);
    sources.push_back(DataSource::owned(std::move(bytes)));
  }
  return sources;
}

/// Data begins at multiples of 16 within a segment, and segments at multiples of 128, without a gap
/// where there need be none.
TEST(PteWriter, DataIsAligned) {
  Program program = relu_program();
  program.constants = letters({16, 1, 31, 0, 16});
  program.initial_states = letters({128});
  program.blobs = letters({129, 0, 1});
  const PteReader pte(written(program));
  EXPECT_EQ(elements(pte.program().constant_segment()->offsets()),
            (std::vector<uint64_t>{0, 0, 16, 32, 64, 64}));
  EXPECT_EQ(elements(pte.program().mutable_data_segments()->Get(0)->offsets()),
            (std::vector<uint64_t>{0, 0}));
  const std::pair<uint64_t, uint64_t> segments[] = {
      {0, 80}, {128, 128}, {256, 129}, {512, 0}, {512, 1}};
  ASSERT_EQ(pte.program().segments()->size(), std::size(segments));
  for (uint32_t i = 0; i < std::size(segments); ++i) {
    EXPECT_EQ(pte.program().segments()->Get(i)->offset(), segments[i].first) << i;
    EXPECT_EQ(pte.program().segments()->Get(i)->size(), segments[i].second) << i;
  }
  EXPECT_EQ(pte.segment_data_size(), 513u);
  EXPECT_EQ(pte.segment_base(), (pte.program_size() + 127) / 128 * 128);
  EXPECT_EQ(text_at(pte.segment(0), 0, 18), std::string("abcdefghijklmnopa") + '\0');
  EXPECT_EQ(text_at(pte.segment(0), 64, 16), "abcdefghijklmnop");
  EXPECT_EQ(text_at(pte.segment(4), 0, 1), "a");
}

/// The sink is told how many bytes will come.
TEST(PteWriter, TheSizeIsKnownBefore) {
  struct Expecting : MeasuringSink {
    uint64_t expected = 0;
    void expect(uint64_t bytes) override { expected = bytes; }
  };
  for (const bool data : {false, true}) {
    Program program = relu_program();
    if (data) program.blobs = letters({200, 3});
    Expecting sink;
    write_program(program, sink);
    EXPECT_EQ(sink.total, sink.expected);
  }
}

TEST(PteWriter, ProgramsAreKnownByTheirFirstBytes) {
  const std::vector<std::byte> bytes = written(relu_program());
  EXPECT_EQ(read_at<uint32_t>(bytes, 12), 32u);  // the size of the extended header
  EXPECT_TRUE(begins_as_program(bytes));
  EXPECT_TRUE(begins_as_program(std::span(bytes).first(9)));
  EXPECT_FALSE(begins_as_program(std::span(bytes).first(8)));
  EXPECT_FALSE(begins_as_program(text_bytes("....EX12....")));
  EXPECT_FALSE(begins_as_program(text_bytes("....XT12....")));
  EXPECT_TRUE(is_program("model.pte", {}));
  EXPECT_TRUE(is_program("model", bytes));
  EXPECT_FALSE(is_program("model.pt2", text_bytes("PK..........")));
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
  refused("the first value", [](Program&, Method& m) { m.values[0] = planned({-1}, 0); });
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
  refused("output behind the last value", [](Program&, Method& m) { m.outputs = {2}; });
  refused("delegate without a backend", [](Program& p, Method& m) {
    m.delegates.push_back({"", p.add_blob(DataSource::owned({}))});
  });
  refused("argument of a delegate", [](Program& p, Method& m) {
    m.delegates.push_back({"X", p.add_blob(DataSource::owned({}))});
    m.instructions.push_back(DelegateCall{0, {2}});
  });
  refused("kernel without a name", [](Program&, Method& m) {
    m.instructions.push_back(KernelCall{"", "out", {}});
  });
  refused("list of itself", [](Program&, Method& m) { m.add(TensorList{{2}}); });
  refused("no such tensor in a list", [](Program&, Method& m) { m.add(TensorList{{-1}}); });
  refused("list of what may be a tensor", [](Program&, Method& m) {
    m.add(int64_t{1});
    m.add(OptionalTensorList{{std::nullopt, 2}});
  });
  refused("size behind the last value",
          [](Program&, Method& m) { m.add(IntList{IntItem::of(9)}); });
  refused("memory of the constants", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kInt8, {1}, {}, ShapeDynamism::kStatic, PlannedData{0, 0}});
  });
  refused("memory that is not there", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kInt8, {1}, {}, ShapeDynamism::kStatic, PlannedData{2, 0}});
  });
  refused("behind the arena", [](Program&, Method& m) { m.add(planned({0}, 144)); });
  refused("order of fewer dims", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kFloat32, {2, 2}, {0}, ShapeDynamism::kStatic, {}});
  });
  refused("order of more dims", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kFloat32, {2, 2}, {0, 1, 1}, ShapeDynamism::kStatic, {}});
  });
  refused("order of other dims", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kFloat32, {2, 2}, {0, 2}, ShapeDynamism::kStatic, {}});
  });
  refused("dynamic constant", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kFloat32, {1}, {}, ShapeDynamism::kBound, ConstantData{0}});
  });
  refused("no such first value", [](Program&, Method& m) {
    m.add(TensorDesc{ScalarType::kInt8, {4}, {}, ShapeDynamism::kStatic, PlannedData{1, 0, 0}});
  });
  refused("first value of another size", [](Program& p, Method& m) {
    const uint32_t state = p.add_initial_state(DataSource::owned(text_bytes("abc")));
    m.add(TensorDesc{ScalarType::kInt8, {4}, {}, ShapeDynamism::kStatic, PlannedData{1, 0, state}});
  });
  refused("method without a name", [](Program&, Method& m) { m.name.clear(); });
  refused("data without a name", [](Program& p, Method&) {
    p.named_data = {{"", p.add_blob(DataSource::owned({}))}};
  });
  refused("no such blob for a name", [](Program& p, Method&) { p.named_data = {{"k", 0}}; });
  const uint64_t half = uint64_t{1} << 63;
  refused("2^64 bytes of blobs", [&](Program& p, Method&) {
    for (int i = 0; i < 2; ++i) p.add_blob({half, nullptr});
  });
  refused("2^64 bytes of constants", [&](Program& p, Method&) {
    for (int i = 0; i < 2; ++i) p.add_constant({half, nullptr});
  });
  refused("2^64 bytes of first values", [&](Program& p, Method&) {
    p.add_initial_state({~uint64_t{0}, nullptr});
    p.add_initial_state({1, nullptr});
  });
  refused("method twice", [](Program& p, Method& m) { p.methods.push_back(Method(m)); });
  refused("key twice", [](Program& p, Method&) {
    p.add_blob(DataSource::owned(text_bytes("a")));
    p.named_data = {{"k", 0}, {"k", 0}};
  });
}

}  // namespace
}  // namespace layline::pte
