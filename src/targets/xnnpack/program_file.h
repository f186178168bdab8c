// An ExecuTorch program as it lies in its file, whoever wrote it. What a reader follows (headers,
// offsets, flatbuffers) is checked before it is used: UserError for what is damaged.
//
// The runtime's libraries verify flatbuffers with inline functions of another version of that
// library, by the same names: files that include this one are compiled with hidden symbols
// (CMakeLists.txt), or ours would take the place of theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schema/program_generated.h"
#include "schema/xnnpack_generated.h"

namespace layline {

class ProgramFile {
 public:
  using Bytes = std::span<const std::byte>;

  /// `name` stands for the program in messages; both must outlive this.
  ProgramFile(Bytes file, const std::string& name);

  const executorch_flatbuffer::Program& program() const { return *program_; }

  /// The operator of a call, and the delegate of one.
  const executorch_flatbuffer::Operator& kernel(
      const executorch_flatbuffer::ExecutionPlan& plan,
      const executorch_flatbuffer::KernelCall& call) const;
  /// The graph of XNNPACK's delegate; null for another backend's.
  const fb_xnnpack::XNNGraph* xnnpack_graph(const executorch_flatbuffer::ExecutionPlan& plan,
                                            const executorch_flatbuffer::DelegateCall& call) const;

  std::optional<Bytes> named_data(std::string_view key) const;

 private:
  [[noreturn]] void fail(std::string_view what) const;
  Bytes segment(uint32_t index) const;
  Bytes payload(const executorch_flatbuffer::BackendDelegateDataReference& place) const;

  Bytes file_;
  const std::string& name_;
  uint64_t segments_at_ = 0;
  const executorch_flatbuffer::Program* program_ = nullptr;
};

}  // namespace layline
