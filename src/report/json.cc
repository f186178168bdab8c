#include <algorithm>

#include "base/json_text.h"
#include "report/model_explorer.h"
#include "report/report.h"

namespace layline {
namespace {

using json::Text;

Text strings(const std::vector<std::string>& values) { return json::list_of(values, json::string); }

Text portable_op_text(const PortableOp& portable) {
  return json::object({{"op", json::string(portable.op)},
                       {"count", json::number(portable.count)},
                       {"why", json::string(portable.why)}});
}

Text survivor_text(const Survivor& survivor) {
  return json::object({{"node", json::string(survivor.node)},
                       {"shape", json::string(survivor.shape)},
                       {"bytes", json::number(survivor.bytes)},
                       {"forced_by", strings(survivor.forced_by)}});
}

Text permutes_text(const Permutes& permutes) {
  return json::object({{"source", json::number(permutes.source)},
                       {"implied", json::number(permutes.implied)},
                       {"absorbed", json::number(permutes.absorbed)},
                       {"final", json::number(permutes.final)},
                       {"bytes", json::number(permutes.bytes)},
                       {"survivors", json::list_of(permutes.survivors, survivor_text)}});
}

Text price_text(const PlacementProof::Price& price) {
  return json::object(
      {{"ms", json::number(price.ms, 6)}, {"permutes", json::number(price.permutes)}});
}

Text placement_text(const PlacementProof& placement) {
  return json::object({{"method", json::string(placement.method)},
                       {"proved", json::boolean(placement.proved)},
                       {"cost", price_text(placement.cost)},
                       {"bound", price_text(placement.bound)},
                       {"before", price_text(placement.before)},
                       {"written", price_text(placement.written)}});
}

Text boundary_text(const BoundaryTensor& tensor) {
  std::vector<std::pair<std::string_view, Text>> members = {
      {"name", json::string(tensor.name)},
      {"dtype", json::string(tensor.dtype)},
      {"shape", json::list_of(tensor.shape, [](int64_t size) { return json::number(size); })},
      {"dim_order",
       json::list_of(tensor.dim_order, [](int d) { return json::number(int64_t{d}); })},
      {"method", json::string(tensor.method)}};
  if (!tensor.symbolic_shape.empty())
    members.push_back({"symbolic_shape", strings(tensor.symbolic_shape)});
  constexpr int kScaleDecimals = 17;
  if (tensor.scale) members.emplace_back("scale", json::number(*tensor.scale, kScaleDecimals));
  if (tensor.zero_point) members.emplace_back("zero_point", json::number(*tensor.zero_point));
  return json::object(members);
}

Text symbol_text(const DynamicSize& size) {
  return json::object({{"method", json::string(size.method)},
                       {"symbol", json::string(size.symbol)},
                       {"name", json::string(size.name)},
                       {"formula", json::string(size.formula)},
                       {"min", json::number(size.min)},
                       {"max", json::number(size.max)}});
}

Text state_text(const StateTensor& state) {
  return json::object(
      {{"name", json::string(state.name)},
       {"dtype", json::string(state.dtype)},
       {"shape", json::list_of(state.shape, [](int64_t size) { return json::number(size); })},
       {"bytes", json::number(state.bytes)},
       {"methods", strings(state.methods)}});
}

Text moves_text(const Moves& moves) {
  return json::object({{"count", json::number(moves.count)}, {"bytes", json::number(moves.bytes)}});
}

Text pass_text(const PassTime& time) {
  return json::object({{"pass", json::string(time.pass)}, {"ms", json::number(time.ms, 3)}});
}

using Members = std::vector<std::pair<std::string_view, Text>>;

Members members_of(const Report& report) {
  Members members = {
      {"version", json::string(report.version)},
      {"model", json::string(report.model)},
      {"target", json::string(report.target)},
      {"compile_ms", json::number(report.compile_ms, 3)},
      {"ops", json::number(report.ops)},
      {"delegates", json::number(report.delegates)},
      {"portable_ops", json::list_of(report.portable_ops, portable_op_text)},
      {"permutes", permutes_text(report.permutes)},
      {"placements", json::list_of(report.placements, placement_text)},
      {"moves", json::object({{"slice", moves_text(report.slices)},
                              {"concat", moves_text(report.concats)},
                              {"copy", moves_text(report.copies)}})},
      {"inputs", json::list_of(report.inputs, boundary_text)},
      {"outputs", json::list_of(report.outputs, boundary_text)},
      {"symbols", json::list_of(report.symbols, symbol_text)},
      {"states", json::list_of(report.states, state_text)},
      {"memory",
       json::object({{"arena_bytes", json::number(report.arena_bytes)},
                     {"arena_lower_bound_bytes", json::number(report.arena_lower_bound_bytes)},
                     {"state_bytes", json::number(report.state_bytes)},
                     {"constant_bytes", json::number(report.constant_bytes)}})},
      {"kernels", strings(report.kernels)},
      {"backends", strings(report.backends)},
      {"methods", strings(report.methods)},
      {"passes", json::list_of(report.passes, pass_text)}};
  if (!report.profile.empty()) members.emplace_back("profile", json::string(report.profile));
  if (!report.accelerator.empty())
    members.emplace_back("accelerator", json::string(report.accelerator));
  return members;
}

}  // namespace

std::string to_json(const Report& report) { return json::object(members_of(report)) + "\n"; }

std::string to_json(const Report& report, const Pictures& pictures) {
  Members members = members_of(report);
  const auto graphs = model_explorer_members(report, pictures);
  members.insert(members.end(), graphs.begin(), graphs.end());
  return json::object(members) + "\n";
}

}  // namespace layline
