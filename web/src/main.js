// The page: reads the data that layline wrote into it, and wires the views together.
import { closeDeepest, foldersOn, openAtFirst, openMore } from "./folders.js";
import { bytes, element } from "./format.js";
import { GraphView } from "./graph_view.js";
import { drawMemory } from "./memory.js";
import { indexReasons, matchSurvivors, reasonsFor } from "./reasons.js";
import { drawTables, drawTiles } from "./tables.js";

const kMostFound = 60;

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const reasonIndex = indexReasons(data.reasons);
const survivors = matchSurvivors(data.after, data.report.permutes.survivors);

let method = 0;
let open = new Set();
let views = {};

const picture = (side) => data[side][method];

function redraw() {
  for (const side of ["before", "after"]) views[side].draw(open);
}

function toggle(folder) {
  const inside = (other) => other === folder || other.startsWith(`${folder}.`);
  open = open.has(folder) ? new Set([...open].filter((other) => !inside(other))) : new Set([...open, folder]);
  redraw();
}

function detail(term, value) {
  return value ? [element("dt", {}, term), element("dd", {}, value)] : [];
}

function selectNode(side, index) {
  const node = picture(side).nodes[index];
  for (const other of ["before", "after"]) {
    const twins = new Set();
    if (node.origin)
      picture(other).nodes.forEach((n, i) => n.origin === node.origin && twins.add(i));
    views[other].mark(other === side ? index : -1, twins);
  }
  const reasons = reasonsFor(node, side, data, reasonIndex, survivors);
  byId("details").replaceChildren(
    element("h3", {}, node.moves ? "permute" : node.op, " ", element("small", { class: "soft" }, side)),
    element("dl", {},
      ...detail("value", node.name), ...detail("type", node.type), ...detail("moves", node.moves),
      ...detail("bytes", node.op === "output" ? "" : `${node.bytes} (${bytes(node.bytes)})`),
      ...detail("in the model", node.origin), ...detail("module", node.module),
      ...detail("repeats", node.repeats && `${node.repeats} times; the others are in the folders beside it`),
      ...detail("source", node.source), ...detail("constants", node.constants?.join(", "))),
    ...(reasons.length ? [element("div", { class: "why" }, ...reasons.map((line) => element("p", {}, line)))] : []));
  history.replaceState(null, "", `#${side}:${encodeURIComponent(node.name)}`);
}

/** Opens the folders around a node, goes there and selects it. */
function reveal(side, index) {
  const { folders, nodes } = picture(side);
  const closed = foldersOn(folders[nodes[index].folder]).filter((folder) => !open.has(folder));
  if (closed.length) {
    open = new Set([...open, ...closed]);
    redraw();
  }
  views[side].show(index);
  selectNode(side, index);
}

function showMethod(index) {
  method = index;
  open = openAtFirst([picture("before"), picture("after")]);
  for (const side of ["before", "after"])
    views[side] = new GraphView(byId(side), picture(side), { onSelect: (i) => selectNode(side, i), onToggle: toggle });
  redraw();
  views.before.fit();
  views.after.fit();
  drawMemory(byId("memory"), data, picture("after"), (i) => reveal("after", i));
  [...byId("methods").children].forEach((button, i) => button.classList.toggle("on", i === index));
  byId("details").replaceChildren(element("p", { class: "soft" }, "Click a node to see where it comes from and why it is there."));
}

function wireSearch() {
  const [input, list] = byId("search").children;
  const find = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    const isFound = (node) => {
      const text = [node.moves ? "permute" : "", node.name, node.op, node.module, node.source, node.origin].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    };
    for (const side of words.length ? ["after", "before"] : [])
      for (const [i, node] of picture(side).nodes.entries()) {
        if (found.length === kMostFound) break;
        if (isFound(node)) found.push([side, i, node]);
      }
    list.hidden = !words.length;
    list.replaceChildren(...found.map(([side, i, node]) => {
      const item = element("li", { tabindex: 0 }, `${node.name} `, element("small", {}, `${node.moves ? "permute" : node.op}, ${node.module ?? ""} (${side})`));
      item.onclick = () => {
        list.hidden = true;
        reveal(side, i);
      };
      item.onkeydown = (event) => event.key === "Enter" && item.onclick();
      return item;
    }));
  };
  input.oninput = find;
  input.onkeydown = (event) => {
    if (event.key === "Enter") list.firstElementChild?.click();
    if (event.key === "Escape") list.hidden = true;
  };
}

function goToHash() {
  const [side, name] = decodeURIComponent(location.hash.slice(1)).split(/:(.*)/s);
  if (side !== "before" && side !== "after") return;
  const index = picture(side).nodes.findIndex((node) => node.name === name);
  if (index >= 0) reveal(side, index);
}

byId("model").textContent = `${data.report.model} for ${data.report.target}`;
document.title = `${data.report.model} - layline report`;
drawTiles(byId("tiles"), data.report);
drawTables(byId("tables"), data);
if (data.after.length > 1)
  byId("methods").append(...data.after.map((p, i) => {
    const button = element("button", {}, p.method);
    button.onclick = () => showMethod(i);
    return button;
  }));
byId("more").onclick = () => { open = openMore([picture("before"), picture("after")], open); redraw(); };
byId("less").onclick = () => { open = closeDeepest(open); redraw(); };
byId("fit").onclick = () => { views.before.fit(); views.after.fit(); };
byId("tables").onclick = (event) => {
  const row = event.target.closest("tr[data-node]");
  if (!row) return;
  const survivor = data.report.permutes.survivors[Number(row.dataset.node)];
  data.after.forEach((p, m) => {
    const index = p.nodes.findIndex((node) => survivors.get(node) === survivor);
    if (index < 0) return;
    if (m !== method) showMethod(m);
    reveal("after", index);
    byId("graphs").scrollIntoView();
  });
};
wireSearch();
showMethod(0);
goToHash();
window.onhashchange = goToHash;
document.body.dataset.ready = "true";
