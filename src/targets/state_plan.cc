#include "targets/state_plan.h"

#include <algorithm>

#include "base/error.h"
#include "pte/memory_plan.h"
#include "targets/constant_pool.h"

namespace layline {
namespace {

bool is_zero(const Constant& data) {
  bool zero = true;
  data.stream([&](std::span<const std::byte> piece) {
    zero = zero && std::ranges::all_of(piece, [](std::byte b) { return b == std::byte{0}; });
  });
  return zero;
}

bool same(const Constant& a, const Constant& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.same_bytes(b);
}

}  // namespace

StatePlan::StatePlan(const std::vector<Graph>& graphs, pte::Program& program) {
  for (const Graph& graph : graphs) {
    for (const GraphInput& input : graph.inputs()) {
      if (!input.is_state()) continue;
      if (const Slot* known = find(input)) {
        slots_[static_cast<size_t>(known - slots_.data())].methods.push_back(graph.name());
        continue;
      }
      slots_.push_back({input.name, *input.initial, {graph.name()}, {kStateMemory, bytes_}});
      const uint64_t rounded = (input.initial->byte_count() + pte::kBufferAlignment - 1) /
                               pte::kBufferAlignment * pte::kBufferAlignment;
      bytes_ += rounded;
    }
  }
  if (!slots_.empty()) bytes_ += pte::kOverReadSlack;
  std::vector<Slot*> written;  // those whose first value is in the program
  for (Slot& slot : slots_) {
    if (slot.methods.size() > 1 && is_zero(slot.initial)) continue;
    const auto equal = std::ranges::find_if(
        written, [&](const Slot* other) { return other->initial.same_bytes(slot.initial); });
    slot.place.initial_state = equal != written.end()
                                   ? (*equal)->place.initial_state
                                   : program.add_initial_state(data_source(slot.initial));
    if (equal == written.end()) written.push_back(&slot);
  }
}

const StatePlan::Slot* StatePlan::find(const GraphInput& state) const {
  for (const Slot& slot : slots_)
    if (slot.name == state.name && same(slot.initial, *state.initial)) return &slot;
  return nullptr;
}

const pte::PlannedData& StatePlan::place_of(const GraphInput& state) const {
  const Slot* slot = find(state);
  LAYLINE_ASSERT(slot != nullptr, "the state {} has no place", state.name);
  return slot->place;
}

}  // namespace layline
