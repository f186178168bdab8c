// One graph in one svg: laid out by dagre, drawn and zoomed by d3.
import dagre from "@dagrejs/dagre";
import { select } from "d3-selection";
import { curveBasis, line } from "d3-shape";
import { zoom, zoomIdentity } from "d3-zoom";
import { bytes, counted } from "./format.js";
import { visible } from "./folders.js";

const path = line((p) => p.x, (p) => p.y).curve(curveBasis);

const kLongestTitle = 36;
const kMostRows = 20; // that an edge passes

/** The end of a path says more than its beginning. */
const shortened = (path) => (path.length > kLongestTitle ? `…${path.slice(1 - kLongestTitle)}` : path);
const times = (repeats) => (repeats > 1 ? ` × ${repeats}` : "");

function label(picture, item) {
  if (item.folder !== null) {
    const nodes = item.nodes.map((i) => picture.nodes[i]);
    const permutes = nodes.filter((node) => node.moves);
    const moved = permutes.reduce((sum, node) => sum + node.bytes, 0);
    // Of layers within layers that repeat, the outer ones.
    const repeats = nodes.reduce((least, node) => Math.min(least, node.repeats ?? 1), Infinity);
    return {
      kind: "group",
      title: shortened(item.folder),
      type: counted(item.nodes.length, "node") + times(repeats),
      badge: permutes.length ? `${counted(permutes.length, "permute")}, ${bytes(moved)}` : "",
    };
  }
  const node = picture.nodes[item.nodes[0]];
  if (node.moves) return { kind: "permute", title: `permute${times(node.repeats)}`, type: bytes(node.bytes), badge: "" };
  const boundary = node.op === "input" || node.op === "output";
  const outside = node.where?.includes("outside delegates");
  return {
    kind: boundary ? "boundary" : outside ? "outside" : "op",
    title: boundary ? `${node.op} ${node.name}` : node.op + times(node.repeats),
    type: node.type ?? "",
    badge: "",
  };
}

/** Tells the edges that pass by many others, such as those of a value that every step reads. dagre has
 *  a place for an edge in every row that it passes, and would take minutes for them. */
function longEdges(items, edges) {
  const rows = new Map();
  const into = Map.groupBy(edges, (edge) => edge.to);
  for (const { id } of items)
    rows.set(id, (into.get(id) ?? []).reduce((row, edge) => Math.max(row, (rows.get(edge.from) ?? -1) + 1), 0));
  return (edge) => Math.abs(rows.get(edge.to) - rows.get(edge.from)) > kMostRows;
}

export class GraphView {
  /** `onSelect(index)` is called for a node, `onToggle(folder)` for a folder. */
  constructor(svg, picture, { onSelect, onToggle }) {
    this.picture = picture;
    this.onSelect = onSelect;
    this.onToggle = onToggle;
    this.svg = select(svg);
    this.svg.selectAll("*").remove();
    this.stage = this.svg.append("g");
    this.zoom = zoom().scaleExtent([0.02, 4]).on("zoom", (e) => this.stage.attr("transform", e.transform));
    this.svg.call(this.zoom).on("dblclick.zoom", null);
  }

