#include "layout/proof/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "layout/solve/conversions.h"

namespace layline::proof {
namespace {

class Description {
 public:
  Description(const Placement& placement, const MoveCosts& moves)
      : source_(placement.problem), placement_(placement), moves_(moves) {}

  Problem take() {
    for (ValueIndex v : source_.values.indices()) add_value(v);
    for (NodeIndex n : source_.nodes.indices()) add_op(n);
    for (const auto& output : source_.outputs)
      if (output)
        result_.values[output->value.number()].outputs.push_back(
            movement(output->value, output->form));
    for (ValueIndex v : source_.values.indices()) add_prices(v);
    return std::move(result_);
  }

 private:
  void add_value(ValueIndex v) {
    const PlacedValue& placed = source_.values[v];
    result_.values.push_back(
        {.name = placed.root->name(),
         .bytes_of_element = static_cast<int64_t>(byte_size(placed.root->dtype())),
         .elements = moves_.size(element_count(placed.root->shape())),
         .is_dynamic = !is_static(placed.root->shape()),
         .movements = {},
         .price = {},
         .producer = {},
         .readers = {},
         .outputs = {}});
    if (placed.producer) result_.values.back().producer = placed.producer->number();
    movement(v, kOwnForm);
  }

  size_t movement(ValueIndex v, FormIndex form) {
    const Relayout& relayout = source_.values[v].forms[form];
    auto& movements = result_.values[v.number()].movements;
    for (size_t m = 0; m < movements.size(); ++m)
      if (movements[m].moves_like(relayout)) return m;
    movements.push_back(relayout);
    return movements.size() - 1;
  }

  void add_op(NodeIndex n) {
    const PlacedNode& node = source_.nodes[n];
    Op op{.name = name_of(node), .has_all = node.complete, .result = node.result.number()};
    for (const auto& operand : node.operands) {
      if (!operand) continue;
      op.operands.push_back(operand->value.number());
      op.from_root.push_back(to_string(source_.from_root(*operand)));
      auto& readers = result_.values[operand->value.number()].readers;
      if (std::ranges::find(readers, n.number()) == readers.end()) readers.push_back(n.number());
    }
    for (OrderIndex order : node.orders.indices()) {
      const bool chosen = order == placement_.order[n];
      if (!chosen && (!node.complete || node.costs[order].is_forbidden())) continue;
      if (chosen) op.chosen = op.orders.size();
      Order told{.price = price_of(node.costs[order]),
                 .written = movement(node.result, node.writes[order]),
                 .reads = {}};
      for (size_t i = 0; i < node.operands.size(); ++i)
        if (node.operands[i])
          told.reads.push_back(movement(node.operands[i]->value, *node.reads[order][i]));
      op.orders.push_back(std::move(told));
    }
    result_.ops.push_back(std::move(op));
  }

  std::string name_of(const PlacedNode& node) const {
    if (node.state) return fmt::format("state {}", source_.values[node.result].root->name());
    return fmt::format("{} {}", info(node.node->op()).name, node.node->result()->name());
  }

  void add_prices(ValueIndex v) {
    Value& value = result_.values[v.number()];
    // The forms of these movements.
    PlacedValue forms{.root = source_.values[v].root};
    for (const Relayout& relayout : value.movements) forms.forms.push_back(relayout);
    Conversions conversions(forms, moves_);
    for (FormIndex from : forms.forms.indices()) {
      auto& row = value.price.emplace_back();
      for (FormIndex to : forms.forms.indices())
        row.push_back(price_of(conversions.between(from, to)));
    }
  }

