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

}  // namespace

std::vector<Steps> loops_of(const Method& method) {
  std::vector<Steps> loops;
  for (size_t step = 0; step < method.instructions.size(); ++step)
    if (const auto* jump = std::get_if<JumpFalse>(&method.instructions[step]);
        jump != nullptr && jump->target <= step)
      loops.push_back({jump->target, static_cast<int64_t>(step)});
  return loops;
}

Steps in_use(Steps uses, std::span<const Steps> loops) {
  for (const Steps& loop : loops) {
    const bool meets = uses.first <= loop.last && uses.last >= loop.first;
    const bool inside = uses.first >= loop.first && uses.last <= loop.last;
    if (meets && !inside) uses = {std::min(uses.first, loop.first), std::max(uses.last, loop.last)};
  }
  return uses;
}

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
  const std::vector<Steps> loops = loops_of(method);
  for (BufferLife& life : lives) {
    const Steps whole = in_use({life.first_use, life.last_use}, loops);
    life.first_use = static_cast<int32_t>(whole.first);
    life.last_use = static_cast<int32_t>(whole.last);
  }

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
