// The trend chart of a series page: draws the server's document, and handles the controls around the chart.

import { makeSmallMultiples, showRunAt } from "./small_multiples.js";
import { buildConfiguration, points } from "./config.js";
import { prepareOverlayForm } from "./overlay.js";
import { prepareCopyButton } from "./copy.js";
import { controlByKeys } from "./keyboard.js";
import { register } from "./nearest.js";
import { makePicker } from "./picker.js";
import { shares } from "./share.js";
import { describe, headline } from "./text.js";
import { theme } from "./theme.js";
import { unpack } from "./unpack.js";

const PATIENCE = 150; // milliseconds without movement before the points of a window are requested

const { Chart } = globalThis;
register(Chart.Interaction);
const root = document.querySelector("[data-trend]");
const canvas = root.querySelector("canvas");
const document_of = (element) => unpack(JSON.parse(element.textContent), globalThis.commitsOfCharts);
let document_ = document_of(root.querySelector("script[type='application/json']"));
const reading = root.querySelector("[data-reading]");
const address = new URL(location.href);
const view = {
  by: address.searchParams.get("x") === "time" ? "time" : "commit",
  scale: address.searchParams.get("y") === "log" ? "log" : "linear",
  // Series with several units have no common axis except for relative changes.
  as: document_.others.length ? ["values", "apart"].find((way) => way === address.searchParams.get("as")) ?? "share" : "values",
};
// A logarithmic axis cannot show zero, neither of this series nor of one that is drawn in the same chart.
const logarithmic = () => document_.logarithmic && (view.as === "apart" || document_.others.every((other) => other.logarithmic));
const possible = () => ({ ...view, scale: logarithmic() ? view.scale : "linear" });
const drawn = (laidOut) => {
  if (view.as === "apart") return { ...laidOut, others: [] };
  return view.as === "share" ? shares(laidOut) : laidOut;
};

const ZOOM = ["from", "to"];
const zoomed = ZOOM.map((name) => Number.parseFloat(address.searchParams.get(name)));

const open = (run) => { if (run?.url) location.assign(run.url); };
const picks = makePicker(root);
const actions = {
  choose: (run) => (picks.active() ? picks.pick(run) : open(run)),
  pointed: (from, place) => others(from).forEach((other) => showRunAt(other, place)),
  moved: ({ chart: from }) => follow(from),
  unlabelled: tellUnlabelled,
};
const below = makeSmallMultiples(root, actions);
let chart, waiting, following = false;

function others(from) { return [chart, ...below.charts()].filter((other) => other && other !== from); }

// Applies the zoom of one chart to all charts.
function follow(from) {
  if (following) return;
  following = true;
  const { min, max } = from.scales.x;
  for (const other of others(from)) {
    if (from.isZoomedOrPanned()) other.zoomScale("x", { min, max }, "none");
    else other.resetZoom("none");
  }
  following = false;
  requestWindow();
}

// Says in the legend how many configuration changes of the window have no label.
function tellUnlabelled(count) {
  const note = root.querySelector("[data-unlabelled]");
  if (note) note.textContent = count ? ` (${count} without a label, for lack of room: point at the lines, or zoom in)` : "";
}

function draw() {
  chart?.destroy();
  Chart.defaults.font.family = theme().font;
  Chart.defaults.locale = "en";
  const shown = possible();
  chart = new Chart(canvas, buildConfiguration(drawn(document_), shown, theme(), actions));
  below.draw(document_, shown, theme());
  for (const part of root.querySelectorAll("[data-shown]")) part.hidden = view.as !== part.dataset.shown;
  for (const button of root.querySelectorAll("[data-set]")) {
    button.setAttribute("aria-pressed", String(shown[button.dataset.set] === button.value));
    if (button.value === "log") {
      button.disabled = !logarithmic();
      button.title = button.disabled ? "A logarithmic axis cannot show zero" : "";
    }
  }
}

