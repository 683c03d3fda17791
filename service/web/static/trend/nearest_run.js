// The target of the pointer: the nearest run along the axis or, on a line of changed settings, the run after it.
// Registered as an interaction mode, so that Chart.js uses it for tooltips and hovering.

import { findLineAt } from "./setting_lines.js";

const SAME = 0.5; // pixels within which points count as being at the same place
const FIRST = ["path", "beside", "gaps"]; // the datasets that the pointer can hit; the tooltip adds other series

export function registerMode(Interaction) {
  Interaction.modes.run = (chart, event) => findNearest(chart, event);
}

// The run at the nearest place, and one of each overlaid series.
export function findNearest(chart, { x, y }) {
  if (!chart.chartArea) return []; // not laid out yet
  const { left, right, bottom } = chart.chartArea;
  if (x < left || x > right || y > bottom) return [];
  const line = findLineAt(chart, { x, y });
  if (line) return findRunAfter(chart, line);
  if (y < chart.chartArea.top) return [];
  const candidates = FIRST.flatMap((id) => listElements(chart, id));
  const distance = Math.min(...candidates.map(({ element }) => Math.abs(element.x - x)));
  const near = candidates.filter(({ element }) => Math.abs(element.x - x) <= distance + SAME);
  near.sort((one, other) => Math.abs(one.element.y - y) - Math.abs(other.element.y - y));
  return near.length ? [near[0], ...findOverlaid(chart, near[0])] : [];
}

// The points at a position of the axis, for a pointer in another chart.
export function findAt(chart, value) {
  const x = chart.scales.x.getPixelForValue(value);
  const own = FIRST.flatMap((id) => listElements(chart, id)).filter(({ element }) => Math.abs(element.x - x) <= SAME);
  return own.slice(0, 1);
}

// The point of a run, and one of each overlaid series; none if the run is not in the window.
export function findRun(chart, { x, url, text }) {
  const isSame = ({ datasetIndex, index }) => {
    const { run } = chart.data.datasets[datasetIndex].data[index];
    return run.x === x && run.url === url && run.text === text;
  };
  const own = FIRST.flatMap((id) => listElements(chart, id)).find(isSame);
  return own ? [own, ...findOverlaid(chart, own)] : [];
}

function findRunAfter(chart, line) {
  const [first] = listElements(chart, "path").filter(({ element }) => element.x > chart.scales.x.getPixelForValue(line.at));
  return first ? [first, ...findOverlaid(chart, first)] : [];
}

// Of each overlaid series, the run at the same commit, or the nearest one if it has none.
function findOverlaid(chart, own) {
  const runOf = ({ datasetIndex, index }) => chart.data.datasets[datasetIndex].data[index].run;
  const isOther = (point) => runOf(point).commit !== runOf(own).commit;
  const aside = ({ element }) => Math.abs(element.x - own.element.x);
  const sets = chart.data.datasets.filter(({ id, hidden }) => id.startsWith("over-") && !hidden);
  return sets.flatMap(({ id }) => listElements(chart, id)
    .sort((one, other) => isOther(one) - isOther(other) || aside(one) - aside(other))
    .slice(0, 1));
}

function listElements(chart, id) {
  const datasetIndex = chart.data.datasets.findIndex((dataset) => dataset.id === id);
  if (datasetIndex < 0) return [];
  const { min, max } = chart.scales.x;
  const { data } = chart.data.datasets[datasetIndex];
  return chart.getDatasetMeta(datasetIndex).data
    .map((element, index) => ({ element, datasetIndex, index }))
    .filter(({ index }) => data[index]?.run && data[index].x >= min && data[index].x <= max);
}
