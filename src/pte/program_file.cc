#include "pte/program_file.h"

#include <bit>

#include "base/error.h"
#include "pte/writer.h"

namespace layline::pte {
namespace {

namespace et = executorch_flatbuffer;
using Bytes = ProgramFile::Bytes;

static_assert(std::endian::native == std::endian::little, "headers are read as they lie");

}  // namespace

bool has_magic(Bytes bytes, size_t at, std::string_view magic) {
  return at + magic.size() <= bytes.size() &&
         std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

ProgramFile::ProgramFile(Bytes file, const std::string& name) : file_(file), name_(name) {
  if (!begins_as_program(file)) fail("is no ExecuTorch program");
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

ProgramFile::Delegate ProgramFile::delegate(const et::ExecutionPlan& plan,
                                            const et::DelegateCall& call) const {
  const auto index = static_cast<uint32_t>(call.delegate_index());
  if (plan.delegates() == nullptr || index >= plan.delegates()->size()) fail("is damaged");
  const et::BackendDelegate* delegate = plan.delegates()->Get(index);
  if (delegate->id() == nullptr || delegate->processed() == nullptr) return {};
  return {delegate->id()->string_view(), payload(*delegate->processed())};
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

}  // namespace layline::pte
