#include "pte/writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "pte/program_check.h"
#include "schema/program_generated.h"

namespace layline::pte {
namespace {

namespace fb = executorch_flatbuffer;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr uint64_t kSegmentAlignment = 128;
constexpr uint64_t kConstantAlignment = 16;
constexpr uint32_t kHeaderSize = 32;
constexpr size_t kHeaderOffset = 8;

uint64_t align_up(uint64_t value, uint64_t alignment) {
  const auto rounded = checked_align(value, alignment);
  LAYLINE_ASSERT(rounded, "a program of 2^64 bytes");
  return *rounded;
}

/// Where all data outside the flatbuffer goes, relative to the segment base.
struct Layout {
  struct Segment {
    uint64_t offset, size;
  };
  /// Several tensors' data in one segment. Offset 0 is reserved: index 0 means "no data".
  struct Pool {
    uint32_t segment;
    std::vector<uint64_t> offsets;
  };
  std::vector<Segment> segments;
  uint64_t size = 0;
  // Each goes behind those before it.
  Pool constants, initial_states;
  uint32_t first_blob;  ///< index of the segment of blob 0
  /// Index of the segment of named constant 0. These segments are parts of the constants' segment.
  uint32_t first_named_constant;

  explicit Layout(const Program& program)
      : constants(add_pool(program.constants)),
        initial_states(add_pool(program.initial_states)),
        first_blob(next_segment()) {
    for (const DataSource& blob : program.blobs) add_segment(blob.size);
    first_named_constant = next_segment();
    for (const auto& [key, data] : program.named_constants)
      segments.push_back({segments[constants.segment].offset + constants.offsets[data.index + 1],
                          program.constants[data.index].size});
  }

 private:
  uint32_t next_segment() const { return static_cast<uint32_t>(segments.size()); }
  Pool add_pool(const std::vector<DataSource>& sources) {
    Pool pool{next_segment(), {0}};
    uint64_t end = 0;
    for (const DataSource& source : sources) {
      end = align_up(end, kConstantAlignment);
      pool.offsets.push_back(end);
      LAYLINE_ASSERT(!__builtin_add_overflow(end, source.size, &end), "a program of 2^64 bytes");
    }
    // Never empty, even where all the tensors are: the runtime takes that for no segment at all.
    if (!sources.empty()) add_segment(std::max(end, kConstantAlignment));
    return pool;
  }
  void add_segment(uint64_t bytes) {
    const uint64_t offset = align_up(size, kSegmentAlignment);
    LAYLINE_ASSERT(!__builtin_add_overflow(offset, bytes, &size), "a program of 2^64 bytes");
    segments.push_back({offset, bytes});
  }
};

/// Builds the flatbuffer of one method. Every table has a name before the call that refers to it:
/// arguments are evaluated in any order, and the bytes must not depend on that.
class MethodBuilder {
 public:
  MethodBuilder(FlatBufferBuilder& fbb, const Method& method, const Layout& layout)
      : fbb_(fbb), method_(method), layout_(layout) {}

  Offset<fb::ExecutionPlan> build() {
    for (const Value& value : method_.values) {
      const auto [kind, table] = std::visit([this](const auto& v) { return make(v); }, value);
      values_.push_back(fb::CreateEValue(fbb_, kind, table));
    }
    for (int64_t literal : literals_) {
      values_.push_back(
          fb::CreateEValue(fbb_, fb::KernelTypes::Int, fb::CreateInt(fbb_, literal).Union()));
    }
    std::vector<Offset<fb::Instruction>> instructions;
    for (const Instruction& instruction : method_.instructions) {
      const auto [kind, table] =
          std::visit([this](const auto& call) { return make_call(call); }, instruction);
      instructions.push_back(fb::CreateInstruction(fbb_, kind, table));
    }
    const std::vector<ValueId> none;
    const auto chain_inputs = fbb_.CreateVector(none);
    const auto chain_outputs = fbb_.CreateVector(none);
    const auto calls = fbb_.CreateVector(instructions);
    const auto frames = fbb_.CreateVector(no_frames());
    const auto chain = fb::CreateChain(fbb_, chain_inputs, chain_outputs, calls, frames);
    std::vector<Offset<fb::BackendDelegate>> delegates;
    for (const Delegate& delegate : method_.delegates) delegates.push_back(make_delegate(delegate));

    // Memory 0 is the constants', and not the arena's.
    std::vector<int64_t> arenas{0};
    for (uint64_t bytes : method_.arena_bytes) arenas.push_back(static_cast<int64_t>(bytes));

    const auto name = fbb_.CreateString(method_.name);
    const auto inputs_encoding = fbb_.CreateString("");
    const auto outputs_encoding = fbb_.CreateString("");
    const auto containers = fb::CreateContainerMetadata(fbb_, inputs_encoding, outputs_encoding);
    const auto values = fbb_.CreateVector(values_);
    const auto inputs = fbb_.CreateVector(method_.inputs);
    const auto outputs = fbb_.CreateVector(method_.outputs);
    const auto chains = fbb_.CreateVector(&chain, 1);
    const auto operators = fbb_.CreateVector(operators_);
    const auto delegate_vector = fbb_.CreateVector(delegates);
    const auto arena_vector = fbb_.CreateVector(arenas);
    return fb::CreateExecutionPlan(fbb_, name, containers, values, inputs, outputs, chains,
                                   operators, delegate_vector, arena_vector);
  }

