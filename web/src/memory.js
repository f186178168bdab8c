// Memory over time: the bytes that are alive while each op runs, and the arena outside delegates.
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { area, curveStepAfter } from "d3-shape";
import { bytes, element } from "./format.js";

const kWidth = 1000, kHeight = 180, kMargin = 10;
const kMostPoints = 2 * kWidth; // more cannot be told apart
const kMostTensors = 2000;

const greatest = (numbers, least) => numbers.reduce((a, b) => Math.max(a, b), least);

/** Bytes of all values that are still to be read, at each node. */
export function alive(picture) {
  const last = picture.nodes.map((_, i) => i);
  picture.nodes.forEach((node, i) => node.inputs.forEach((input) => (last[input] = i)));
  const change = new Array(picture.nodes.length + 1).fill(0);
  picture.nodes.forEach((node, i) => {
    change[i] += node.bytes;
    change[last[i] + 1] -= node.bytes;
  });
  let sum = 0;
  return picture.nodes.map((_, i) => (sum += change[i]));
}

/** The greatest of every few values, so that there are not too many; each with its place. */
function thinned(series) {
  const few = Math.ceil(series.length / kMostPoints);
  const points = [];
  for (let i = 0; i < series.length; i += few) points.push({ i, value: greatest(series.slice(i, i + few), 0) });
  return [...points, { i: series.length, value: 0 }];
}

function chart(section, title) {
  section.append(element("h2", {}, title));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${kWidth} ${kHeight}`);
  svg.setAttribute("preserveAspectRatio", "none");
  section.append(svg);
  return select(svg);
}

export function drawMemory(section, data, picture, onSelect) {
  section.replaceChildren();
  const series = alive(picture);
  const most = greatest(series, 1);
  const x = scaleLinear([0, Math.max(1, series.length)], [kMargin, kWidth - kMargin]);
  const y = scaleLinear([0, most], [kHeight - kMargin, kMargin]);
  const over = chart(section, `Bytes alive while each op runs (at most ${bytes(most)})`);
  over.append("path").datum(thinned(series)).attr("class", "alive")
    .attr("d", area((point) => x(point.i), y(0), (point) => y(point.value)).curve(curveStepAfter));
  over.on("click", (event) => {
    const box = over.node().getBoundingClientRect();
    const at = Math.floor(x.invert(((event.clientX - box.left) / box.width) * kWidth));
    if (picture.nodes[at]) onSelect(at);
  });

  const all = data.arena.filter((tensor) => tensor.method === picture.method);
  if (!all.length) return;
  const tensors = all.toSorted((a, b) => b.bytes - a.bytes).slice(0, kMostTensors);
  const which = tensors.length < all.length ? `, the largest ${tensors.length} of ${all.length} tensors` : "";
  const plan = chart(section, `The arena outside delegates: ${bytes(data.report.memory.arena_bytes)}, one step an instruction${which}`);
  const steps = scaleLinear([0, 1 + greatest(all.map((t) => t.last), 0)], [kMargin, kWidth - kMargin]);
  const offset = scaleLinear([0, greatest(all.map((t) => t.offset + t.bytes), 1)], [kHeight - kMargin, kMargin]);
  plan.selectAll("rect").data(tensors).join("rect").attr("class", "tensor")
    .attr("x", (t) => steps(t.first)).attr("width", (t) => steps(t.last + 1) - steps(t.first))
    .attr("y", (t) => offset(t.offset + t.bytes)).attr("height", (t) => offset(t.offset) - offset(t.offset + t.bytes))
    .append("title").text((t) => `${t.type}, ${bytes(t.bytes)} at ${t.offset}, steps ${t.first} to ${t.last}`);
}
