// Why a node is as it is: from what passes recorded, what survived, and where it runs.

const kMostTold = 32;

/** The survivor of the report that each permute of the final graphs is. */
export function matchSurvivors(after, survivors) {
  const key = (shape, bytes) => `${bytes} ${shape}`;
  const left = Map.groupBy([...survivors].reverse(), (s) => key(s.shape, s.bytes));
  const matches = new Map();
  for (const picture of after)
    for (const node of picture.nodes) {
      const survivor = node.moves && left.get(key(node.moves, node.bytes))?.pop();
      if (survivor) matches.set(node, survivor);
    }
  return matches;
}

/** Finds the reasons about a value, and those about a node of the model. */
export function indexReasons(reasons) {
  return {
    byValue: Map.groupBy(reasons, (reason) => reason.value),
    byOrigin: Map.groupBy(reasons, (reason) => reason.origin),
  };
}

/** First what is about the node itself, then what is about others of its origin. */
function toldAbout(node, index) {
  const own = index.byValue.get(node.name) ?? [];
  const others = (node.origin && index.byOrigin.get(node.origin)) || [];
  return [...own, ...others.filter((reason) => reason.value !== node.name)];
}

/** Lines that say why, for a node of either side. */
export function reasonsFor(node, side, data, index, survivors) {
  const lines = [];
  const survivor = survivors.get(node);
  if (survivor)
    lines.push(
      `It stands between ${survivor.forced_by.join(" and ")}, which fix the orders on its two sides.`,
      ...data.certificates
    );
  if (node.where) lines.push(`It ${node.where}.`);
  const told = toldAbout(node, index);
  for (const reason of told.slice(0, kMostTold)) lines.push(`${reason.pass}: ${reason.value} ${reason.text}`);
  if (told.length > kMostTold) lines.push(`And ${told.length - kMostTold} more about ${node.origin || node.name}.`);
  if (side === "before" && node.moves) {
    lines.unshift(`It brings data to and from the order that ${node.origin || "its neighbour"} reads or writes.`);
    if (!told.length) {
      const kept = data.after.some((p) => p.nodes.some((n) => n.moves && n.name === node.name));
      lines.push(kept ? "It is still there." : "It is gone: the ops around it agree on an order.");
    }
  }
  return lines;
}