 private:
  using Made = std::pair<fb::KernelTypes, Offset<void>>;
  using MadeCall = std::pair<fb::InstructionArguments, Offset<void>>;

  static std::vector<Offset<fb::FrameList>> no_frames() { return {}; }

  Made make(None) { return {fb::KernelTypes::Null, fb::CreateNull(fbb_).Union()}; }
  Made make(int64_t value) { return {fb::KernelTypes::Int, fb::CreateInt(fbb_, value).Union()}; }
  Made make(double value) {
    return {fb::KernelTypes::Double, fb::CreateDouble(fbb_, value).Union()};
  }
  Made make(bool value) { return {fb::KernelTypes::Bool, fb::CreateBool(fbb_, value).Union()}; }
  Made make(const std::string& value) {
    return {fb::KernelTypes::String, fb::CreateString(fbb_, fbb_.CreateString(value)).Union()};
  }
  Made make(const IntList& list) {
    std::vector<int64_t> items;
    for (const IntItem& item : list) items.push_back(item.value ? *item.value : literal(item));
    return {fb::KernelTypes::IntList, fb::CreateIntList(fbb_, fbb_.CreateVector(items)).Union()};
  }
  Made make(const DoubleList& list) {
    return {fb::KernelTypes::DoubleList,
            fb::CreateDoubleList(fbb_, fbb_.CreateVector(list)).Union()};
  }
  Made make(const BoolList& list) {
    const std::vector<uint8_t> items(list.begin(), list.end());
    return {fb::KernelTypes::BoolList, fb::CreateBoolList(fbb_, fbb_.CreateVector(items)).Union()};
  }
  Made make(const TensorList& list) {
    return {fb::KernelTypes::TensorList,
            fb::CreateTensorList(fbb_, fbb_.CreateVector(list.tensors)).Union()};
  }
  Made make(const OptionalTensorList& list) {
    std::vector<int32_t> items;
    for (const std::optional<ValueId>& id : list.tensors) items.push_back(id.value_or(-1));
    return {fb::KernelTypes::OptionalTensorList,
            fb::CreateOptionalTensorList(fbb_, fbb_.CreateVector(items)).Union()};
  }
  Made make(const TensorDesc& tensor) {
    std::vector<uint8_t> dim_order = tensor.dim_order;
    if (dim_order.empty()) {
      dim_order.resize(tensor.sizes.size());
      std::iota(dim_order.begin(), dim_order.end(), uint8_t{0});
    }
    const auto sizes = fbb_.CreateVector(tensor.sizes);
    const auto order = fbb_.CreateVector(dim_order);
    uint32_t buffer = 0;
    Offset<fb::AllocationDetails> allocation;
    if (const auto* constant = std::get_if<ConstantData>(&tensor.storage)) {
      buffer = constant->index + 1;
    } else if (const auto* planned = std::get_if<PlannedData>(&tensor.storage)) {
      allocation = fb::CreateAllocationDetails(fbb_, planned->memory_id,
                                               static_cast<uint32_t>(planned->offset),
                                               static_cast<uint32_t>(planned->offset >> 32));
      if (planned->initial_state) buffer = *planned->initial_state + 1;
    }
    return {fb::KernelTypes::Tensor,
            fb::CreateTensor(fbb_, static_cast<fb::ScalarType>(tensor.type),
                             /*storage_offset=*/0, sizes, order, /*requires_grad=*/false, buffer,
                             allocation, /*layout=*/0,
                             static_cast<fb::TensorShapeDynamism>(tensor.dynamism))
                .Union()};
  }

