// A graph grouped by the modules of the user's own code. Closed modules stand for all that is in
// them, so that a graph of thousands of nodes is drawn as some dozens.

const kOpenAtFirst = 60; // what fits a window
const kMostDrawn = 300; // what a layout takes a second for

/** Every module on the way to a node, the outermost first: "a.b" gives ["a", "a.b"]. */
export function modulesOf(node) {
  if (!node.module) return [];
  const parts = node.module.split(".");
  return parts.map((_, i) => parts.slice(0, i + 1).join("."));
}

/** What stands for a node if only the modules in `open` are: the module that hides it, or itself. */
export function standIn(node, open) {
  return modulesOf(node).find((module) => !open.has(module)) ?? null;
}

function drawnCount(nodes, open) {
  const closed = new Set();
  let count = 0;
  for (const node of nodes) {
    const module = standIn(node, open);
    if (module === null) count += 1;
    else closed.add(module);
  }
  return count + closed.size;
}

/** All modules of the nodes, by how deep they are. */
function levels(nodes) {
  const byDepth = [];
  for (const node of nodes)
    modulesOf(node).forEach((module, depth) => (byDepth[depth] ??= new Set()).add(module));
  return byDepth;
}

export function openAtFirst(pictures) {
  let open = new Set();
  for (const level of levels(pictures.flatMap((p) => p.nodes))) {
    const wider = new Set([...open, ...level]);
    if (pictures.some((p) => drawnCount(p.nodes, wider) > kOpenAtFirst)) break;
    open = wider;
  }
  return open;
}

/** One level more, as far as it can be drawn. */
export function openMore(pictures, open) {
  for (const level of levels(pictures.flatMap((p) => p.nodes))) {
    const closed = [...level].filter((module) => !open.has(module));
    if (closed.length === 0) continue;
    // As many of the level as can be drawn, by halving.
    let [some, tooMany] = [0, closed.length + 1];
    const fits = (count) => {
      const tried = new Set([...open, ...closed.slice(0, count)]);
      return pictures.every((p) => drawnCount(p.nodes, tried) <= kMostDrawn);
    };
    while (tooMany - some > 1) {
      const middle = (some + tooMany) >> 1;
      if (fits(middle)) some = middle;
      else tooMany = middle;
    }
    return new Set([...open, ...closed.slice(0, some)]);
  }
  return open;
}

export function closeDeepest(open) {
  const depth = (module) => module.split(".").length;
  const deepest = Math.max(0, ...[...open].map(depth));
  return new Set([...open].filter((module) => depth(module) < deepest));
}

/** What is drawn: single nodes, closed modules, and the edges between them. */
export function visible(picture, open) {
  const items = new Map();
  const places = picture.nodes.map((node, i) => {
    const module = standIn(node, open);
    const id = module === null ? `n${i}` : `m${module}`;
    if (!items.has(id))
      items.set(id, { id, module, nodes: [], parents: modulesOf(node).filter((m) => open.has(m)) });
    items.get(id).nodes.push(i);
    if (module !== null)
      items.get(id).parents = modulesOf({ module }).slice(0, -1);
    return id;
  });
  const edges = new Map();
  picture.nodes.forEach((node, i) => {
    for (const input of node.inputs) {
      const [from, to] = [places[input], places[i]];
      if (from !== to) edges.set(`${from} ${to}`, { from, to });
    }
  });
  return { items: [...items.values()], edges: [...edges.values()], places };
}
