#include "compiler/boundary.h"

#include <numeric>

#include "base/error.h"
#include "ir/builder.h"
#include "pte/io_names.h"

namespace layline {
namespace {

void check_order(const BoundaryOrder& wanted) {
  if (wanted.order != "nhwc" && wanted.order != "nchw")
    throw UserError("`{}`: an order is nhwc or nchw, not '{}'", wanted.name, wanted.order);
}

std::vector<int> dim_order(const BoundaryOrder& wanted, size_t rank) {
  if (rank != 4)
    throw UserError("`{}` has {} axes; the order {} is for 4", wanted.name, rank, wanted.order);
  return wanted.order == "nhwc" ? std::vector<int>{0, 2, 3, 1} : std::vector<int>{0, 1, 2, 3};
}

/// The relayout from a tensor stored in order `from` to the same tensor stored in order `to`.
Value* reordered(const Builder& build, Value* value, const std::vector<int>& from,
                 const std::vector<int>& to) {
  std::vector<int> place(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    place[static_cast<size_t>(from[i])] = static_cast<int>(i);
  std::vector<int> permutation;
  for (int dim : to) permutation.push_back(place[static_cast<size_t>(dim)]);
  return build.permute(value, permutation);
}

OriginRef boundary_origin(const std::string& name) {
  return std::make_shared<const Origin>(Origin{name, "", ""});
}

/// An argument that the model changes is written in the order in which it is read.
void reorder_write(Graph& graph, size_t input, const std::vector<int>& before) {
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput output = graph.outputs()[i];
    if (output.writes != input) continue;
    const std::vector<int>& order = graph.inputs()[input].dim_order;
    Value* value =
        reordered(Builder(graph, boundary_origin(output.name)), output.value, before, order);
    graph.set_output(i, value, order);
  }
}

bool order_input(Graph& graph, const BoundaryOrder& wanted) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const GraphInput input = graph.inputs()[i];
    if (input.name != wanted.name || input.is_state()) continue;
    if (input.value == nullptr) throw UserError("the input `{}` is not a tensor", wanted.name);
    const std::vector<int> order = dim_order(wanted, input.dim_order.size());
    Value* stored = graph.reorder_input(i, order);
    graph.set_insertion_point(graph.first());
    Value* as_before =
        reordered(Builder(graph, boundary_origin(input.name)), stored, order, input.dim_order);
    graph.set_insertion_point(nullptr);
    graph.replace_all_uses(input.value, as_before);
    reorder_write(graph, i, input.dim_order);
    return true;
  }
  return false;
}

bool order_output(Graph& graph, const BoundaryOrder& wanted) {
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput output = graph.outputs()[i];
    if (output.name != wanted.name || output.writes) continue;
    if (output.value == nullptr) throw UserError("the output `{}` is not a tensor", wanted.name);
    const std::vector<int> order = dim_order(wanted, output.dim_order.size());
    Value* value = reordered(Builder(graph, boundary_origin(output.name)), output.value,
                             output.dim_order, order);
    graph.set_output(i, value, order);
    return true;
  }
  return false;
}

template <typename Apply>
void apply_orders(std::vector<Graph>& graphs, const std::vector<BoundaryOrder>& orders,
                  std::string_view what, Apply apply) {
  for (const BoundaryOrder& wanted : orders) {
    bool found = false;
    for (Graph& graph : graphs) found = apply(graph, wanted) || found;
    if (found) continue;
    std::vector<std::string> known;
    for (const Graph& graph : graphs) {
      if (what == "input")
        for (const GraphInput& input : arguments(graph)) known.push_back(input.name);
      else
        for (const GraphOutput& output : results(graph)) known.push_back(output.name);
    }
    throw UserError("there is no {} `{}`; there are {}", what, wanted.name, fmt::join(known, ", "));
  }
}

}  // namespace

void name_boundary(Graph& graph) {
  std::vector<std::string> inputs, outputs;
  for (const GraphInput& input : arguments(graph)) inputs.push_back(input.name);
  for (const GraphOutput& output : results(graph)) outputs.push_back(output.name);
  inputs = pte::make_io_names(inputs);
  outputs = pte::make_io_names(outputs);
  // States keep their names, which are not the caller's; a write has that of what is written.
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (graph.inputs()[i].is_state())
      inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(i), graph.inputs()[i].name);
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i].writes)
      outputs.insert(outputs.begin() + static_cast<std::ptrdiff_t>(i),
                     inputs[*graph.outputs()[i].writes]);
  graph.rename_boundary(std::move(inputs), std::move(outputs));
}

void order_boundary(std::vector<Graph>& graphs, const std::vector<BoundaryOrder>& inputs,
                    const std::vector<BoundaryOrder>& outputs) {
  for (const BoundaryOrder& wanted : inputs) check_order(wanted);
  for (const BoundaryOrder& wanted : outputs) check_order(wanted);
  apply_orders(graphs, inputs, "input", order_input);
  apply_orders(graphs, outputs, "output", order_output);
}

}  // namespace layline
