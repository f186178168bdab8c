// Tiles and tables: the numbers of the report. `data-key` is a number's path in the JSON.
import { bytes, element } from "./format.js";

const kMostRows = 500;

export function drawTiles(section, report) {
  const { permutes, memory } = report;
  const tile = (label, key, value, note = "") =>
    section.append(element("div", { class: "tile" }, element("b", key ? { "data-key": key } : {}, value), label,
      note ? element("div", { class: "soft" }, note) : ""));
  tile("ops", "ops", report.ops);
  tile("delegates", "delegates", report.delegates);
  tile("ops outside", "", report.portable_ops.reduce((sum, op) => sum + op.count, 0));
  tile("permutes in the model", "permutes.source", permutes.source);
  tile("implied by its layout", "permutes.implied", permutes.implied);
  tile("permutes left", "permutes.final", permutes.final,
    report.placements.every((placement) => placement.proved) ? "placement is proved" : "placement is not proved");
  tile("bytes they move", "permutes.bytes", permutes.bytes);
  tile("constants", "", bytes(memory.constant_bytes));
  tile("arena", "", bytes(memory.arena_bytes));
  tile("ms to compile", "compile_ms", report.compile_ms);
}

/** `rowOf` makes a row of an item. */
function table(title, headings, items, rowOf) {
  const body = items.slice(0, kMostRows).map(rowOf).map(({ cells, node }) =>
    element("tr", node !== undefined ? { "data-node": node } : {},
      ...cells.map((cell) => element("td", typeof cell === "number" ? { class: "number" } : {}, cell))));
  const more = items.length - kMostRows;
  return [
    element("h2", {}, title),
    element("table", {}, element("tr", {}, ...headings.map((h) => element("th", {}, h))), ...body),
    ...(more > 0 ? [element("p", { class: "soft" }, `and ${more} more, in the report as JSON`)] : []),
  ];
}

export function drawTables(section, data) {
  const { report } = data;
  const { permutes } = report;
  section.append(
    ...table(
      permutes.final ? `Permutes that are left` : "No permute is left",
      ["node", "relayout", "bytes", "between"],
      permutes.survivors,
      (s, i) => ({ node: i, cells: [s.node, s.shape, s.bytes, s.forced_by.join(" and ")] })),
    ...data.certificates.map((text) => element("p", { class: "certificate" }, text)),
    ...table(
      report.portable_ops.length ? "Ops outside delegates" : "Every op runs in a delegate",
      ["op", "count", "why"],
      report.portable_ops, (op) => ({ cells: [op.op, op.count, op.why] })),
    ...table("Inputs and outputs", ["name", "dtype", "shape", "order in memory"],
      [...report.inputs, ...report.outputs],
      (t) => ({ cells: [t.name, t.dtype, (t.symbolic_shape ?? t.shape).join(" × "), t.dim_order.join(" ")] })),
    ...table("Other data that is moved", ["op", "count", "bytes"],
      Object.entries(report.moves), ([op, moves]) => ({ cells: [op, moves.count, moves.bytes] })),
    ...table("Passes", ["pass", "ms"], report.passes, (p) => ({ cells: [p.pass, p.ms] })));
}