  /// The id of the Int value that stands for a literal in a list, after all the method's values.
  ValueId literal(const IntItem& item) {
    const auto next = static_cast<ValueId>(method_.values.size() + literals_.size());
    const auto [at, added] = literal_ids_.emplace(item.literal, next);
    if (added) literals_.push_back(item.literal);
    return at->second;
  }

  int32_t operator_index(const KernelCall& call) {
    const auto next = static_cast<int32_t>(operators_.size());
    const auto [at, added] = operator_ids_.emplace(std::pair(call.name, call.overload), next);
    if (added) {
      const auto name = fbb_.CreateString(call.name);
      operators_.push_back(fb::CreateOperator(fbb_, name, fbb_.CreateString(call.overload)));
    }
    return at->second;
  }

  MadeCall make_call(const KernelCall& call) {
    const int32_t index = operator_index(call);
    return {fb::InstructionArguments::KernelCall,
            fb::CreateKernelCall(fbb_, index, fbb_.CreateVector(call.args)).Union()};
  }
  MadeCall make_call(const DelegateCall& call) {
    return {fb::InstructionArguments::DelegateCall,
            fb::CreateDelegateCall(fbb_, static_cast<int32_t>(call.delegate),
                                   fbb_.CreateVector(call.args))
                .Union()};
  }
  MadeCall make_call(const JumpFalse& jump) {
    return {fb::InstructionArguments::JumpFalseCall,
            fb::CreateJumpFalseCall(fbb_, jump.args[0], static_cast<int32_t>(jump.target)).Union()};
  }

  Offset<fb::BackendDelegate> make_delegate(const Delegate& delegate) {
    const auto id = fbb_.CreateString(delegate.id);
    const auto data = fb::CreateBackendDelegateDataReference(fbb_, fb::DataLocation::SEGMENT,
                                                             layout_.first_blob + delegate.blob);
    const std::vector<Offset<fb::CompileSpec>> no_specs;
    return fb::CreateBackendDelegate(fbb_, id, data, fbb_.CreateVector(no_specs));
  }

  FlatBufferBuilder& fbb_;
  const Method& method_;
  const Layout& layout_;
  std::vector<Offset<fb::EValue>> values_;
  std::vector<int64_t> literals_;
  std::map<int64_t, ValueId> literal_ids_;
  std::vector<Offset<fb::Operator>> operators_;
  std::map<std::pair<std::string, std::string>, int32_t> operator_ids_;
};

void build_flatbuffer(FlatBufferBuilder& fbb, const Program& program, const Layout& layout) {
  std::vector<Offset<fb::ExecutionPlan>> plans;
  for (const Method& method : program.methods)
    plans.push_back(MethodBuilder(fbb, method, layout).build());
  std::vector<Offset<fb::DataSegment>> segments;
  for (const Layout::Segment& segment : layout.segments)
    segments.push_back(fb::CreateDataSegment(fbb, segment.offset, segment.size));
  std::vector<Offset<fb::NamedData>> named_data;
  for (const NamedData& data : program.named_data) {
    const auto key = fbb.CreateString(data.key);
    named_data.push_back(fb::CreateNamedData(fbb, key, layout.first_blob + data.blob));
  }
  for (size_t i = 0; i < program.named_constants.size(); ++i) {
    const auto key = fbb.CreateString(program.named_constants[i].key);
    const auto segment = layout.first_named_constant + static_cast<uint32_t>(i);
    named_data.push_back(fb::CreateNamedData(fbb, key, segment));
  }
  const auto make_offsets = [&fbb](const Layout::Pool& pool) {
    return fb::CreateSubsegmentOffsets(fbb, pool.segment, fbb.CreateVector(pool.offsets));
  };
  // The one of constants must be there even if there are none.
  const auto constant_segment = make_offsets(layout.constants);
  std::vector<Offset<fb::SubsegmentOffsets>> mutable_segments;
  if (!program.initial_states.empty())
    mutable_segments.push_back(make_offsets(layout.initial_states));
  const auto plan_vector = fbb.CreateVector(plans);
  const auto segment_vector = fbb.CreateVector(segments);
  const auto named_data_vector = fbb.CreateVector(named_data);
  const auto mutable_segment_vector = fbb.CreateVector(mutable_segments);
  fb::ProgramBuilder builder(fbb);
  builder.add_version(0);
  builder.add_execution_plan(plan_vector);
  builder.add_segments(segment_vector);
  builder.add_constant_segment(constant_segment);
  builder.add_mutable_data_segments(mutable_segment_vector);
  builder.add_named_data(named_data_vector);
  fb::FinishProgramBuffer(fbb, builder.Finish());
}

/// Passes bytes on and knows how many there were.
class CountingSink : public ByteSink {
 public:
  explicit CountingSink(ByteSink& sink) : sink_(sink) {}

