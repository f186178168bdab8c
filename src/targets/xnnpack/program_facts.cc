#include "targets/xnnpack/program_facts.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "targets/xnnpack/payload_file.h"

namespace layline::xnnpack {
namespace {

namespace et = executorch_flatbuffer;

/// Whether the kernel is a transpose. One whose axes but one have size 1 moves no data, which only
/// the values tell; it is counted all the same, as whoever reads the file would.
bool is_transpose(std::string_view kernel) {
  for (const std::string_view name : {"permute_copy", "transpose_copy", "t_copy"})
    if (kernel.substr(kernel.find("::") + 2).starts_with(name)) return true;
  return false;
}

/// The bytes in segments; some of them may be in two.
int64_t bytes_of_segments(const et::Program& program) {
  std::vector<std::pair<uint64_t, uint64_t>> places;
  if (program.segments() != nullptr)
    for (const et::DataSegment* segment : *program.segments())
      places.emplace_back(segment->offset(), segment->offset() + segment->size());
  std::ranges::sort(places);
  uint64_t bytes = 0, counted_to = 0;
  for (const auto& [begin, end] : places) {
    bytes += std::max(end, counted_to) - std::max(begin, counted_to);
    counted_to = std::max(end, counted_to);
  }
  return static_cast<int64_t>(bytes);
}

class Counting {
 public:
  explicit Counting(const pte::ProgramFile& file) : file_(file) {}

  ProgramFacts count() {
    const et::Program& program = file_.program();
    facts_.segment_bytes = bytes_of_segments(program);
    for (const et::ExecutionPlan* plan : *program.execution_plan()) count_method(*plan);
    return std::move(facts_);
  }

 private:
  void count_method(const et::ExecutionPlan& plan) {
    facts_.methods.push_back(plan.name() != nullptr ? plan.name()->str() : "");
    if (plan.non_const_buffer_sizes() != nullptr)
      for (const int64_t size : *plan.non_const_buffer_sizes()) facts_.arena_bytes += size;
    if (plan.chains() == nullptr) return;
    for (const et::Chain* chain : *plan.chains()) {
      if (chain->instructions() == nullptr) continue;
      for (const et::Instruction* instruction : *chain->instructions()) {
        if (const auto* call = instruction->instr_args_as_KernelCall())
          count_kernel(file_.kernel(plan, *call));
        if (const auto* call = instruction->instr_args_as_DelegateCall())
          count_delegate(called_graph(file_, plan, *call));
      }
    }
  }

  void count_kernel(const et::Operator& op) {
    std::string kernel = op.name() != nullptr ? op.name()->str() : "";
    if (is_transpose(kernel)) ++facts_.transposes;
    if (op.overload() != nullptr && op.overload()->size() > 0) kernel += "." + op.overload()->str();
    ++facts_.kernels[kernel];
  }

  void count_delegate(const fb_xnnpack::XNNGraph* graph) {
    ++facts_.delegates;
    if (graph == nullptr) return;
    for (const fb_xnnpack::XNode* node : *graph->xnodes()) {
      const auto kind = node->xnode_union_type();
      std::string_view name = fb_xnnpack::EnumNameXNodeUnion(kind);
      if (name.starts_with("XNN")) name.remove_prefix(3);
      ++facts_.operators[std::string(name)];
      facts_.transposes += kind == fb_xnnpack::XNodeUnion::XNNStaticTranspose;
    }
  }

  const pte::ProgramFile& file_;
  ProgramFacts facts_;
};

}  // namespace

ProgramFacts read_facts(std::span<const std::byte> program, const std::string& name) {
  ProgramFacts facts = Counting(pte::ProgramFile(program, name)).count();
  facts.file_bytes = static_cast<int64_t>(program.size());
  return facts;
}

}  // namespace layline::xnnpack
