// Converts a part of a tree into the input of d3-flame-graph: names prefixed by the change, and colours of the theme.

import { callees, lineage } from "./tree.js";

const LEAST_PIXELS = 4; // Narrower frames cannot be hit with the pointer. They appear when their caller is zoomed to.
const LARGE = 0.25; // A change by this share of the whole, or more, has the strongest colour.

/** The frames to draw for a zoomed node: its callers, and all descendants that are wide enough to be visible. */
export function seen(tree, focus, side, width) {
  const whole = tree.values[side][focus];
  const least = (LEAST_PIXELS / Math.max(width, 1)) * whole;
  const made = (node, value) => ({ node, value, name: label(tree, node), children: [] });
  const way = lineage(tree, focus).map((node) => made(node, whole));
  way.forEach((one, place) => { if (place + 1 < way.length) one.children.push(way[place + 1]); });
  const waiting = [way[way.length - 1]];
  while (waiting.length) {
    const above = waiting.pop();
    for (const node of callees(tree, above.node, side, least)) {
      const one = made(node, tree.values[side][node]);
      above.children.push(one);
      waiting.push(one);
    }
  }
  return way[0];
}

/** The growth of a node's share of the whole; 0 without an earlier profile. */
export function growth(tree, node) {
  if (tree.values.length < 2) return 0;
  const scale = Math.max(tree.values[0][0], tree.values[1][0]) || 1;
  return (tree.values[1][node] - tree.values[0][node]) / scale;
}

function label(tree, node) {
  const text = tree.names[tree.name[node]].text;
  const points = 100 * growth(tree, node);
  return Math.abs(points) < 0.1 ? text : `${points > 0 ? "+" : "−"}${Math.abs(points).toFixed(1)} ${text}`;
}

/** The colour of a frame: by the origin of its code, or in a comparison by its change. */
export function colour(tree, node) {
  if (tree.values.length > 1) {
    const change = growth(tree, node);
    if (Math.abs(change) < 0.001) return "var(--sunken)";
    const strength = Math.round(10 + 45 * Math.min(1, Math.abs(change) / LARGE));
    return `color-mix(in srgb, var(--heat-${change > 0 ? "worse" : "better"}) ${strength}%, var(--card))`;
  }
  const { text, module } = tree.names[tree.name[node]];
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return `color-mix(in srgb, var(--flame-${origin(module)}) ${26 + Math.abs(hash) % 20}%, var(--card))`;
}

function origin(module) {
  if (!module || module.startsWith("[")) return "kernel";
  return /^\/(usr|lib(32|64|x32)?)\//.test(module) ? "library" : "own";
}

/** The description of a frame in words. */
export function describe(tree, node, kind, side) {
  const { text, module, file } = tree.names[tree.name[node]];
  const place = file ? `${file}${tree.line[node] ? `:${tree.line[node]}` : ""}` : module;
  const whole = tree.values[side][0] || 1;
  const share = `${written((100 * tree.values[side][node]) / whole)} %`;
  if (tree.values.length < 2) return [text, place, `${amount(tree.values[0][node], kind)}, ${share}`].filter(Boolean).join(" · ");
  const [before, after] = tree.values.map((values) => values[node]);
  const change = after - before;
  const sign = change > 0 ? "grew by" : change < 0 ? "shrank by" : "the same";
  const told = `${amount(before, kind)} → ${amount(after, kind)}: ${sign}${change ? ` ${amount(Math.abs(change), kind)}` : ""}`;
  return [text, place, told].filter(Boolean).join(" · ");
}

function amount(value, kind) {
  if (kind === "faults") return `${Math.round(value).toLocaleString("en")} fault${value === 1 ? "" : "s"}`;
  const [size, unit] = value >= 1e9 ? [1e9, "s"] : value >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
  return `${written(value / size)} ${unit}`;
}

/** A number with three significant digits; never with an exponent, as toPrecision would write 1,234. */
export function written(value) {
  return value.toLocaleString("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
}
