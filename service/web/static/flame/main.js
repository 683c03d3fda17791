// The flame graphs of a page: fetches the profiles, draws the zoomed part, and handles pointer, keyboard and address.

import { chooseColour, describeFrame, buildFrames, formatNumber } from "./draw.js";
import { buildTree, listCallees, findNode, computeKey, listPath, searchNames } from "./tree.js";

const CELL = 20; // pixels
const root = document.querySelector("[data-flame]");

if (root) {
  const addresses = [root.dataset.before, root.dataset.flame].filter(Boolean);
  Promise.all(addresses.map(fetchProfile)).then(startGraph, (error) => {
    root.querySelector("[data-wait]").textContent = `The flame graph cannot be drawn: ${error.message}`;
  });
}

async function fetchProfile(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.json();
}

function startGraph(profiles) {
  const graph = root.querySelector("[data-graph]");
  const findPart = (name) => root.querySelector(`[data-${name}]`);
  const kinds = [...root.querySelectorAll("[data-kind]")].map((button) => button.dataset.kind);
  const trees = new Map();
  const view = { kind: kinds[0], side: profiles.length - 1, focus: 0, at: 0, hits: new Set() };
  const getTree = (kind) => {
    if (!trees.has(kind)) trees.set(kind, buildTree(profiles, kind.replace("-", "_")));
    return trees.get(kind);
  };
  const getShownTree = () => getTree(view.kind);
  let chart, width;

  function drawGraph() {
    width = graph.clientWidth;
    const data = buildFrames(getShownTree(), view.focus, view.side, width);
    if (!chart) {
      graph.replaceChildren();
      chart = globalThis.flamegraph().cellHeight(CELL).transitionDuration(0).inverted(true).resetHeightOnZoom(true)
        .minFrameSize(0).width(width)
        .setColorMapper((d) => chooseColour(getShownTree(), d.data.node))
        .setLabelHandler((d) => describeFrame(getShownTree(), d.data.node, view.kind, view.side))
        .setDetailsHandler(() => {})
        .onClick((d) => zoomTo(d.data.node))
        .onHover((d) => showDescription(d.data.node));
      const holder = document.createElement("div");
      graph.append(holder);
      globalThis.d3.select(holder).datum(data).call(chart);
      graph.querySelector("svg").setAttribute("aria-hidden", "true");
    } else {
      chart.width(width).update(data);
    }
    fitHeight();
    markFrames();
  }

  // d3-flame-graph reserves room for a title, and keeps removed frames with zero width: correct both.
  function fitHeight() {
    const svg = graph.querySelector("svg");
    svg.querySelector("text.title")?.remove();
    let deepest = 0;
    for (const frame of svg.querySelectorAll("g.frame")) deepest = Math.max(deepest, frame.__data__.depth);
    svg.setAttribute("height", (deepest + 1) * CELL);
  }

  function markFrames() {
    for (const frame of graph.querySelectorAll("g.frame")) {
      const { node } = frame.__data__.data;
      frame.toggleAttribute("data-at", node === view.at);
      frame.toggleAttribute("data-hit", view.hits.has(getShownTree().name[node]));
    }
    for (const button of root.querySelectorAll("[data-kind]")) setPressed(button, button.dataset.kind === view.kind);
    for (const button of root.querySelectorAll("[data-side]")) setPressed(button, Number(button.dataset.side) === view.side);
    findPart("up").disabled = view.focus === 0;
    if (findPart("width")) findPart("width").textContent = view.side ? "after" : "before";
  }

  const setPressed = (button, on) => button.setAttribute("aria-pressed", String(on));
  const showDescription = (node) => { findPart("reading").textContent = describeFrame(getShownTree(), node, view.kind, view.side); };

  function zoomTo(node) {
    view.focus = view.at = node;
    drawGraph();
    showDescription(node);
    storeInAddress();
  }

  // The zoomed stack is part of the address, so that the link can be shared.
  function storeInAddress() {
    const address = new URL(location.href);
    address.hash = view.focus ? `${view.kind}/${computeKey(getShownTree(), view.focus)}` : "";
    history.replaceState(null, "", address);
    findPart("copy").dataset.copy = address.href;
    findPart("copy").hidden = !navigator.clipboard || !view.focus;
  }

  // Zooms to the stack in the address. Returns whether the address has one, and the profile contains it.
  function zoomToAddress() {
    const [kind, key] = location.hash.slice(1).split("/");
    if (!kinds.includes(kind) || !key) return false;
    const node = findNode(getTree(kind), key);
    if (node < 0) {
      findPart("reading").textContent = "This profile does not contain the stack in the address.";
      return false;
    }
    view.kind = kind;
    // If the present side does not contain the node, show the other side.
    if (!getShownTree().values[view.side][node]) view.side = getShownTree().values.findIndex((values) => values[node]);
    zoomTo(node);
    return true;
  }

  // Marks the functions whose names contain the text in the search box, and tells their share.
  function searchFunctions() {
    const text = findPart("search").value;
    const { hits, share } = searchNames(getShownTree(), text, view.side);
    view.hits = hits;
    markFrames();
    const found = hits.size === 1 ? "1 function" : `${hits.size} functions`;
    findPart("reading").textContent = text ? `${found}, ${formatNumber(100 * share)} % of all` : "";
  }

  // Selects the callee, the caller or a neighbour of the selected node. If it is outside of the zoomed part, zooms to its
  // caller.
  function moveSelection(key) {
    const below = listCallees(getShownTree(), view.at, view.side, 0);
    const beside = view.at ? listCallees(getShownTree(), getShownTree().parent[view.at], view.side, 0) : [0];
    const place = beside.indexOf(view.at);
    const to = { ArrowDown: below[0], ArrowUp: getShownTree().parent[view.at], ArrowLeft: beside[place - 1], ArrowRight: beside[place + 1] }[key];
    if (to === undefined || to < 0) return;
    view.at = to;
    if (!isInside(to)) view.focus = Math.max(0, getShownTree().parent[to]);
    drawGraph();
    showDescription(to);
  }

  const isInside = (node) => listPath(getShownTree(), node).includes(view.focus);

  graph.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key.startsWith("Arrow")) moveSelection(event.key);
    else if (event.key === "Enter") zoomTo(view.at);
    else if (event.key === "Escape") zoomTo(0);
    else if (event.key === "/") findPart("search").focus();
    else return;
    event.preventDefault();
  });
  for (const button of root.querySelectorAll("[data-kind]")) {
    button.addEventListener("click", () => { view.kind = button.dataset.kind; zoomTo(0); searchFunctions(); });
  }
  for (const button of root.querySelectorAll("[data-side]")) {
    button.addEventListener("click", () => { view.side = Number(button.dataset.side); zoomTo(0); });
  }
  findPart("up").addEventListener("click", () => zoomTo(0));
  findPart("search").addEventListener("input", searchFunctions);
  // The tables with these links are replaced when the page reloads its content.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-stack]");
    if (!link || !root.isConnected) return; // If the page got other profiles, the link leads to their page.
    event.preventDefault();
    history.replaceState(null, "", `#${link.dataset.stack}`);
    if (zoomToAddress()) root.scrollIntoView({ block: "nearest" });
  });
  addEventListener("hashchange", zoomToAddress);
  // A hidden graph has no width: keep the present drawing.
  new ResizeObserver(() => { if (graph.clientWidth && graph.clientWidth !== width) drawGraph(); }).observe(graph);
  findPart("copy").hidden = true;
  if (!zoomToAddress()) drawGraph();
  root.toggleAttribute("data-drawn", true);
}
