// Programs as they are read back, whoever wrote them: what is counted, and that a damaged one is
// refused and never read beyond its end.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <layline/sources.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "base/sink.h"
#include "ir/text.h"
#include "pte/debug_map.h"
#include "pte/writer.h"
#include "pte_reader.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/program_facts.h"

namespace layline {
namespace {

namespace et = executorch_flatbuffer;
using Bytes = std::vector<std::byte>;

Bytes compiled(std::string_view body, const xnnpack::LowerOptions& options = {}) {
  Report report;
  MemorySink sink;
  const auto graphs = parse_graphs(fmt::format("graph \"forward\" {{ {} }}", body), "test");
  pte::write_program(xnnpack::lower(graphs, report, options), sink);
  return sink.take();
}

constexpr std::string_view kGraph =
    "input \"x\" %x : f32[4,3] %a = tanh(%x) %s = sign(%a) %t = relayout(%s) { relayout = [4,3] "
    "(4,3)->(1,0) [3,4] } %i = convert(%t) { to = i32 } %u = relayout(%i) { relayout = [3,4] "
    "(3,4)->(1,0) [4,3] } output \"u\" %u";

TEST(ProgramFacts, AreCounted) {
  const Bytes bytes = compiled(kGraph);
  const xnnpack::ProgramFacts facts = xnnpack::read_facts(bytes, "p");
  EXPECT_EQ(facts.file_bytes, static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(facts.methods, std::vector<std::string>{"forward"});
  EXPECT_EQ(facts.delegates, 2);
  EXPECT_EQ(facts.transposes, 2);  // one in a delegate, one outside
  EXPECT_EQ(facts.kernels,
            (std::map<std::string, int64_t>{
                {"aten::sign.out", 1}, {"aten::_to_copy.out", 1}, {"aten::permute_copy.out", 1}}));
  EXPECT_EQ(facts.operators, (std::map<std::string, int64_t>{{"Tanh", 1}, {"StaticTranspose", 1}}));
  const PteReader reader(bytes);
  int64_t segments = 0, arenas = 0;
  for (const auto* segment : *reader.program().segments())
    segments += static_cast<int64_t>(segment->size());
  for (const int64_t size : *reader.plan().non_const_buffer_sizes()) arenas += size;
  EXPECT_EQ(facts.segment_bytes, segments);
  EXPECT_EQ(facts.arena_bytes, arenas);
}

std::string error_of(const Bytes& bytes) {
  try {
    xnnpack::read_facts(bytes, "p");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

/// The program with a number written somewhere.
template <typename Number>
Bytes patched(Bytes bytes, size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
  return bytes;
}

TEST(ProgramFile, RefusesWhatIsCutOff) {
  const Bytes whole = compiled(kGraph);
  EXPECT_EQ(error_of({}), "'p' is no ExecuTorch program");
  EXPECT_EQ(error_of(Bytes(whole.begin(), whole.begin() + 8)), "'p' is no ExecuTorch program");
  EXPECT_NE(error_of(Bytes(whole.begin(), whole.begin() + 9)), "");
  EXPECT_EQ(error_of(Bytes(whole.begin(), whole.begin() + 64)), "'p' is cut off");
  // The flatbuffer's size, and where the segments begin, in the extended header.
  const uint64_t size = whole.size();
  EXPECT_EQ(error_of(patched(whole, 16, size)), "");
  EXPECT_EQ(error_of(patched(whole, 16, size + 1)), "'p' is cut off");
  EXPECT_EQ(error_of(patched(whole, 24, size + 1)), "'p' is cut off");
  EXPECT_EQ(error_of(patched(whole, 24, size)), "'p' is cut off");
  EXPECT_EQ(error_of(patched(whole, 16, uint64_t{40})), "'p' is damaged");
}

/// Where the header of the first payload begins.
size_t payload_of(const Bytes& bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.find("XH00") - 4;
}

TEST(ProgramFile, RefusesPayloadsThatEndOutside) {
  const Bytes whole = compiled("input \"x\" %x : f32[4] %y = tanh(%x) output \"y\" %y");
  const PteReader reader(whole);
  const size_t at = payload_of(whole);
  const auto bytes = static_cast<uint32_t>(
      reader.segment(reader.plan().delegates()->Get(0)->processed()->index()).size());
  const auto size = read_at<uint32_t>(whole, at + 14);
  EXPECT_EQ(error_of(patched(whole, at + 14, bytes - 32)), "");
  EXPECT_EQ(error_of(patched(whole, at + 14, bytes - 31)), "'p' is damaged");
  EXPECT_EQ(error_of(patched(whole, at + 14, size / 2)), "'p' has a damaged delegate");
  EXPECT_EQ(error_of(patched(whole, at + 10, bytes + 1)), "'p' is damaged");
  EXPECT_EQ(error_of(patched(patched(whole, at + 10, bytes), at + 14, uint32_t{0})),
            "'p' has a damaged delegate");
  // Without the header the graph begins with the payload.
  EXPECT_EQ(error_of(patched(whole, at + 4, uint32_t{0})), "'p' has a damaged delegate");
}

/// A program with one method of one instruction, without a header, as others may write it.
struct Foreign {
  et::ProgramT program;
  et::ExecutionPlanT& plan() { return *program.execution_plan[0]; }

  Foreign() {
    program.execution_plan.push_back(std::make_unique<et::ExecutionPlanT>());
    plan().name = "forward";
    plan().chains.push_back(std::make_unique<et::ChainT>());
  }
  void call_kernel(int32_t index) {
    et::KernelCallT call;
    call.op_index = index;
    instruct().Set(std::move(call));
  }
  void call_delegate(int32_t index) {
    et::DelegateCallT call;
    call.delegate_index = index;
    instruct().Set(std::move(call));
  }
  et::InstructionArgumentsUnion& instruct() {
    auto& instructions = plan().chains[0]->instructions;
    instructions.push_back(std::make_unique<et::InstructionT>());
    return instructions.back()->instr_args;
  }
  void add_operator(const std::string& name, const std::string& overload) {
    plan().operators.push_back(std::make_unique<et::OperatorT>());
    plan().operators.back()->name = name;
    plan().operators.back()->overload = overload;
  }
  et::BackendDelegateT& add_delegate(const std::string& id, et::DataLocation where,
                                     uint32_t index) {
    plan().delegates.push_back(std::make_unique<et::BackendDelegateT>());
    et::BackendDelegateT& delegate = *plan().delegates.back();
    delegate.id = id;
    delegate.processed = std::make_unique<et::BackendDelegateDataReferenceT>();
    delegate.processed->location = where;
    delegate.processed->index = index;
    return delegate;
  }
  void add_inline(const std::vector<std::byte>& data) {
    program.backend_delegate_data.push_back(std::make_unique<et::BackendDelegateInlineDataT>());
    for (const std::byte b : data)
      program.backend_delegate_data.back()->data.push_back(static_cast<uint8_t>(b));
  }
  void add_segment(uint64_t offset, uint64_t size) {
    program.segments.push_back(std::make_unique<et::DataSegmentT>());
    program.segments.back()->offset = offset;
    program.segments.back()->size = size;
  }
  Bytes bytes() const {
    flatbuffers::FlatBufferBuilder fbb;
    et::FinishProgramBuffer(fbb, et::Program::Pack(fbb, &program));
    const auto* begin = reinterpret_cast<const std::byte*>(fbb.GetBufferPointer());
    return {begin, begin + fbb.GetSize()};
  }
};

/// The payload of one tanh.
Bytes payload() {
  const Bytes whole = compiled("input \"x\" %x : f32[4] %y = tanh(%x) output \"y\" %y");
  const PteReader reader(whole);
  const auto segment = reader.segment(reader.plan().delegates()->Get(0)->processed()->index());
  return {segment.begin(), segment.end()};
}

TEST(ProgramFile, ReadsWhatOthersWrite) {
  Foreign foreign;
  foreign.add_operator("aten::t_copy", "");
  foreign.add_operator("aten::transpose_copy", "int_out");
  foreign.add_operator("aten::tanh", "out");
  for (const int32_t index : {0, 1, 1, 2}) foreign.call_kernel(index);
  foreign.add_inline({});
  foreign.add_inline(payload());
  foreign.add_delegate("XnnpackBackend", et::DataLocation::INLINE, 1);
  foreign.add_delegate("OtherBackend", et::DataLocation::INLINE, 9);
  foreign.add_delegate("XnnpackBackend", et::DataLocation::INLINE, 1).processed.reset();
  for (const int32_t index : {0, 1, 2}) foreign.call_delegate(index);
  const xnnpack::ProgramFacts facts = xnnpack::read_facts(foreign.bytes(), "p");
  EXPECT_EQ(facts.kernels,
            (std::map<std::string, int64_t>{
                {"aten::t_copy", 1}, {"aten::transpose_copy.int_out", 2}, {"aten::tanh.out", 1}}));
  EXPECT_EQ(facts.transposes, 3);
  EXPECT_EQ(facts.delegates, 3);
  EXPECT_EQ(facts.operators, (std::map<std::string, int64_t>{{"Tanh", 1}}));
  EXPECT_EQ(facts.segment_bytes, 0);
}

TEST(ProgramFile, NamesMayBeMissing) {
  Foreign foreign;
  foreign.plan().name.clear();
  foreign.add_delegate("", et::DataLocation::INLINE, 9);
  foreign.call_delegate(0);
  EXPECT_EQ(xnnpack::read_facts(foreign.bytes(), "p").delegates, 1);
  EXPECT_TRUE(ProgramSources::read(foreign.bytes(), "p").places().empty());
  foreign.program.named_data.push_back(std::make_unique<et::NamedDataT>());
  EXPECT_TRUE(ProgramSources::read(foreign.bytes(), "p").places().empty());
}

TEST(ProgramFile, AGraphHasNodes) {
  flatbuffers::FlatBufferBuilder fbb;
  fb_xnnpack::FinishXNNGraphBuffer(fbb, fb_xnnpack::CreateXNNGraph(fbb));
  const auto* begin = reinterpret_cast<const std::byte*>(fbb.GetBufferPointer());
  Foreign foreign;
  foreign.add_inline(Bytes(begin, begin + fbb.GetSize()));
  foreign.add_delegate("XnnpackBackend", et::DataLocation::INLINE, 0);
  foreign.call_delegate(0);
  EXPECT_EQ(error_of(foreign.bytes()), "'p' has a damaged delegate");
}

TEST(ProgramFile, APayloadMayHaveNoHeader) {
  Foreign foreign;
  const Bytes whole = payload();
  foreign.add_inline(Bytes(whole.begin() + 32, whole.end()));
  foreign.add_delegate("XnnpackBackend", et::DataLocation::INLINE, 0);
  foreign.call_delegate(0);
  EXPECT_EQ(xnnpack::read_facts(foreign.bytes(), "p").operators,
            (std::map<std::string, int64_t>{{"Tanh", 1}}));
}

/// What of a header is cut off is nothing.
TEST(ProgramFile, RefusesPayloadsShorterThanTheirHeaders) {
  const Bytes whole = payload();
  ASSERT_EQ(read_at<uint32_t>(whole, 10), 32u);
  const auto error_with = [&](size_t size) {
    Foreign foreign;
    foreign.add_inline(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    foreign.add_delegate("XnnpackBackend", et::DataLocation::INLINE, 0);
    foreign.call_delegate(0);
    return error_of(foreign.bytes());
  };
  for (size_t size = 1; size < 14; ++size)
    EXPECT_EQ(error_with(size), "'p' has a damaged delegate") << size;
  // From here on it says that the graph begins behind the end.
  for (size_t size = 14; size < 32; ++size) EXPECT_EQ(error_with(size), "'p' is damaged") << size;
  EXPECT_EQ(error_with(whole.size()), "");
  // It begins where the payload ends, and has no size.
  Bytes none(whole.begin(), whole.begin() + 17);
  EXPECT_EQ(error_of([&] {
              Foreign foreign;
              foreign.add_inline(patched(none, 10, uint32_t{17}));
              foreign.add_delegate("XnnpackBackend", et::DataLocation::INLINE, 0);
              foreign.call_delegate(0);
              return foreign.bytes();
            }()),
            "'p' has a damaged delegate");
}

TEST(ProgramFile, RefusesFilesShorterThanTheirHeaders) {
  const Bytes whole = compiled(kGraph);
  const auto error_with = [](const Bytes& bytes, size_t size) {
    return error_of(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
  };
  for (size_t size = 9; size < 24; ++size) EXPECT_EQ(error_with(whole, size), "'p' is damaged");
  for (size_t size = 24; size < 40; ++size) EXPECT_EQ(error_with(whole, size), "'p' is cut off");
  // A flatbuffer that is there, in a file that ends before or after the place of its segments.
  const Bytes small = patched(whole, 16, uint64_t{16});
  EXPECT_EQ(error_with(small, 31), "'p' is damaged");
  EXPECT_EQ(error_with(small, 32), "'p' is cut off");
}

/// The program of a tanh and an exponential, with another debug map.
ProgramSources sources_with(const std::vector<pte::DebugOrigin>& origins,
                            const std::vector<uint32_t>& instructions) {
  Report report;
  const auto graphs = parse_graphs(
      "graph \"forward\" { input \"x\" %x : f32[4] %y = tanh(%x) %z = exp(%y) output \"z\" %z }",
      "test");
  pte::Program program = xnnpack::lower(graphs, report);
  const std::string text = pte::write_debug_map({{"forward", origins, instructions}});
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  for (const pte::NamedData& data : program.named_data)
    if (data.key == pte::kDebugMapKey)
      program.blobs[data.blob] = pte::DataSource::owned(Bytes(begin, begin + text.size()));
  MemorySink sink;
  pte::write_program(program, sink);
  return ProgramSources::read(sink.bytes(), "p");
}

TEST(ProgramSources, TheMapMayKnowLessOrMoreThanThereIs) {
  const std::vector<std::string> names = {"TanH (NC) #1", "Exp (NC) #1"};
  const pte::DebugOrigin one{"y", "tanh", "", ""}, two{"z", "exp", "", ""};
  using Found = std::vector<uint32_t>;
  EXPECT_EQ(sources_with({one, two}, {0}).operators(0, names), (Found{1, 2}));
  EXPECT_EQ(sources_with({one}, {0}).operators(0, names), (Found{1, 0}));
  EXPECT_EQ(sources_with({}, {0}).operators(0, names), (Found{0, 0}));
  EXPECT_EQ(sources_with({one, two}, {}).operators(0, names), (Found{0, 0}));
  const ProgramSources more = sources_with({one, two}, {0, 2, 1});
  EXPECT_EQ(more.operators(0, names), (Found{1, 2}));
  EXPECT_EQ(more.operators(1, names), (Found{0, 0}));
  EXPECT_EQ(more.operators(3, names), (Found{0, 0}));
  EXPECT_EQ(more.kernel(1), 2u);
  EXPECT_EQ(more.kernel(2), 1u);
  EXPECT_EQ(more.kernel(3), 0u);
}

TEST(ProgramFile, RefusesIndicesOfWhatIsNotThere) {
  const auto damaged = [](const std::function<void(Foreign&)>& damage) {
    Foreign foreign;
    damage(foreign);
    return error_of(foreign.bytes());
  };
  EXPECT_EQ(damaged([](Foreign&) {}), "");
  EXPECT_EQ(damaged([](Foreign& f) { f.plan().chains.clear(); }), "");
  EXPECT_EQ(damaged([](Foreign& f) { f.program.execution_plan.clear(); }), "'p' is damaged");
  EXPECT_EQ(damaged([](Foreign& f) { f.call_kernel(0); }), "'p' is damaged");
  EXPECT_EQ(damaged([](Foreign& f) {
              f.add_operator("aten::tanh", "out");
              f.call_kernel(0);
            }),
            "");
  for (const int32_t index : {1, -1})
    EXPECT_EQ(damaged([&](Foreign& f) {
                f.add_operator("aten::tanh", "out");
                f.call_kernel(index);
              }),
              "'p' is damaged");
  EXPECT_EQ(damaged([](Foreign& f) { f.call_delegate(0); }), "'p' is damaged");
  const auto with_delegate = [&](et::DataLocation where, uint32_t data, int32_t called,
                                 uint64_t offset, uint64_t size) {
    return damaged([&](Foreign& f) {
      f.add_inline(payload());
      f.add_segment(offset, size);
      f.add_delegate("XnnpackBackend", where, data);
      f.call_delegate(called);
    });
  };
  EXPECT_EQ(with_delegate(et::DataLocation::INLINE, 0, 0, 0, 0), "");
  EXPECT_EQ(with_delegate(et::DataLocation::INLINE, 1, 0, 0, 0), "'p' is damaged");
  EXPECT_EQ(with_delegate(et::DataLocation::INLINE, 0, 1, 0, 0), "'p' is damaged");
  // Segments are counted from the beginning of a file without a header: it holds no payload there.
  EXPECT_EQ(with_delegate(et::DataLocation::SEGMENT, 0, 0, 0, 16), "'p' has a damaged delegate");
  EXPECT_EQ(with_delegate(et::DataLocation::SEGMENT, 1, 0, 0, 16), "'p' is damaged");
  EXPECT_EQ(with_delegate(et::DataLocation::SEGMENT, 0, 0, 0, 1 << 30), "'p' is cut off");
  EXPECT_EQ(with_delegate(et::DataLocation::SEGMENT, 0, 0, 1 << 30, 0), "'p' is cut off");
  EXPECT_EQ(with_delegate(et::DataLocation::SEGMENT, 0, 0, 16, ~uint64_t{0}), "'p' is cut off");
  EXPECT_EQ(damaged([](Foreign& f) {
              f.add_delegate("XnnpackBackend", et::DataLocation::INLINE, 0);
              f.call_delegate(0);
            }),
            "'p' is damaged");
  EXPECT_EQ(damaged([](Foreign& f) {
              f.add_delegate("XnnpackBackend", et::DataLocation::SEGMENT, 0);
              f.call_delegate(0);
            }),
            "'p' is damaged");
  EXPECT_EQ(damaged([](Foreign& f) {
              f.add_inline({});
              f.add_delegate("XnnpackBackend", et::DataLocation::INLINE, 0);
              f.call_delegate(0);
            }),
            "'p' is damaged");
}

/// A delegate of as many nodes as there are letters: t is a tanh, e an exponential.
ProgramSources sources_of(std::string_view letters) {
  std::string body = "input \"x\" %v0 : f32[4] ";
  for (size_t i = 0; i < letters.size(); ++i)
    body += fmt::format("%v{} = {}(%v{}) ", i + 1, letters[i] == 't' ? "tanh" : "exp", i);
  return ProgramSources::read(compiled(body + fmt::format("output \"y\" %v{}", letters.size())),
                              "p");
}

using Handles = std::vector<uint32_t>;

TEST(ProgramSources, TheFewestAreLeftOut) {
  const std::string tanh = "TanH (NC) #1", exp = "Exp (NC) #1", other = "Sigmoid (NC) #1";
  // Of two ways that leave out two, the one that leaves out no operator.
  EXPECT_EQ(sources_of("ttee").operators(0, {exp, exp}), (Handles{3, 4}));
  EXPECT_EQ(sources_of("tete").operators(0, {tanh, tanh, exp}), (Handles{1, 3, 4}));
  EXPECT_EQ(sources_of("te").operators(0, {other, other, tanh, exp}), (Handles{0, 0, 1, 2}));
  EXPECT_EQ(sources_of("te").operators(0, {tanh, exp, exp}), (Handles{1, 2, 0}));
  EXPECT_EQ(sources_of("te").operators(1, {tanh}), Handles{0});
  // A clamp is the range of the one before it, and of none if it is the first.
  EXPECT_EQ(sources_of("te").operators(0, {"Clamp (NC) #1", tanh, "Clamp (NC) #2"}),
            (Handles{0, 1, 1}));
}

TEST(ProgramSources, EveryMethodHasItsOwn) {
  Report report;
  MemorySink sink;
  const auto graphs = parse_graphs(
      "graph \"a\" { input \"x\" %x : f32[4] %y = tanh(%x) output \"y\" %y }\n"
      "graph \"b\" { input \"x\" %x : f32[4] %z = exp(%x) output \"z\" %z }",
      "test");
  pte::write_program(xnnpack::lower(graphs, report), sink);
  const std::vector<std::string> names = {"TanH (NC) #1", "Exp (NC) #1"};
  EXPECT_EQ(ProgramSources::read(sink.bytes(), "p", "a").operators(0, names), (Handles{1, 0}));
  EXPECT_EQ(ProgramSources::read(sink.bytes(), "p", "b").operators(0, names), (Handles{0, 1}));
}

TEST(ProgramSources, WhatIsMoreThan32ApartIsNotRelated) {
  const std::string exp = "Exp (NC) #1";
  EXPECT_EQ(sources_of(std::string(32, 't') + "e").operators(0, {exp}), Handles{33});
  EXPECT_EQ(sources_of(std::string(33, 't') + "e").operators(0, {exp}), Handles{0});
}

}  // namespace
}  // namespace layline
