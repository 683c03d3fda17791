// Charts of several series of a case, one above the other, with the same runs, a common axis, crosshair and zoom.

import { buildConfiguration } from "./config.js";
import { selectPoints } from "./crosshair.js";
import { findAt } from "./nearest_run.js";

const { Chart } = globalThis;

// Returns a function that draws overlaid series below the page's chart, each in its own chart, and one that returns
// these charts.
export function makeSmallMultiples(root, actions) {
  const place = root.querySelector("[data-apart]");
  let charts = [];

  function draw(document_, view, theme) {
    charts.forEach((chart) => chart.destroy());
    charts = [];
    place.replaceChildren();
    place.hidden = view.as !== "apart";
    if (place.hidden) return;
    for (const other of document_.others) {
      const figure = document.createElement("figure");
      const caption = Object.assign(document.createElement("figcaption"), { textContent: other.title });
      const frame = Object.assign(document.createElement("div"), { className: "canvas small" });
      const canvas = document.createElement("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${other.title}, on the axis of the chart above`);
      frame.append(canvas);
      figure.append(caption, frame);
      place.append(figure);
      const alone = { ...document_, ...other, beside: [], gaps: [], flags: [], levels: [], others: [] };
      charts.push(new Chart(canvas, buildConfiguration(alone, { ...view, scale: "linear", small: true }, theme, actions)));
    }
  }

  return { draw, charts: () => charts };
}

// Shows the run at a position of the axis in a chart, because the pointer is there in another chart; null shows no run.
export function showRunAt(chart, value) {
  chart.crosshair = value;
  selectPoints(chart, value === null ? [] : findAt(chart, value));
  chart.render();
}