  draw(open) {
    const { items, edges, places } = visible(this.picture, open);
    this.places = places;
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "TB", nodesep: 14, ranksep: 26, edgesep: 8 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const item of items) {
      item.label = label(this.picture, item);
      const letters = Math.max(item.label.title.length * 7, item.label.type.length * 5, item.label.badge.length * 6);
      graph.setNode(item.id, { width: Math.min(260, letters + 16), height: item.label.badge ? 46 : 34 });
    }
    const isLong = longEdges(items, edges);
    for (const edge of edges) if (!isLong(edge)) graph.setEdge(edge.from, edge.to);
    dagre.layout(graph);
    this.graph = graph;
    this.render(items, edges);
  }

  /** The line of an edge; of one that was not laid out, straight from box to box. */
  points(edge) {
    const [from, to] = [this.graph.node(edge.from), this.graph.node(edge.to)];
    return this.graph.edge(edge.from, edge.to)?.points
      ?? [{ x: from.x, y: from.y + from.height / 2 }, { x: to.x, y: to.y - to.height / 2 }];
  }

  /** A box around what is in each open folder, the outermost first. dagre can nest by itself, but
   *  takes a hundred times as long. */
  boxes(items) {
    const boxes = new Map();
    for (const item of items) {
      const { x, y, width, height } = this.graph.node(item.id);
      item.parents.forEach((folder, depth) => {
        const margin = 4 + 4 * (item.parents.length - depth - 1);
        const box = boxes.get(folder) ?? { folder, depth, left: x, right: x, top: y, bottom: y };
        box.left = Math.min(box.left, x - width / 2 - margin);
        box.right = Math.max(box.right, x + width / 2 + margin);
        box.top = Math.min(box.top, y - height / 2 - 4 - 12 * (item.parents.length - depth));
        box.bottom = Math.max(box.bottom, y + height / 2 + margin);
        boxes.set(folder, box);
      });
    }
    return [...boxes.values()].sort((a, b) => a.depth - b.depth);
  }

  render(items, edges) {
    const { graph, stage } = this;
    stage.selectAll("*").remove();
    const cluster = stage.selectAll(".cluster").data(this.boxes(items)).join("g").attr("class", "cluster")
      .attr("transform", (c) => `translate(${c.left},${c.top})`);
    cluster.append("rect").attr("width", (c) => c.right - c.left).attr("height", (c) => c.bottom - c.top)
      .on("click", (_, c) => this.onToggle(c.folder)).append("title").text((c) => `close ${c.folder}`);
    cluster.append("text").attr("x", 4).attr("y", 11).text((c) => c.folder.split(".").at(-1));
    stage.selectAll(".edge").data(edges).join("path").attr("class", "edge")
      .attr("d", (e) => path(this.points(e)));
    const node = stage.selectAll(".node").data(items).join("g")
      .attr("class", (item) => `node ${item.label.kind}`)
      .attr("transform", (item) => `translate(${graph.node(item.id).x},${graph.node(item.id).y})`)
      .on("click", (_, item) => (item.folder !== null ? this.onToggle(item.folder) : this.onSelect(item.nodes[0])));
    node.append("rect")
      .attr("width", (item) => graph.node(item.id).width).attr("height", (item) => graph.node(item.id).height)
      .attr("x", (item) => -graph.node(item.id).width / 2).attr("y", (item) => -graph.node(item.id).height / 2)
      .append("title").text((item) => item.folder ?? this.picture.nodes[item.nodes[0]].name);
    const top = (item) => (item.label.badge ? -8 : -2);
    node.append("text").attr("y", top).text((item) => item.label.title);
    node.append("text").attr("class", "type").attr("y", (item) => top(item) + 12).text((item) => item.label.type);
    node.filter((item) => item.label.badge).append("text").attr("class", "badge").attr("y", 18).text((item) => item.label.badge);
    this.nodes = node;
  }

  fit() {
    const { width, height } = this.graph.graph();
    const { clientWidth, clientHeight } = this.svg.node();
    // A network is long and thin: its width is fitted, and its beginning is shown.
    const scale = Math.max(Math.min(1, (clientWidth - 20) / width, (clientHeight - 20) / height), Math.min(0.45, clientWidth / width));
    this.svg.call(this.zoom.transform, zoomIdentity.translate((clientWidth - width * scale) / 2, 10).scale(scale));
  }

  show(index) {
    const place = this.graph.node(this.places[index]);
    const { clientWidth, clientHeight } = this.svg.node();
    this.svg.call(this.zoom.transform, zoomIdentity.translate(clientWidth / 2 - place.x, clientHeight / 2 - place.y));
  }

  /** Marks one node, and those that come from the same node of the model. */
  mark(index, twins) {
    this.nodes.classed("selected", (item) => item.folder === null && item.nodes[0] === index);
    this.nodes.classed("twin", (item) => item.nodes.some((i) => twins.has(i)));
  }
}
