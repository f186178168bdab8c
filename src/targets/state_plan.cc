#include "targets/state_plan.h"

#include <algorithm>
#include <unordered_set>

#include "base/all_zero.h"
#include "base/error.h"
#include "base/parallel.h"
#include "pte/memory_plan.h"
#include "targets/constant_pool.h"

namespace layline {
namespace {

bool is_zero(const Constant& data) {
  bool zero = true;
  data.stream([&](std::span<const std::byte> piece) { zero = zero && all_zero(piece); });
  return zero;
}

bool same(const Constant& a, const Constant& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.same_bytes(b);
}

uint64_t rounded(uint64_t bytes) {
  return (bytes + pte::kBufferAlignment - 1) / pte::kBufferAlignment * pte::kBufferAlignment;
}

/// Pieces of equal size. The last one may overlap the one before it.
std::vector<pte::PlannedData> zero_pieces(const StatePlan::Slot& slot, uint32_t zeros) {
  const uint64_t last = rounded(slot.initial.byte_count()) - kZeroBytes;
  std::vector<pte::PlannedData> pieces;
  for (uint64_t at = 0; at < last; at += kZeroBytes)
    pieces.push_back({kStateMemory, slot.place.offset + at, zeros});
  pieces.push_back({kStateMemory, slot.place.offset + last, zeros});
  return pieces;
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
      bytes_ += rounded(input.initial->byte_count());
    }
  }
  if (!slots_.empty()) bytes_ += pte::kOverReadSlack;
  add_first_values(program);
}

void StatePlan::add_first_values(pte::Program& program) {
  std::vector<Slot*> special;  // need no value of their own if they begin with zeros
  for (Slot& slot : slots_)
    if (slot.methods.size() > 1 || slot.initial.byte_count() >= 2 * kZeroBytes)
      special.push_back(&slot);
  std::vector<char> zero(special.size());
  in_parallel(special.size(), [&](size_t i) { zero[i] = is_zero(special[i]->initial); });
  std::unordered_set<const Slot*> zero_slots;
  for (size_t i = 0; i < special.size(); ++i)
    if (zero[i]) zero_slots.insert(special[i]);
  std::vector<Slot*> written;  // those whose first value is in the program
  std::optional<uint32_t> zeros;
  for (Slot& slot : slots_) {
    if (zero_slots.contains(&slot)) {
      if (slot.methods.size() > 1) continue;
      if (!zeros)
        zeros =
            program.add_initial_state(pte::DataSource::owned(std::vector<std::byte>(kZeroBytes)));
      slot.zeros = zero_pieces(slot, *zeros);
      continue;
    }
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

const StatePlan::Slot& StatePlan::slot_of(const GraphInput& state) const {
  const Slot* slot = find(state);
  LAYLINE_ASSERT(slot != nullptr, "the state {} has no place", state.name);
  return *slot;
}

}  // namespace layline
