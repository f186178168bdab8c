#include <layline/sources.h>

#include <algorithm>

#include "pte/debug_map.h"
#include "pte/program_file.h"
#include "targets/xnnpack/operator_names.h"
#include "targets/xnnpack/payload_file.h"

namespace layline {
namespace {

namespace et = executorch_flatbuffer;

/// XNNPACK fuses pairs and drops single nodes. Nodes further apart than this are not related.
constexpr size_t kMostSkipped = 32;

}  // namespace

ProgramSources ProgramSources::read(std::span<const std::byte> program, const std::string& name,
                                    const std::string& method) {
  const pte::ProgramFile file(program, name);
  ProgramSources sources;
  const auto data = file.named_data(pte::kDebugMapKey);
  if (!data) return sources;
  const std::vector<pte::MethodDebugMap> maps =
      pte::read_debug_map({reinterpret_cast<const char*>(data->data()), data->size()});
  const auto map = std::ranges::find(maps, method, &pte::MethodDebugMap::method);
  if (map == maps.end()) return sources;
  for (const pte::DebugOrigin& origin : map->origins)
    sources.places_.push_back({origin.value, origin.node, origin.source, origin.module});
  for (const uint32_t handle : map->instructions) sources.instructions_.push_back({handle, {}});

  for (const et::ExecutionPlan* plan : *file.program().execution_plan()) {
    if (plan->name() == nullptr || plan->name()->string_view() != method) continue;
    if (plan->chains() == nullptr || plan->chains()->size() == 0) continue;
    const auto* instructions = plan->chains()->Get(0)->instructions();
    if (instructions == nullptr) continue;
    for (uint32_t i = 0; i < instructions->size() && i < sources.instructions_.size(); ++i) {
      const auto* call = instructions->Get(i)->instr_args_as_DelegateCall();
      const auto* graph = call == nullptr ? nullptr : xnnpack::called_graph(file, *plan, *call);
      if (graph == nullptr) continue;
      for (const fb_xnnpack::XNode* node : *graph->xnodes())
        if (node->debug_handle() <= sources.places_.size())
          sources.instructions_[i].nodes.push_back(
              {static_cast<int>(node->xnode_union_type()), node->debug_handle()});
    }
  }
  return sources;
}

uint32_t ProgramSources::kernel(size_t instruction) const {
  return instruction < instructions_.size() ? instructions_[instruction].handle : 0;
}

std::vector<uint32_t> ProgramSources::operators(size_t instruction,
                                                const std::vector<std::string>& names) const {
  std::vector<uint32_t> handles(names.size(), 0);
  if (instruction >= instructions_.size()) return handles;
  const std::vector<Node>& nodes = instructions_[instruction].nodes;
  const auto fits = [&](size_t name, size_t node) {
    return name < names.size() && node < nodes.size() &&
           xnnpack::can_become(nodes[node].kind, names[name]);
  };
  size_t name = 0, node = 0;
  while (name < names.size() && node < nodes.size()) {
    // Where the two part, the fewest that can be left out on both sides bring them together again.
    size_t skipped = 0, of_names = 0;
    while (skipped <= kMostSkipped && !fits(name + of_names, node + skipped - of_names)) {
      if (of_names < skipped) {
        ++of_names;
      } else {
        ++skipped;
        of_names = 0;
      }
    }
    if (skipped > kMostSkipped) {
      ++name;
      continue;
    }
    name += of_names;
    node += skipped - of_names;
    handles[name++] = nodes[node++].handle;
  }
  // The range of a node that XNNPACK runs as an operator of its own.
  for (size_t i = 1; i < names.size(); ++i)
    if (handles[i] == 0 && names[i].starts_with("Clamp")) handles[i] = handles[i - 1];
  return handles;
}

}  // namespace layline
