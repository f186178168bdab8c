#include <layline/sources.h>

#include <algorithm>

#include "pte/debug_map.h"
#include "targets/xnnpack/program_file.h"

namespace layline {
namespace {

namespace et = executorch_flatbuffer;
using fb_xnnpack::XNodeUnion;

/// What the runtime calls the operators that a node of XNNPACK's graph can become; types and
/// kernels follow in brackets.
struct OperatorName {
  XNodeUnion kind;
  std::string_view name;
};
constexpr OperatorName kOperatorNames[] = {
    {XNodeUnion::XNNAbs, "Abs"},
    {XNodeUnion::XNNAdd, "Add"},
    {XNodeUnion::XNNArgMaxPooling2d, "ArgMax Pooling"},
    {XNodeUnion::XNNAvgPooling2d, "Average Pooling"},
    {XNodeUnion::XNNBatchMatrixMultiply, "Batch Matrix Multiply"},
    {XNodeUnion::XNNCeiling, "Ceiling"},
    {XNodeUnion::XNNClamp, "Clamp"},
    {XNodeUnion::XNNConcatenate2, "Copy"},
    {XNodeUnion::XNNConcatenate3, "Copy"},
    {XNodeUnion::XNNConcatenate4, "Copy"},
    {XNodeUnion::XNNConcatenate5, "Copy"},
    {XNodeUnion::XNNConv2d, "Convolution"},
    {XNodeUnion::XNNConv2d, "Fully Connected"},  // 1x1
    {XNodeUnion::XNNConvTranspose2d, "Deconvolution"},
    {XNodeUnion::XNNConvert, "Convert"},
    {XNodeUnion::XNNCopy, "Copy"},
    {XNodeUnion::XNNCos, "Cosine"},
    {XNodeUnion::XNNDepthwiseConv2d, "Convolution"},
    {XNodeUnion::XNNDiv, "Divide"},
    {XNodeUnion::XNNELU, "ELU"},
    {XNodeUnion::XNNExp, "Exp"},
    {XNodeUnion::XNNFloor, "Floor"},
    {XNodeUnion::XNNFullyConnected, "Dynamic Fully Connected"},
    {XNodeUnion::XNNFullyConnected, "Fully Connected"},
    {XNodeUnion::XNNGelu, "GELU"},
    {XNodeUnion::XNNGlobalAvgPooling2d, "Mean"},
    {XNodeUnion::XNNHardswish, "HardSwish"},
    {XNodeUnion::XNNLeakyReLU, "LeakyReLU"},
    {XNodeUnion::XNNLog, "Log"},
    {XNodeUnion::XNNMaxPooling2d, "Max Pooling"},
    {XNodeUnion::XNNMaximum, "Maximum"},
    {XNodeUnion::XNNMinimum, "Minimum"},
    {XNodeUnion::XNNMultiply, "Multiply"},
    {XNodeUnion::XNNNegate, "Negate"},
    {XNodeUnion::XNNPReLU, "PReLU"},
    {XNodeUnion::XNNReciprocalSquareRoot, "Reciprocal Square Root"},
    {XNodeUnion::XNNSigmoid, "Sigmoid"},
    {XNodeUnion::XNNSin, "Sine"},
    {XNodeUnion::XNNSoftmax, "Softmax"},
    {XNodeUnion::XNNSquare, "Square"},
    {XNodeUnion::XNNSquareRoot, "Square Root"},
    {XNodeUnion::XNNStaticConstantPad, "Constant Pad"},
    {XNodeUnion::XNNStaticReshape, "Static Reshape"},
    {XNodeUnion::XNNStaticResizeBilinear2D, "Resize Bilinear"},
    {XNodeUnion::XNNStaticSlice, "Slice"},
    {XNodeUnion::XNNStaticTranspose, "Transpose"},
    {XNodeUnion::XNNSubtract, "Subtract"},
    {XNodeUnion::XNNTanh, "TanH"},
};

/// XNNPACK fuses pairs and drops single nodes; what is further apart than this is not related.
constexpr size_t kMostSkipped = 32;

bool can_become(int kind, std::string_view name) {
  name = name.substr(0, name.find(" ("));
  return std::ranges::any_of(kOperatorNames, [&](const OperatorName& row) {
    return static_cast<int>(row.kind) == kind && row.name == name;
  });
}

}  // namespace

ProgramSources ProgramSources::read(std::span<const std::byte> program, const std::string& name,
                                    const std::string& method) {
  const ProgramFile file(program, name);
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
      const auto* graph = call == nullptr ? nullptr : file.xnnpack_graph(*plan, *call);
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
    return name < names.size() && node < nodes.size() && can_become(nodes[node].kind, names[name]);
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
