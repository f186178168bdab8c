#include "base/json_writer.h"
#include "report/report.h"

namespace layline {
namespace {

void write(JsonWriter& json, const PortableOp& portable) {
  json.object([&] {
    json.key("op").string(portable.op);
    json.key("count").number(portable.count);
    json.key("why").string(portable.why);
  });
}

void write(JsonWriter& json, const Survivor& survivor) {
  json.object([&] {
    json.key("node").string(survivor.node);
    json.key("shape").string(survivor.shape);
    json.key("bytes").number(survivor.bytes);
    json.key("forced_by").strings(survivor.forced_by);
  });
}

void write(JsonWriter& json, const PlacementProof::Price& price) {
  json.object([&] {
    json.key("ms").number(price.ms, 6);
    json.key("permutes").number(price.permutes);
  });
}

void write(JsonWriter& json, const PlacementProof& placement) {
  json.object([&] {
    json.key("method").string(placement.method);
    json.key("proved").boolean(placement.proved);
    write(json.key("cost"), placement.cost);
    write(json.key("bound"), placement.bound);
    write(json.key("before"), placement.before);
    write(json.key("written"), placement.written);
  });
}

void write(JsonWriter& json, const BoundaryTensor& tensor) {
  constexpr int kScaleDecimals = 17;
  json.object([&] {
    json.key("name").string(tensor.name);
    json.key("dtype").string(tensor.dtype);
    json.key("shape").numbers(tensor.shape);
    json.key("dim_order").numbers(tensor.dim_order);
    json.key("method").string(tensor.method);
    if (!tensor.symbolic_shape.empty()) json.key("symbolic_shape").strings(tensor.symbolic_shape);
    if (tensor.scale) json.key("scale").number(*tensor.scale, kScaleDecimals);
    if (tensor.zero_point) json.key("zero_point").number(*tensor.zero_point);
  });
}

void write(JsonWriter& json, const DynamicSize& size) {
  json.object([&] {
    json.key("method").string(size.method);
    json.key("symbol").string(size.symbol);
    json.key("name").string(size.name);
    json.key("formula").string(size.formula);
    json.key("min").number(size.min);
    json.key("max").number(size.max);
  });
}

void write(JsonWriter& json, const StateTensor& state) {
  json.object([&] {
    json.key("name").string(state.name);
    json.key("dtype").string(state.dtype);
    json.key("shape").numbers(state.shape);
    json.key("bytes").number(state.bytes);
    json.key("methods").strings(state.methods);
  });
}

void write(JsonWriter& json, const Moves& moves) {
  json.object([&] {
    json.key("count").number(moves.count);
    json.key("bytes").number(moves.bytes);
  });
}

void write(JsonWriter& json, const PassTime& time) {
  json.object([&] {
    json.key("pass").string(time.pass);
    json.key("ms").number(time.ms, 3);
  });
}

/// The list of a report's rows.
template <typename Row>
void write(JsonWriter& json, const std::vector<Row>& rows) {
  json.list_of(rows, [&](const Row& row) { write(json, row); });
}

void write(JsonWriter& json, const Permutes& permutes) {
  json.object([&] {
    json.key("source").number(permutes.source);
    json.key("implied").number(permutes.implied);
    json.key("absorbed").number(permutes.absorbed);
    json.key("final").number(permutes.final);
    json.key("bytes").number(permutes.bytes);
    write(json.key("survivors"), permutes.survivors);
  });
}

}  // namespace

void write_members(JsonWriter& json, const Report& report) {
  json.key("version").string(report.version);
  json.key("model").string(report.model);
  json.key("target").string(report.target);
  json.key("compile_ms").number(report.compile_ms, 3);
  json.key("report_ms").number(report.report_ms, 3);
  json.key("ops").number(report.ops);
  json.key("delegates").number(report.delegates);
  write(json.key("portable_ops"), report.portable_ops);
  write(json.key("permutes"), report.permutes);
  write(json.key("placements"), report.placements);
  json.key("moves").object([&] {
    write(json.key("slice"), report.slices);
    write(json.key("concat"), report.concats);
    write(json.key("copy"), report.copies);
  });
  write(json.key("inputs"), report.inputs);
  write(json.key("outputs"), report.outputs);
  write(json.key("symbols"), report.symbols);
  write(json.key("states"), report.states);
  json.key("memory").object([&] {
    json.key("arena_bytes").number(report.arena_bytes);
    json.key("arena_lower_bound_bytes").number(report.arena_lower_bound_bytes);
    json.key("state_bytes").number(report.state_bytes);
    json.key("constant_bytes").number(report.constant_bytes);
  });
  json.key("kernels").strings(report.kernels);
  json.key("backends").strings(report.backends);
  json.key("methods").strings(report.methods);
  write(json.key("passes"), report.passes);
  if (!report.profile.empty()) json.key("profile").string(report.profile);
  if (!report.accelerator.empty()) json.key("accelerator").string(report.accelerator);
  if (!report.notes.empty()) json.key("notes").strings(report.notes);
}

}  // namespace layline
