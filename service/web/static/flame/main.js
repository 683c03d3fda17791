// The flame graphs of a page: fetches the profiles, draws the zoomed part, and handles pointer, keyboard and address.

import { colour, describe, seen, written } from "./draw.js";
import { build, callees, find, keyOf, lineage, search } from "./tree.js";

const CELL = 20; // pixels
const root = document.querySelector("[data-flame]");

if (root) {
  const addresses = [root.dataset.before, root.dataset.flame].filter(Boolean);
  Promise.all(addresses.map(fetchProfile)).then(start, (error) => {
    root.querySelector("[data-wait]").textContent = `The flame graph cannot be drawn: ${error.message}`;
  });
}

async function fetchProfile(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.json();
}

function start(profiles) {
  const graph = root.querySelector("[data-graph]");
  const part = (name) => root.querySelector(`[data-${name}]`);
  const kinds = [...root.querySelectorAll("[data-kind]")].map((button) => button.dataset.kind);
  const trees = new Map();
  const view = { kind: kinds[0], side: profiles.length - 1, focus: 0, at: 0, hits: new Set() };
  const treeOf = (kind) => {
    if (!trees.has(kind)) trees.set(kind, build(profiles, kind.replace("-", "_")));
    return trees.get(kind);
  };
  const tree = () => treeOf(view.kind);
  let chart, width;

  function draw() {
    width = graph.clientWidth;
    const data = seen(tree(), view.focus, view.side, width);
    if (!chart) {
      graph.replaceChildren();
      chart = globalThis.flamegraph().cellHeight(CELL).transitionDuration(0).inverted(true).resetHeightOnZoom(true)
        .minFrameSize(0).width(width)
        .setColorMapper((d) => colour(tree(), d.data.node))
        .setLabelHandler((d) => describe(tree(), d.data.node, view.kind, view.side))
        .setDetailsHandler(() => {})
        .onClick((d) => zoomTo(d.data.node))
        .onHover((d) => tell(d.data.node));
      const holder = document.createElement("div");
      graph.append(holder);
      globalThis.d3.select(holder).datum(data).call(chart);
      graph.querySelector("svg").setAttribute("aria-hidden", "true");
    } else {
      chart.width(width).update(data);
    }
    fit();
    mark();
  }

  // d3-flame-graph reserves room for a title, and keeps removed frames with zero width: correct both.
  function fit() {
    const svg = graph.querySelector("svg");
    svg.querySelector("text.title")?.remove();
    let deepest = 0;
    for (const frame of svg.querySelectorAll("g.frame")) deepest = Math.max(deepest, frame.__data__.depth);
    svg.setAttribute("height", (deepest + 1) * CELL);
  }

  function mark() {
    for (const frame of graph.querySelectorAll("g.frame")) {
      const { node } = frame.__data__.data;
      frame.toggleAttribute("data-at", node === view.at);
      frame.toggleAttribute("data-hit", view.hits.has(tree().name[node]));
    }
    for (const button of root.querySelectorAll("[data-kind]")) press(button, button.dataset.kind === view.kind);
    for (const button of root.querySelectorAll("[data-side]")) press(button, Number(button.dataset.side) === view.side);
    part("up").disabled = view.focus === 0;
    if (part("width")) part("width").textContent = view.side ? "after" : "before";
  }

  const press = (button, on) => button.setAttribute("aria-pressed", String(on));
  const tell = (node) => { part("reading").textContent = describe(tree(), node, view.kind, view.side); };

  function zoomTo(node) {
    view.focus = view.at = node;
    draw();
    tell(node);
    remember();
  }

  // The zoomed stack is part of the address, so that the link can be shared.
  function remember() {
    const address = new URL(location.href);
    address.hash = view.focus ? `${view.kind}/${keyOf(tree(), view.focus)}` : "";
    history.replaceState(null, "", address);
    part("copy").dataset.copy = address.href;
    part("copy").hidden = !navigator.clipboard || !view.focus;
  }

  // Zooms to the stack in the address. Returns whether the address has one, and the profile contains it.
  function recall() {
    const [kind, key] = location.hash.slice(1).split("/");
    if (!kinds.includes(kind) || !key) return false;
    const node = find(treeOf(kind), key);
    if (node < 0) {
      part("reading").textContent = "This profile does not contain the stack in the address.";
      return false;
    }
    view.kind = kind;
    // If the present side does not contain the node, show the other side.
    if (!tree().values[view.side][node]) view.side = tree().values.findIndex((values) => values[node]);
    zoomTo(node);
    return true;
  }

  // Marks the functions whose names contain the text in the search box, and tells their share.
  function searchFunctions() {
    const text = part("search").value;
    const { hits, share } = search(tree(), text, view.side);
    view.hits = hits;
    mark();
    const found = hits.size === 1 ? "1 function" : `${hits.size} functions`;
    part("reading").textContent = text ? `${found}, ${written(100 * share)} % of all` : "";
  }

  // Selects the callee, the caller or a neighbour of the selected node. If it is outside of the zoomed part, zooms to its
  // caller.
  function moveSelection(key) {
    const below = callees(tree(), view.at, view.side, 0);
    const beside = view.at ? callees(tree(), tree().parent[view.at], view.side, 0) : [0];
    const place = beside.indexOf(view.at);
    const to = { ArrowDown: below[0], ArrowUp: tree().parent[view.at], ArrowLeft: beside[place - 1], ArrowRight: beside[place + 1] }[key];
    if (to === undefined || to < 0) return;
    view.at = to;
    if (!inside(to)) view.focus = Math.max(0, tree().parent[to]);
    draw();
    tell(to);
  }

  const inside = (node) => lineage(tree(), node).includes(view.focus);

  graph.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key.startsWith("Arrow")) moveSelection(event.key);
    else if (event.key === "Enter") zoomTo(view.at);
    else if (event.key === "Escape") zoomTo(0);
    else if (event.key === "/") part("search").focus();
    else return;
    event.preventDefault();
  });
  for (const button of root.querySelectorAll("[data-kind]")) {
    button.addEventListener("click", () => { view.kind = button.dataset.kind; zoomTo(0); searchFunctions(); });
  }
  for (const button of root.querySelectorAll("[data-side]")) {
    button.addEventListener("click", () => { view.side = Number(button.dataset.side); zoomTo(0); });
  }
  part("up").addEventListener("click", () => zoomTo(0));
  part("search").addEventListener("input", searchFunctions);
  // The tables with these links are replaced when the page reloads its content.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-stack]");
    if (!link || !root.isConnected) return; // If the page got other profiles, the link leads to their page.
    event.preventDefault();
    history.replaceState(null, "", `#${link.dataset.stack}`);
    if (recall()) root.scrollIntoView({ block: "nearest" });
  });
  addEventListener("hashchange", recall);
  // A hidden graph has no width: keep the present drawing.
  new ResizeObserver(() => { if (graph.clientWidth && graph.clientWidth !== width) draw(); }).observe(graph);
  part("copy").hidden = true;
  if (!recall()) draw();
  root.toggleAttribute("data-drawn", true);
}
