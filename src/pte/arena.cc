#include "pte/arena.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace layline::pte {
namespace {

uint64_t byte_count(const TensorDesc& tensor) {
  uint64_t bytes = size_of(tensor.type);
  for (int32_t size : tensor.sizes) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

const std::vector<ValueId>& arguments(const Instruction& instruction) {
  return std::visit([](const auto& call) -> const std::vector<ValueId>& { return call.args; },
                    instruction);
}

/// A buffer that a loop and something outside of it use is in use in the whole loop.
void stretch(std::vector<BufferLife>& lives, int32_t first, int32_t last) {
  for (BufferLife& life : lives) {
    const bool outside = life.first_use < first || life.last_use > last;
    if (!outside || life.last_use < first || life.first_use > last) continue;
    life.first_use = std::min(life.first_use, first);
    life.last_use = std::max(life.last_use, last);
  }
}

}  // namespace

MemoryPlan plan_arena(Method& method, std::span<const Alias> aliases) {
  std::vector<ValueId> owner(method.values.size());
  std::iota(owner.begin(), owner.end(), 0);
  for (const Alias& alias : aliases)
    owner[static_cast<size_t>(alias.tensor)] = owner[static_cast<size_t>(alias.of)];
  auto planned = [&](ValueId id) -> TensorDesc* {
    auto* tensor = std::get_if<TensorDesc>(&method.values[static_cast<size_t>(id)]);
    const auto* place = tensor ? std::get_if<PlannedData>(&tensor->storage) : nullptr;
    return place && place->memory_id == kArena ? tensor : nullptr;
  };

  std::vector<std::optional<size_t>> buffer_of(method.values.size());
  std::vector<BufferLife> lives;
  auto use = [&](ValueId id, int32_t step) {
    const TensorDesc* tensor = planned(id);
    if (tensor == nullptr) return;
    auto& buffer = buffer_of[static_cast<size_t>(owner[static_cast<size_t>(id)])];
    if (!buffer) {
      buffer = lives.size();
      lives.push_back({byte_count(*tensor), step, step});
    }
    lives[*buffer].last_use = step;
  };
  for (ValueId id : method.inputs) use(id, 0);
  const auto steps = static_cast<int32_t>(method.instructions.size());
  for (int32_t step = 0; step < steps; ++step) {
    for (ValueId id : arguments(method.instructions[static_cast<size_t>(step)])) {
      use(id, step);
      const Value& value = method.values[static_cast<size_t>(id)];
      if (const auto* list = std::get_if<TensorList>(&value))
        for (ValueId tensor : list->tensors) use(tensor, step);
      if (const auto* list = std::get_if<OptionalTensorList>(&value))
        for (const auto& tensor : list->tensors)
          if (tensor) use(*tensor, step);
    }
  }
  for (ValueId id : method.outputs) use(id, steps);
  for (int32_t step = 0; step < steps; ++step)
    if (const auto* jump = std::get_if<JumpFalse>(&method.instructions[static_cast<size_t>(step)]))
      stretch(lives, static_cast<int32_t>(jump->target), step);

  MemoryPlan plan = plan_memory(lives);
  for (size_t id = 0; id < method.values.size(); ++id) {
    const auto& buffer = buffer_of[static_cast<size_t>(owner[id])];
    if (TensorDesc* tensor = planned(static_cast<ValueId>(id)); tensor && buffer)
      std::get<PlannedData>(tensor->storage).offset = plan.offsets[*buffer];
  }
  if (plan.arena_bytes != 0) method.arena_bytes = {plan.arena_bytes};
  return plan;
}

}  // namespace layline::pte
