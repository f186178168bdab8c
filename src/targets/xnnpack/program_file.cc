#include "targets/xnnpack/program_file.h"

#include <bit>
#include <cstring>

#include "base/error.h"
#include "pte/writer.h"

namespace layline {
namespace {

namespace et = executorch_flatbuffer;
using Bytes = ProgramFile::Bytes;

static_assert(std::endian::native == std::endian::little, "headers are read as they lie");

constexpr std::string_view kXnnpack = "XnnpackBackend";

template <typename T>
T read_at(Bytes bytes, size_t at) {
  T value{};
  if (at + sizeof value > bytes.size()) return value;
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

}  // namespace

ProgramFile::ProgramFile(Bytes file, const std::string& name) : file_(file), name_(name) {
  if (!pte::begins_as_program(file)) fail("is no ExecuTorch program");
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

void ProgramFile::fail(std::string_view what) const { throw UserError("'{}' {}", name_, what); }

const et::Operator& ProgramFile::kernel(const et::ExecutionPlan& plan,
                                        const et::KernelCall& call) const {
  const auto index = static_cast<uint32_t>(call.op_index());
  if (plan.operators() == nullptr || index >= plan.operators()->size()) fail("is damaged");
  return *plan.operators()->Get(index);
}

const fb_xnnpack::XNNGraph* ProgramFile::xnnpack_graph(const et::ExecutionPlan& plan,
                                                       const et::DelegateCall& call) const {
  const auto index = static_cast<uint32_t>(call.delegate_index());
  if (plan.delegates() == nullptr || index >= plan.delegates()->size()) fail("is damaged");
  const et::BackendDelegate* delegate = plan.delegates()->Get(index);
  if (delegate->id() == nullptr || delegate->id()->string_view() != kXnnpack ||
      delegate->processed() == nullptr)
    return nullptr;
  Bytes bytes = payload(*delegate->processed());
  // Offset and size of the graph follow the header's magic and its own size (payload.h).
  if (has_magic(bytes, 4, "XH00")) {
    const auto offset = read_at<uint32_t>(bytes, 10);
    const auto size = read_at<uint32_t>(bytes, 14);
    if (offset > bytes.size() || size > bytes.size() - offset) fail("is damaged");
    bytes = bytes.subspan(offset, size);
  }
  const auto* graph = verified<fb_xnnpack::XNNGraph>(bytes);
  if (graph == nullptr || graph->xnodes() == nullptr) fail("has a damaged delegate");
  return graph;
}

std::optional<Bytes> ProgramFile::named_data(std::string_view key) const {
  if (program_->named_data() == nullptr) return std::nullopt;
  for (const et::NamedData* data : *program_->named_data())
    if (data->key() != nullptr && data->key()->string_view() == key)
      return segment(data->segment_index());
  return std::nullopt;
}

Bytes ProgramFile::segment(uint32_t index) const {
  const auto* segments = program_->segments();
  if (segments == nullptr || index >= segments->size()) fail("is damaged");
  const et::DataSegment* segment = segments->Get(index);
  const Bytes rest = file_.subspan(segments_at_);
  if (segment->offset() > rest.size() || segment->size() > rest.size() - segment->offset())
    fail("is cut off");
  return rest.subspan(segment->offset(), segment->size());
}

Bytes ProgramFile::payload(const et::BackendDelegateDataReference& place) const {
  if (place.location() != et::DataLocation::INLINE) return segment(place.index());
  const auto* data = program_->backend_delegate_data();
  if (data == nullptr || place.index() >= data->size() ||
      data->Get(place.index())->data() == nullptr)
    fail("is damaged");
  const auto* bytes = data->Get(place.index())->data();
  return {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()};
}

}  // namespace layline
