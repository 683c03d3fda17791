// The trend chart of a series page: draws what the server laid out, and follows the controls around it.

import { configuration } from "./config.js";
import { walk } from "./keyboard.js";
import { describe } from "./text.js";
import { theme } from "./theme.js";

const { Chart } = globalThis;
const root = document.querySelector("[data-trend]");
const canvas = root.querySelector("canvas");
const document_ = JSON.parse(root.querySelector("script[type='application/json']").textContent);
const reading = root.querySelector("[data-reading]");
const address = new URL(location.href);
const view = {
  by: address.searchParams.get("x") === "time" ? "time" : "commit",
  scale: address.searchParams.get("y") === "log" && document_.logarithmic ? "log" : "linear",
};

const actions = { open: (run) => { if (run) location.assign(run.url); } };
let chart;

function draw() {
  chart?.destroy();
  Chart.defaults.font.family = theme().font;
  Chart.defaults.locale = "en";
  chart = new Chart(canvas, configuration(document_, view, theme(), actions));
  for (const button of root.querySelectorAll("[data-set]")) {
    button.setAttribute("aria-pressed", String(view[button.dataset.set] === button.value));
  }
}

function reset() { chart.resetZoom(); }

function remember() {
  // The view is part of the address, so that what one sees can be sent to somebody.
  for (const [key, value, plain] of [["x", view.by, "commit"], ["y", view.scale, "linear"]]) {
    if (value === plain) address.searchParams.delete(key);
    else address.searchParams.set(key, value);
  }
  history.replaceState(null, "", address);
}

for (const button of root.querySelectorAll("[data-set]")) {
  button.addEventListener("click", () => {
    view[button.dataset.set] = button.value;
    remember();
    draw();
  });
}
root.querySelector("[data-reset]").addEventListener("click", reset);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
walk(canvas, {
  chart: () => chart,
  open: actions.open,
  reset,
  tell: (run) => { reading.textContent = [`${run.commit} ${run.title}`, ...describe(run, document_.unit)].join(" · "); },
});
draw();
