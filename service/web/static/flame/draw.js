// Converts a part of a tree into the input of d3-flame-graph: names prefixed by the change, and colours of the theme.

import { listCallees, listPath } from "./tree.js";

const MIN_PIXELS = 4; // Narrower frames cannot be hit with the pointer. They appear when their caller is zoomed to.
const LARGE_CHANGE = 0.25; // A change by this share of the whole, or more, has the strongest colour.

/** The frames to draw for a zoomed node: its callers, and all descendants that are wide enough to be visible. */
export function buildFrames(tree, focus, side, width) {
  const whole = tree.values[side][focus];
  const minValue = (MIN_PIXELS / Math.max(width, 1)) * whole;
  const makeFrame = (node, value) => ({ node, value, name: formatLabel(tree, node), children: [] });
  const path = listPath(tree, focus).map((node) => makeFrame(node, whole));
  path.forEach((frame, index) => { if (index + 1 < path.length) frame.children.push(path[index + 1]); });
  const pending = [path[path.length - 1]];
  while (pending.length) {
    const caller = pending.pop();
    for (const node of listCallees(tree, caller.node, side, minValue)) {
      const frame = makeFrame(node, tree.values[side][node]);
      caller.children.push(frame);
      pending.push(frame);
    }
  }
  return path[0];
}

/** The growth of a node's share of the whole; 0 without an earlier profile. */
export function computeGrowth(tree, node) {
  if (tree.values.length < 2) return 0;
  const scale = Math.max(tree.values[0][0], tree.values[1][0]) || 1;
  return (tree.values[1][node] - tree.values[0][node]) / scale;
}

function formatLabel(tree, node) {
  const text = tree.names[tree.name[node]].text;
  const points = 100 * computeGrowth(tree, node);
  return Math.abs(points) < 0.1 ? text : `${points > 0 ? "+" : "−"}${Math.abs(points).toFixed(1)} ${text}`;
}

/** The colour of a frame: by the origin of its code, or in a comparison by its change. */
export function chooseColour(tree, node) {
  if (tree.values.length > 1) {
    const change = computeGrowth(tree, node);
    if (Math.abs(change) < 0.001) return "var(--sunken)";
    const strength = Math.round(10 + 45 * Math.min(1, Math.abs(change) / LARGE_CHANGE));
    return `color-mix(in srgb, var(--heat-${change > 0 ? "worse" : "better"}) ${strength}%, var(--card))`;
  }
  const { text, module } = tree.names[tree.name[node]];
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return `color-mix(in srgb, var(--flame-${classifyModule(module)}) ${26 + Math.abs(hash) % 20}%, var(--card))`;
}

function classifyModule(module) {
  if (!module || module.startsWith("[")) return "kernel";
  return /^\/(usr|lib(32|64|x32)?)\//.test(module) ? "library" : "own";
}

/** The description of a frame in words. */
export function describeFrame(tree, node, kind, side) {
  const { text, module, file } = tree.names[tree.name[node]];
  const place = file ? `${file}${tree.line[node] ? `:${tree.line[node]}` : ""}` : module;
  const whole = tree.values[side][0] || 1;
  const share = `${formatNumber((100 * tree.values[side][node]) / whole)} %`;
  if (tree.values.length < 2) return [text, place, `${formatAmount(tree.values[0][node], kind)}, ${share}`].filter(Boolean).join(" · ");
  const [before, after] = tree.values.map((values) => values[node]);
  const change = after - before;
  const sign = change > 0 ? "grew by" : change < 0 ? "shrank by" : "the same";
  const comparison = `${formatAmount(before, kind)} → ${formatAmount(after, kind)}: ${sign}${change ? ` ${formatAmount(Math.abs(change), kind)}` : ""}`;
  return [text, place, comparison].filter(Boolean).join(" · ");
}

function formatAmount(value, kind) {
  if (kind === "faults") return `${Math.round(value).toLocaleString("en")} fault${value === 1 ? "" : "s"}`;
  const [size, unit] = value >= 1e9 ? [1e9, "s"] : value >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
  return `${formatNumber(value / size)} ${unit}`;
}

/** A number with three significant digits; never with an exponent, as toPrecision would write 1,234. */
export function formatNumber(value) {
  return value.toLocaleString("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
}
