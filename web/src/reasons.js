// Why a node is as it is: from what passes recorded, what survived, and where it runs.

/** The survivor of the report that each permute of the final graphs is. */
export function matchSurvivors(after, survivors) {
  const left = [...survivors];
  const matches = new Map();
  for (const picture of after)
    for (const node of picture.nodes) {
      if (!node.moves) continue;
      const at = left.findIndex((s) => s.shape === node.moves && s.bytes === node.bytes);
      if (at >= 0) matches.set(node, left.splice(at, 1)[0]);
    }
  return matches;
}

/** Lines that say why, for a node of either side. */
export function reasonsFor(node, side, data, survivors) {
  const lines = [];
  const survivor = survivors.get(node);
  if (survivor)
    lines.push(
      `It stands between ${survivor.forced_by.join(" and ")}, which fix the orders on its two sides.`,
      ...data.certificates
    );
  if (node.where) lines.push(`It ${node.where}.`);
  const told = data.reasons.filter((r) => r.value === node.name || (node.origin && r.origin === node.origin));
  for (const reason of told) lines.push(`${reason.pass}: ${reason.value} ${reason.text}`);
  if (side === "before" && node.moves) {
    lines.unshift(`It brings data to and from the order that ${node.origin || "its neighbour"} reads or writes.`);
    if (!told.length) {
      const kept = data.after.some((p) => p.nodes.some((n) => n.moves && n.name === node.name));
      lines.push(kept ? "It is still there." : "It is gone: the ops around it agree on an order.");
    }
  }
  return lines;
}
