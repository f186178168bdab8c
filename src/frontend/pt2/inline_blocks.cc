#include "frontend/pt2/inline_blocks.h"

#include <algorithm>
#include <deque>
#include <string>

#include "frontend/pt2/argument_names.h"

namespace layline::pt2 {
namespace {

constexpr std::string_view kNoGrad = "torch.ops.higher_order.wrap_with_set_grad_enabled";
constexpr std::string_view kAutocast = "torch.ops.higher_order.wrap_with_autocast";

/// What the names of one graph are called in the graph that it is spliced into.
using Names = std::unordered_map<std::string_view, std::string_view>;

std::string_view resolve(const Names& names, std::string_view name) {
  auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

template <typename T>
void rename(T& arguments, const Names& names) {
  visit_names(arguments, [&](std::string_view& name) { name = resolve(names, name); });
}

/// A nested graph with the arguments it is called with.
struct Block {
  const GraphArg* body = nullptr;
  std::span<const NamedArgument> operands;
};

/// Whether autocast changes anything: not if it is off, or on for another device.
bool casts(const Node& node) {
  const auto* device = node.inputs.empty() ? nullptr : node.inputs[0].arg.as<std::string_view>();
  const auto* enabled = node.inputs.size() < 3 ? nullptr : node.inputs[2].arg.as<bool>();
  return device == nullptr || enabled == nullptr || (*enabled && *device == "cpu");
}

bool both_tensors_or_neither(const Argument& a, const Argument& b) {
  return (a.as<TensorArg>() != nullptr) == (b.as<TensorArg>() != nullptr);
}

/// The block of a node; without a body if the node is not a block to splice.
Block block_of(const Node& node) {
  if (node.target != kNoGrad && node.target != kAutocast) return {};
  if (node.target == kAutocast && casts(node)) return {};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto* body = node.inputs[i].arg.as<GraphArg>();
    if (body == nullptr) continue;
    const auto operands = std::span(node.inputs).subspan(i + 1);
    const Graph& graph = *body->graph;
    const bool fits = std::ranges::equal(graph.inputs, operands, both_tensors_or_neither, {},
                                         &NamedArgument::arg) &&
                      std::ranges::equal(graph.outputs, node.outputs, both_tensors_or_neither);
    return fits ? Block{body, operands} : Block{};
  }
  return {};
}

class Splicer {
 public:
  explicit Splicer(ExportedProgram program) : program_(std::move(program)) {}

  ExportedProgram run() {
    const std::vector<Node> nodes = std::exchange(program_.graph.nodes, {});
    Names names;
    append(nodes, names);
    for (OutputSpec& output : program_.outputs) {
      output.name = resolve(names, output.name);
      rename(output.arg, names);
    }
    rename(program_.graph.outputs, names);
    struct Strings {
      std::shared_ptr<const void> parsed;
      std::deque<std::string> made;
    };
    program_.strings = std::make_shared<Strings>(Strings{program_.strings, std::move(made_)});
    return std::move(program_);
  }

 private:
  void append(const std::vector<Node>& nodes, Names& names) {
    for (const Node& node : nodes) {
      if (const Block block = block_of(node); block.body != nullptr) {
        splice(node, block, names);
        continue;
      }
      Node& added = program_.graph.nodes.emplace_back(node);
      rename(added.inputs, names);
      rename(added.outputs, names);
    }
  }

  void splice(const Node& node, const Block& block, Names& names) {
    const Graph& body = *block.body->graph;
    Names inner;
    for (size_t i = 0; i < body.inputs.size(); ++i)
      if (const auto* input = body.inputs[i].as<TensorArg>())
        inner.emplace(input->name, resolve(names, block.operands[i].arg.as<TensorArg>()->name));
    // What the block computes and returns is called as its user knows it.
    for (size_t i = 0; i < body.outputs.size(); ++i)
      if (const auto* output = body.outputs[i].as<TensorArg>())
        inner.emplace(output->name, resolve(names, node.outputs[i].as<TensorArg>()->name));
    for (const auto& [name, meta] : body.tensor_values)
      if (!inner.contains(name))
        define(inner, program_.graph.tensor_values, name, meta, *block.body);
    for (const auto& [name, size] : body.sym_int_values)
      define(inner, program_.graph.sym_int_values, name, size, *block.body);
    append(body.nodes, inner);
    // What is returned twice, or came in, has its name from elsewhere.
    for (size_t i = 0; i < body.outputs.size(); ++i)
      if (const auto* output = body.outputs[i].as<TensorArg>())
        names[node.outputs[i].as<TensorArg>()->name] = resolve(inner, output->name);
  }

  template <typename Entry>
  void define(Names& inner, std::unordered_map<std::string_view, Entry>& entries,
              std::string_view name, const Entry& entry, const GraphArg& body) {
    std::string_view chosen = name;
    while (entries.contains(chosen))
      chosen = made_.emplace_back(std::string(body.name) + "." + std::string(chosen));
    entries.emplace(chosen, entry);
    inner.emplace(name, chosen);
  }

  ExportedProgram program_;
  std::deque<std::string> made_;
};

}  // namespace

ExportedProgram inline_blocks(ExportedProgram program) {
  const bool any = std::ranges::any_of(
      program.graph.nodes, [](const Node& node) { return block_of(node).body != nullptr; });
  return any ? Splicer(std::move(program)).run() : std::move(program);
}

}  // namespace layline::pt2
