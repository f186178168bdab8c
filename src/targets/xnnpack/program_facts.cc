#include "targets/xnnpack/program_facts.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "schema/program_generated.h"
#include "schema/xnnpack_generated.h"

namespace layline {
namespace {

namespace et = executorch_flatbuffer;
using Bytes = std::span<const std::byte>;

static_assert(std::endian::native == std::endian::little, "headers are read as they lie");

constexpr std::string_view kXnnpack = "XnnpackBackend";

template <typename T>
T read_at(Bytes bytes, size_t at) {
  T value{};
  if (bytes.size() < sizeof value || at > bytes.size() - sizeof value) return value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool has_magic(Bytes bytes, size_t at, std::string_view magic) {
  return at + magic.size() <= bytes.size() &&
         std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

template <typename Table>
const Table* verified(Bytes bytes) {
  constexpr int kMaxDepth = 64, kMaxTables = 100'000'000;
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                 kMaxDepth, kMaxTables, /*check_alignment=*/false);
  return verifier.VerifyBuffer<Table>(nullptr) ? flatbuffers::GetRoot<Table>(bytes.data())
                                               : nullptr;
}

/// Moves no data if all axes but one have size 1, which only the values tell; counted all the same,
/// as whoever reads the file would.
bool is_transpose(std::string_view kernel) {
  for (const std::string_view name : {"permute_copy", "transpose_copy", "t_copy"})
    if (kernel.substr(kernel.find("::") + 2).starts_with(name)) return true;
  return false;
}

class Reader {
 public:
  Reader(Bytes file, const std::string& name) : file_(file), name_(name) {
    if (!has_magic(file, 4, "ET")) fail("is no ExecuTorch program");
    Bytes flatbuffer = file;
    // The extended header: where the flatbuffer ends and the segments begin.
    if (has_magic(file, 8, "eh00")) {
      const auto size = read_at<uint64_t>(file, 16);
      segments_at_ = read_at<uint64_t>(file, 24);
      if (size > file.size() || segments_at_ > file.size()) fail("is cut off");
      flatbuffer = file.first(size);
    }
    program_ = verified<et::Program>(flatbuffer);
    if (program_ == nullptr || program_->execution_plan() == nullptr) fail("is damaged");
  }

  ProgramFacts read() {
    facts_.file_bytes = static_cast<int64_t>(file_.size());
    if (program_->segments() != nullptr)
      for (const et::DataSegment* segment : *program_->segments())
        facts_.segment_bytes += static_cast<int64_t>(segment->size());
    for (const et::ExecutionPlan* plan : *program_->execution_plan()) read_method(*plan);
    return std::move(facts_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const { throw UserError("'{}' {}", name_, what); }

  void read_method(const et::ExecutionPlan& plan) {
    facts_.methods.push_back(plan.name() != nullptr ? plan.name()->str() : "");
    if (plan.non_const_buffer_sizes() != nullptr)
      for (const int64_t size : *plan.non_const_buffer_sizes()) facts_.arena_bytes += size;
    if (plan.chains() == nullptr) return;
    for (const et::Chain* chain : *plan.chains()) {
      if (chain->instructions() == nullptr) continue;
      for (const et::Instruction* instruction : *chain->instructions()) {
        if (const auto* call = instruction->instr_args_as_KernelCall()) read_kernel(plan, *call);
        if (const auto* call = instruction->instr_args_as_DelegateCall())
          read_delegate(plan, *call);
      }
    }
  }

  void read_kernel(const et::ExecutionPlan& plan, const et::KernelCall& call) {
    const auto index = static_cast<uint32_t>(call.op_index());
    if (plan.operators() == nullptr || index >= plan.operators()->size()) fail("is damaged");
    const et::Operator* op = plan.operators()->Get(index);
    std::string kernel = op->name() != nullptr ? op->name()->str() : "";
    if (is_transpose(kernel)) ++facts_.transposes;
    if (op->overload() != nullptr && op->overload()->size() > 0)
      kernel += "." + op->overload()->str();
    ++facts_.kernels[kernel];
  }

  void read_delegate(const et::ExecutionPlan& plan, const et::DelegateCall& call) {
    ++facts_.delegates;
    const auto index = static_cast<uint32_t>(call.delegate_index());
    if (plan.delegates() == nullptr || index >= plan.delegates()->size()) fail("is damaged");
    const et::BackendDelegate* delegate = plan.delegates()->Get(index);
    if (delegate->id() == nullptr || delegate->id()->string_view() != kXnnpack ||
        delegate->processed() == nullptr)
      return;
    read_payload(payload(*delegate->processed()));
  }

  Bytes payload(const et::BackendDelegateDataReference& place) const {
    const uint32_t index = place.index();
    if (place.location() == et::DataLocation::INLINE) {
      const auto* data = program_->backend_delegate_data();
      if (data == nullptr || index >= data->size() || data->Get(index)->data() == nullptr)
        fail("is damaged");
      const auto* bytes = data->Get(index)->data();
      return {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()};
    }
    const auto* segments = program_->segments();
    if (segments == nullptr || index >= segments->size()) fail("is damaged");
    const et::DataSegment* segment = segments->Get(index);
    const Bytes rest = file_.subspan(segments_at_);
    if (segment->offset() > rest.size() || segment->size() > rest.size() - segment->offset())
      fail("is cut off");
    return rest.subspan(segment->offset(), segment->size());
  }

  void read_payload(Bytes payload) {
    // Offset and size of the graph follow the header's magic and its own size (payload.h).
    if (has_magic(payload, 4, "XH00")) {
      const auto offset = read_at<uint32_t>(payload, 10);
      const auto size = read_at<uint32_t>(payload, 14);
      if (offset > payload.size() || size > payload.size() - offset) fail("is damaged");
      payload = payload.subspan(offset, size);
    }
    const auto* graph = verified<fb_xnnpack::XNNGraph>(payload);
    if (graph == nullptr || graph->xnodes() == nullptr) fail("has a damaged delegate");
    for (const fb_xnnpack::XNode* node : *graph->xnodes()) {
      const auto kind = node->xnode_union_type();
      std::string_view name = fb_xnnpack::EnumNameXNodeUnion(kind);
      if (name.starts_with("XNN")) name.remove_prefix(3);
      ++facts_.operators[std::string(name)];
      facts_.transposes += kind == fb_xnnpack::XNodeUnion::XNNStaticTranspose;
    }
  }

  Bytes file_;
  const std::string& name_;
  uint64_t segments_at_ = 0;
  const et::Program* program_ = nullptr;
  ProgramFacts facts_;
};

}  // namespace

ProgramFacts read_facts(std::span<const std::byte> program, const std::string& name) {
  return Reader(program, name).read();
}

}  // namespace layline