  void write(std::span<const std::byte> bytes) override {
    sink_.write(bytes);
    position_ += bytes.size();
  }
  void lend(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) override {
    sink_.lend(bytes, owner);
    position_ += bytes.size();
  }
  void write_little_endian(uint64_t value, size_t size) {
    std::array<std::byte, 8> bytes;
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
    write(std::span(bytes).first(size));
  }
  void write_data(const DataSource& data) {
    const uint64_t start = position_;
    if (data.size > 0) data.write(*this);
    LAYLINE_ASSERT(position_ - start == data.size, "{} bytes announced, {} written", data.size,
                   position_ - start);
  }
  /// Writes zeros up to `position`, which is less than a segment's alignment away.
  void pad_to(uint64_t position) {
    static constexpr std::array<std::byte, kSegmentAlignment> kZeros{};
    LAYLINE_ASSERT(position >= position_ && position - position_ < kZeros.size(),
                   "padding from {} to {}", position_, position);
    write(std::span(kZeros).first(position - position_));
  }

 private:
  ByteSink& sink_;
  uint64_t position_ = 0;
};

}  // namespace

void write_program(const Program& program, ByteSink& sink) {
  check_program(program);
  const Layout layout(program);
  FlatBufferBuilder fbb;
  build_flatbuffer(fbb, program, layout);
  const auto flatbuffer = std::as_bytes(std::span(fbb.GetBufferPointer(), fbb.GetSize()));

  // The extended header goes between the file identifier and the rest: the root table, and nothing
  // else that is addressed from byte 0, moves by its size.
  const uint64_t program_size = flatbuffer.size() + kHeaderSize;
  const uint64_t segment_base =
      layout.segments.empty() ? 0 : align_up(program_size, kSegmentAlignment);
  const auto root = flatbuffers::ReadScalar<uint32_t>(flatbuffer.data()) + kHeaderSize;

  sink.expect(layout.segments.empty() ? program_size : segment_base + layout.size);
  CountingSink out(sink);
  out.write_little_endian(root, 4);
  out.write(flatbuffer.subspan(4, 4));
  out.write(std::as_bytes(std::span("eh00", 4)));
  out.write_little_endian(kHeaderSize, 4);
  out.write_little_endian(program_size, 8);
  out.write_little_endian(segment_base, 8);
  out.write_little_endian(layout.size, 8);
  out.write(flatbuffer.subspan(kHeaderOffset));

  const auto write_pool = [&](const std::vector<DataSource>& sources, const Layout::Pool& pool) {
    if (sources.empty()) return;
    const Layout::Segment& segment = layout.segments[pool.segment];
    const uint64_t start = segment_base + segment.offset;
    for (size_t i = 0; i < sources.size(); ++i) {
      out.pad_to(start + pool.offsets[i + 1]);
      out.write_data(sources[i]);
    }
    out.pad_to(start + segment.size);
  };
  write_pool(program.constants, layout.constants);
  write_pool(program.initial_states, layout.initial_states);
  for (size_t i = 0; i < program.blobs.size(); ++i) {
    out.pad_to(segment_base + layout.segments[layout.first_blob + i].offset);
    out.write_data(program.blobs[i]);
  }
}

bool begins_as_program(std::span<const std::byte> file) {
  return file.size() > 8 && file[4] == std::byte{'E'} && file[5] == std::byte{'T'};
}

bool is_program(std::string_view path, std::span<const std::byte> file) {
  return path.ends_with(".pte") || begins_as_program(file);
}

}  // namespace layline::pte