  const PlacementProblem& source_;
  const Placement& placement_;
  const MoveCosts& moves_;
  Problem result_;
};

std::string told(const TransposeCosts& costs) {
  return fmt::format("{} {} {} {}", costs.piece, costs.read_ps, costs.write_ps, costs.matrix_ps);
}

std::string told(const Value& value, const MoveCosts& moves) {
  if (!value.is_dynamic) {
    std::string text =
        fmt::format("value {} {} : {}\n", value.bytes_of_element, value.elements, value.name);
    for (const Relayout& movement : value.movements) {
      text += "form";
      for (const Dim& factor : movement.factors()) text += fmt::format(" {}", moves.size(factor));
      text += " ->";
      for (int place : movement.order()) text += fmt::format(" {}", place);
      text += "\n";
    }
    return text;
  }
  // Sizes that are not numbers are compared as such, so the prices are told and not worked out.
  std::string text = fmt::format("value {} dynamic : {}\n", value.bytes_of_element, value.name);
  for (const Relayout& movement : value.movements)
    text += fmt::format("form : {}\n", to_string(movement));
  for (size_t from = 0; from < value.price.size(); ++from)
    for (size_t to = 0; to < value.price.size(); ++to)
      if (from != to)
        text += fmt::format("price {} {} {}\n", from, to, to_text(value.price[from][to]));
  return text;
}

std::string told(const Op& op) {
  std::string text =
      fmt::format("op {} {} : {}\n", op.result, op.has_all ? "all" : "chosen", op.name);
  for (size_t i = 0; i < op.operands.size(); ++i)
    text += fmt::format("reads {} : {}\n", op.operands[i], op.from_root[i]);
  for (const Order& order : op.orders)
    text += fmt::format("order {} {}{}{}\n", to_text(order.price), order.written,
                        order.reads.empty() ? "" : " ", fmt::join(order.reads, " "));
  return text;
}

}  // namespace

Price price_of(const Cost& cost) { return Price{cost.time_ps} * kPermutes + cost.permutes; }

std::string to_text(Price price) {
  return fmt::format("{} {}", static_cast<int64_t>(price / kPermutes),
                     static_cast<int64_t>(price % kPermutes));
}

Problem describe(const Placement& placement, const MoveCosts& moves) {
  return Description(placement, moves).take();
}

Price price_of_copies(const Value& value, size_t written, const std::vector<size_t>& held) {
  Price sum = 0;
  for (size_t movement : held) sum += value.price[written][movement];
  return sum;
}

Price price_of_choice(const Problem& problem) {
  Price sum = 0;
  for (const Op& op : problem.ops) sum += op.orders[op.chosen].price;
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const Value& value = problem.values[v];
    std::vector<size_t> held = value.outputs;
    for (size_t reader : value.readers) {
      const Op& op = problem.ops[reader];
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (op.operands[i] == v) held.push_back(op.orders[op.chosen].reads[i]);
    }
    std::ranges::sort(held);
    held.erase(std::unique(held.begin(), held.end()), held.end());
    const size_t written =
        value.producer
            ? problem.ops[*value.producer].orders[problem.ops[*value.producer].chosen].written
            : 0;
    sum += price_of_copies(value, written, held);
  }
  return sum;
}

std::string to_text(const Problem& problem, const MoveCosts& moves) {
  std::string text = fmt::format("costs {} {} {} {}\ntranspose {}\ntranspose_bytes {}\nruns",
                                 moves.call_ps, moves.margin_ps, moves.byte_ps, moves.most_factors,
                                 told(moves.transpose), told(moves.transpose_bytes));
  for (const RunCosts::Point& point : moves.permute.points)
    text += fmt::format(" {} {}", point.bytes, point.ps);
  text += "\n";
  for (const Value& value : problem.values) text += told(value, moves);
  for (const Op& op : problem.ops) text += told(op);
  for (size_t v = 0; v < problem.values.size(); ++v)
    for (size_t movement : problem.values[v].outputs)
      text += fmt::format("output {} {}\n", v, movement);
  text += "choice";
  for (const Op& op : problem.ops) text += fmt::format(" {}", op.chosen);
  return text + fmt::format("\ncost {}\n", to_text(price_of_choice(problem)));
}

}  // namespace layline::proof
