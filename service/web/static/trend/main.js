// The trend chart of a series page: draws the server's document, and handles the controls around the chart.

import { makeSmallMultiples, showRunAt } from "./small_multiples.js";
import { buildConfiguration, listPoints } from "./config.js";
import { prepareOverlayForm } from "./overlay.js";
import { prepareCopyButton } from "./copy_chart.js";
import { controlByKeys } from "./keyboard.js";
import { registerMode } from "./nearest_run.js";
import { makePicker } from "./picker.js";
import { convertToShares } from "./percent_of_first_value.js";
import { describeRun, formatHeadline } from "./tooltip_text.js";
import { readTheme } from "./theme.js";
import { unpackDocument } from "./unpack.js";

const PATIENCE = 150; // milliseconds without movement before the points of a window are requested

const { Chart } = globalThis;
registerMode(Chart.Interaction);
const root = document.querySelector("[data-trend]");
const canvas = root.querySelector("canvas");
const readDocument = (element) => unpackDocument(JSON.parse(element.textContent), globalThis.commitsOfCharts);
let document_ = readDocument(root.querySelector("script[type='application/json']"));
const reading = root.querySelector("[data-reading]");
const address = new URL(location.href);
const view = {
  by: address.searchParams.get("x") === "time" ? "time" : "commit",
  scale: address.searchParams.get("y") === "log" ? "log" : "linear",
  // Series with several units have no common axis except for relative changes.
  as: document_.others.length ? ["values", "apart"].find((way) => way === address.searchParams.get("as")) ?? "share" : "values",
};
// A logarithmic axis cannot show zero, neither of this series nor of one that is drawn in the same chart.
const canBeLogarithmic = () => document_.logarithmic && (view.as === "apart" || document_.others.every((other) => other.logarithmic));
const getPossibleView = () => ({ ...view, scale: canBeLogarithmic() ? view.scale : "linear" });
const getDrawnDocument = (laidOut) => {
  if (view.as === "apart") return { ...laidOut, others: [] };
  return view.as === "share" ? convertToShares(laidOut) : laidOut;
};

const ZOOM = ["from", "to"];
const zoomed = ZOOM.map((name) => Number.parseFloat(address.searchParams.get(name)));

const openRun = (run) => { if (run?.url) location.assign(run.url); };
const picks = makePicker(root);
const actions = {
  choose: (run) => (picks.active() ? picks.pick(run) : openRun(run)),
  pointed: (from, place) => listOtherCharts(from).forEach((other) => showRunAt(other, place)),
  moved: ({ chart: from }) => applyZoom(from),
  unlabelled: showUnlabelledCount,
};
const below = makeSmallMultiples(root, actions);
let chart, waiting, following = false;

function listOtherCharts(from) { return [chart, ...below.charts()].filter((other) => other && other !== from); }

// Applies the zoom of one chart to all charts.
function applyZoom(from) {
  if (following) return;
  following = true;
  const { min, max } = from.scales.x;
  for (const other of listOtherCharts(from)) {
    if (from.isZoomedOrPanned()) other.zoomScale("x", { min, max }, "none");
    else other.resetZoom("none");
  }
  following = false;
  requestWindow();
}

// Says in the legend how many configuration changes of the window have no label.
function showUnlabelledCount(count) {
  const note = root.querySelector("[data-unlabelled]");
  if (note) note.textContent = count ? ` (${count} without a label, for lack of room: point at the lines, or zoom in)` : "";
}

function drawChart() {
  chart?.destroy();
  Chart.defaults.font.family = readTheme().font;
  Chart.defaults.locale = "en";
  const shown = getPossibleView();
  chart = new Chart(canvas, buildConfiguration(getDrawnDocument(document_), shown, readTheme(), actions));
  below.draw(document_, shown, readTheme());
  for (const part of root.querySelectorAll("[data-shown]")) part.hidden = view.as !== part.dataset.shown;
  for (const button of root.querySelectorAll("[data-set]")) {
    button.setAttribute("aria-pressed", String(shown[button.dataset.set] === button.value));
    if (button.value === "log") {
      button.disabled = !canBeLogarithmic();
      button.title = button.disabled ? "A logarithmic axis cannot show zero" : "";
    }
  }
}

function resetZoom() { chart.resetZoom(); applyZoom(chart); }

function zoomTo([min, max]) {
  if (Number.isFinite(min) && Number.isFinite(max) && min < max) chart.zoomScale("x", { min, max });
  applyZoom(chart);
}

function storeView() {
  // The view is part of the address, so that a link to it can be shared.
  const usual = document_.others.length ? "share" : "values";
  for (const [key, value, plain] of [["x", view.by, "commit"], ["y", getPossibleView().scale, "linear"], ["as", view.as, usual]]) {
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
    storeView();
    if (!document_.thinned) return;
    const { min, max } = chart.scales.x;
    const found = await fetchDocument(chart.isZoomedOrPanned() ? { from: min, to: max, x: view.by } : {});
    if (!found || chart.scales.x.min !== min || chart.scales.x.max !== max) return;
    const laid = listPoints(getDrawnDocument(found), view.by);
    for (const dataset of chart.data.datasets) if (laid[dataset.id]) dataset.data = laid[dataset.id];
    chart.update("none");
    for (const [index, other] of below.charts().entries()) {
      other.data.datasets.find(({ id }) => id === "path").data = listPoints({ ...found, ...found.others[index], beside: [], others: [] }, view.by).path;
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
  drawChart();
  if (zoomed) chart.zoomScale("x", { min, max });
  applyZoom(chart);
});

for (const button of root.querySelectorAll("[data-set]")) {
  button.addEventListener("click", () => {
    // Slots and times are different scales, so a window of one is meaningless in the other.
    const { min, max } = chart.scales.x;
    const window_ = chart.isZoomedOrPanned() && button.dataset.set !== "by" ? [min, max] : [];
    view[button.dataset.set] = button.value;
    drawChart();
    zoomTo(window_);
    storeView();
  });
}
root.querySelector("[data-reset]").addEventListener("click", resetZoom);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawChart);
controlByKeys(canvas, {
  chart: () => chart,
  open: openRun,
  pick: picks.pick,
  reset: resetZoom,
  tell: (run) => { reading.textContent = [formatHeadline(run), ...("y" in run ? describeRun(run, getDrawnDocument(document_).unit, { host: document_.host }) : [run.text])].join(" · "); },
});
drawChart();
zoomTo(zoomed);
requestWindow();
prepareCopyButton(root, canvas, () => {
  const { text, ...colours } = readTheme();
  const { title, place } = root.dataset;
  const others = view.as === "apart" ? [] : document_.others;
  return [
    { text: title, colour: text },
    { text: place, colour: text },
    ...others.map((other, index) => ({ text: other.title, colour: colours[`over-${index + 1}`] })),
  ];
});
prepareOverlayForm(root, address, ZOOM);
