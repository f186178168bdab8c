// An ExecuTorch program as it lies in its file, whoever wrote it. What a reader follows (headers,
// offsets, flatbuffers) is checked before it is used: UserError for what is damaged.
//
// The runtime's libraries verify flatbuffers with inline functions that have the same names, but
// belong to another version of flatbuffers. So files that include this one are compiled with hidden
// symbols (CMakeLists.txt); otherwise our functions would take the place of theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schema/program_generated.h"

namespace layline::pte {

class ProgramFile {
 public:
  using Bytes = std::span<const std::byte>;

  /// `name` stands for the program in messages; both must outlive this.
  ProgramFile(Bytes file, const std::string& name);

  const executorch_flatbuffer::Program& program() const { return *program_; }

  /// The operator that a call runs, or its delegate.
  const executorch_flatbuffer::Operator& kernel(
      const executorch_flatbuffer::ExecutionPlan& plan,
      const executorch_flatbuffer::KernelCall& call) const;
  const executorch_flatbuffer::BackendDelegate& delegate(
      const executorch_flatbuffer::ExecutionPlan& plan,
      const executorch_flatbuffer::DelegateCall& call) const;
  /// What a delegate's backend is given to run.
  Bytes payload(const executorch_flatbuffer::BackendDelegateDataReference& place) const;

  std::optional<Bytes> named_data(std::string_view key) const;

  /// Throws a UserError that says "the program `what`".
  [[noreturn]] void fail(std::string_view what) const;

 private:
  Bytes segment(uint32_t index) const;

  Bytes file_;
  const std::string& name_;
  uint64_t segments_at_ = 0;
  const executorch_flatbuffer::Program* program_ = nullptr;
};

// How the parts of a file are read, those that backends define among them.

/// The number at a place; 0 beyond the end.
template <typename T>
T read_at(ProgramFile::Bytes bytes, size_t at) {
  T value{};
  if (bytes.size() < sizeof value || at > bytes.size() - sizeof value) return value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool has_magic(ProgramFile::Bytes bytes, size_t at, std::string_view magic);

/// The root of a flatbuffer; null if it is damaged.
template <typename Table>
const Table* verified(ProgramFile::Bytes bytes) {
  constexpr int kMaxDepth = 64, kMaxTables = 100'000'000;
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                 kMaxDepth, kMaxTables, /*check_alignment=*/false);
  return verifier.VerifyBuffer<Table>(nullptr) ? flatbuffers::GetRoot<Table>(bytes.data())
                                               : nullptr;
}

}  // namespace layline::pte
