// A graph in folders: the modules of the user's own code, layers that repeat, parts of what is long.
// Closed folders stand for all that is in them, so that a graph of any size is drawn as some dozens
// of boxes.

const kOpenAtFirst = 60; // what fits a window
const kMostDrawn = 300; // what a layout takes a second for

const known = new Map();

/** Every folder on the way down a path, the outermost first: "a.b" gives ["a", "a.b"]. */
export function foldersOn(path) {
  if (!path) return [];
  if (!known.has(path)) {
    const names = path.split(".");
    known.set(path, names.map((_, i) => names.slice(0, i + 1).join(".")));
  }
  return known.get(path);
}

/** What stands for a node in a folder if only those in `open` are: the folder that hides it, or null. */
function standIn(path, open) {
  return foldersOn(path).find((folder) => !open.has(folder)) ?? null;
}

function drawnCount(picture, open) {
  const hidden = picture.folders.map((path) => standIn(path, open));
  const closed = new Set(hidden.filter((folder) => folder !== null));
  return picture.nodes.reduce((count, node) => count + (hidden[node.folder] === null), closed.size);
}

/** The folders of the pictures by how deep they are, but for repeats and what is in them: those are
 *  opened one by one. */
function levels(pictures) {
  const byDepth = [];
  for (const picture of pictures) {
    const repeats = new Set(picture.repeats);
    for (const path of picture.folders)
      for (const [depth, folder] of foldersOn(path).entries()) {
        if (repeats.has(folder)) break;
        (byDepth[depth] ??= new Set()).add(folder);
      }
  }
  return byDepth;
}

export function openAtFirst(pictures) {
  let open = new Set();
  for (const level of levels(pictures)) {
    const wider = new Set([...open, ...level]);
    if (pictures.some((picture) => drawnCount(picture, wider) > kOpenAtFirst)) break;
    open = wider;
  }
  return open;
}

/** One level more, as far as it can be drawn. */
export function openMore(pictures, open) {
  for (const level of levels(pictures)) {
    const closed = [...level].filter((folder) => !open.has(folder));
    if (closed.length === 0) continue;
    // As many of the level as can be drawn, by halving.
    let [some, tooMany] = [0, closed.length + 1];
    const fits = (count) => {
      const tried = new Set([...open, ...closed.slice(0, count)]);
      return pictures.every((picture) => drawnCount(picture, tried) <= kMostDrawn);
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
  const depth = (folder) => folder.split(".").length;
  const deepest = Math.max(0, ...[...open].map(depth));
  return new Set([...open].filter((folder) => depth(folder) < deepest));
}

/** What is drawn: single nodes, closed folders, and the edges between them. */
export function visible(picture, open) {
  const hidden = picture.folders.map((path) => standIn(path, open));
  const items = new Map();
  const places = picture.nodes.map((node, i) => {
    const folder = hidden[node.folder];
    const id = folder === null ? `n${i}` : `f${folder}`;
    if (!items.has(id)) {
      const parents = folder === null ? foldersOn(picture.folders[node.folder]) : foldersOn(folder).slice(0, -1);
      items.set(id, { id, folder, nodes: [], parents });
    }
    items.get(id).nodes.push(i);
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