function reset() { chart.resetZoom(); follow(chart); }

function zoomTo([min, max]) {
  if (Number.isFinite(min) && Number.isFinite(max) && min < max) chart.zoomScale("x", { min, max });
  follow(chart);
}

function remember() {
  // The view is part of the address, so that a link to it can be shared.
  const usual = document_.others.length ? "share" : "values";
  for (const [key, value, plain] of [["x", view.by, "commit"], ["y", possible().scale, "linear"], ["as", view.as, usual]]) {
    if (value === plain) address.searchParams.delete(key);
    else address.searchParams.set(key, value);
  }
  const { min, max } = chart.scales.x;
  for (const [index, name] of ZOOM.entries()) {
    if (chart.isZoomedOrPanned()) address.searchParams.set(name, String(Number([min, max][index].toFixed(2))));
    else address.searchParams.delete(name);
  }
  history.replaceState(null, "", address);
}

// Once the window rests, puts it into the address. A long series is thinned by the server: the points of the window are
// then requested, and replace the others.
function requestWindow() {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    remember();
    if (!document_.thinned) return;
    const { min, max } = chart.scales.x;
    const found = await fetchDocument(chart.isZoomedOrPanned() ? { from: min, to: max, x: view.by } : {});
    if (!found || chart.scales.x.min !== min || chart.scales.x.max !== max) return;
    const laid = points(drawn(found), view.by);
    for (const dataset of chart.data.datasets) if (laid[dataset.id]) dataset.data = laid[dataset.id];
    chart.update("none");
    for (const [index, other] of below.charts().entries()) {
      other.data.datasets.find(({ id }) => id === "path").data = points({ ...found, ...found.others[index], beside: [], others: [] }, view.by).path;
      other.update("none");
    }
  }, PATIENCE);
}

// The document of the series, or of a window of it; null if the service does not answer with one.
async function fetchDocument(window_) {
  const from = new URL(root.dataset.trend, location.href);
  for (const id of address.searchParams.getAll("with")) from.searchParams.append("with", id);
  for (const [name, value] of Object.entries(window_)) from.searchParams.set(name, value);
  try {
    const answer = await fetch(from);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null; // Keep the present drawing until the service answers again.
  }
}

// Adds new runs without reloading the page, and keeps the visible window.
document.addEventListener("faultwatch:changed", async () => {
  const found = await fetchDocument({});
  if (!found) return;
  const { min, max } = chart.scales.x;
  const zoomed = chart.isZoomedOrPanned();
  document_ = found;
  draw();
  if (zoomed) chart.zoomScale("x", { min, max });
  follow(chart);
});

for (const button of root.querySelectorAll("[data-set]")) {
  button.addEventListener("click", () => {
    // Slots and times are different scales, so a window of one is meaningless in the other.
    const { min, max } = chart.scales.x;
    const window_ = chart.isZoomedOrPanned() && button.dataset.set !== "by" ? [min, max] : [];
    view[button.dataset.set] = button.value;
    draw();
    zoomTo(window_);
    remember();
  });
}
root.querySelector("[data-reset]").addEventListener("click", reset);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
controlByKeys(canvas, {
  chart: () => chart,
  open,
  pick: picks.pick,
  reset,
  tell: (run) => { reading.textContent = [headline(run), ...("y" in run ? describe(run, drawn(document_).unit, { host: document_.host }) : [run.text])].join(" · "); },
});
draw();
zoomTo(zoomed);
requestWindow();
prepareCopyButton(root, canvas, () => {
  const { text, ...colours } = theme();
  const { title, place } = root.dataset;
  const others = view.as === "apart" ? [] : document_.others;
  return [
    { text: title, colour: text },
    { text: place, colour: text },
    ...others.map((other, index) => ({ text: other.title, colour: colours[`over-${index + 1}`] })),
  ];
});
prepareOverlayForm(root, address, ZOOM);
