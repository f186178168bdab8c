#include "targets/pte_program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "pte/arena.h"
#include "pte/writer.h"

namespace layline {
namespace {

const std::vector<pte::ValueId>& arguments_of(const pte::Instruction& instruction) {
  return std::visit(
      [](const auto& call) -> const auto& { return call.args; }, instruction);
}

}  // namespace

void PteProgram::write(ByteSink& sink) const { pte::write_program(program_, sink); }

std::vector<ArenaTensor> PteProgram::arena() const {
  std::vector<ArenaTensor> tensors;
  for (const pte::Method& method : program_.methods) {
    const auto steps = static_cast<int64_t>(method.instructions.size());
    std::map<pte::ValueId, std::pair<int64_t, int64_t>> lives;
    const auto use = [&](pte::ValueId id, int64_t step) {
      const auto [life, is_new] = lives.try_emplace(id, step, step);
      if (!is_new) life->second.second = std::max(life->second.second, step);
    };
    for (const pte::ValueId id : method.inputs) use(id, 0);
    for (int64_t step = 0; step < steps; ++step)
      for (const pte::ValueId id : arguments_of(method.instructions[static_cast<size_t>(step)]))
        use(id, step);
    for (const pte::ValueId id : method.outputs) use(id, std::max<int64_t>(steps - 1, 0));
    const std::vector<pte::Steps> loops = pte::loops_of(method);
    for (const auto& [id, uses] : lives) {
      const pte::Steps life = pte::in_use({uses.first, uses.second}, loops);
      const auto* tensor = std::get_if<pte::TensorDesc>(&method.values[static_cast<size_t>(id)]);
      if (tensor == nullptr) continue;
      const auto* place = std::get_if<pte::PlannedData>(&tensor->storage);
      if (place == nullptr || place->memory_id != pte::kArena) continue;
      auto bytes = static_cast<int64_t>(pte::size_of(tensor->type));
      for (const int32_t size : tensor->sizes) bytes *= size;
      tensors.push_back({method.name, fmt::format("[{}]", fmt::join(tensor->sizes, ",")),
                         static_cast<int64_t>(place->offset), bytes, life.first, life.last});
    }
  }
  return tensors;
}

}  // namespace layline
