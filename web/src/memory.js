// Memory over time: the bytes that are alive while each op runs, and the arena outside delegates.
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { area, curveStepAfter } from "d3-shape";
import { bytes, element } from "./format.js";

const kWidth = 1000, kHeight = 180, kMargin = 10;

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
  const most = Math.max(1, ...series);
  const x = scaleLinear([0, Math.max(1, series.length)], [kMargin, kWidth - kMargin]);
  const y = scaleLinear([0, most], [kHeight - kMargin, kMargin]);
  const over = chart(section, `Bytes alive while each op runs (at most ${bytes(most)})`);
  over.append("path").datum([...series, 0]).attr("class", "alive")
    .attr("d", area((_, i) => x(i), y(0), (value) => y(value)).curve(curveStepAfter));
  over.on("click", (event) => {
    const box = over.node().getBoundingClientRect();
    const at = Math.floor(x.invert(((event.clientX - box.left) / box.width) * kWidth));
    if (picture.nodes[at]) onSelect(at);
  });

  const tensors = data.arena.filter((tensor) => tensor.method === picture.method);
  if (!tensors.length) return;
  const plan = chart(section, `The arena outside delegates: ${bytes(data.report.memory.arena_bytes)}, one step an instruction`);
  const steps = scaleLinear([0, 1 + Math.max(...tensors.map((t) => t.last))], [kMargin, kWidth - kMargin]);
  const offset = scaleLinear([0, Math.max(1, ...tensors.map((t) => t.offset + t.bytes))], [kHeight - kMargin, kMargin]);
  plan.selectAll("rect").data(tensors).join("rect").attr("class", "tensor")
    .attr("x", (t) => steps(t.first)).attr("width", (t) => steps(t.last + 1) - steps(t.first))
    .attr("y", (t) => offset(t.offset + t.bytes)).attr("height", (t) => offset(t.offset) - offset(t.offset + t.bytes))
    .append("title").text((t) => `${t.type}, ${bytes(t.bytes)} at ${t.offset}, steps ${t.first} to ${t.last}`);
}
