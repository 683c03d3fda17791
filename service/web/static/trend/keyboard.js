// Controls the chart by keyboard: arrows move from run to run, Enter opens a run, C picks it, plus and minus zoom.

import { showPoint } from "./crosshair.js";

export function controlByKeys(canvas, { chart, tell, open, pick, reset }) {
  let last = null; // The run that a key has selected. Its index would change when a zoom replaces the points of a long series.

  // The run from which the keys go on: the one in the tooltip, whether the pointer or a key has chosen it.
  const getSelectedRun = () => chart().shown ?? last;

  function listRuns() {
    const { datasets } = chart().data;
    return ["path", "gaps"].flatMap((id) => datasets.find((dataset) => dataset.id === id).data).sort((a, b) => a.x - b.x);
  }

  // The index of the selected run, or of the nearest one if the present points do not contain it. Without a selection,
  // the index before the first run in the window.
  function findSelectedIndex() {
    const run = getSelectedRun();
    if (!run) return listRuns().findIndex(({ x }) => x >= chart().scales.x.min) - 1;
    const distance = (entry) => Math.abs(entry.run.x - run.x);
    return listRuns().reduce((best, stop, index, stops) => (distance(stop) < distance(stops[best]) ? index : best), 0);
  }

  function selectRun(next) {
    const stops = listRuns();
    if (!stops.length) return;
    const entry = stops[Math.max(0, Math.min(next, stops.length - 1))];
    last = entry.run;
    const { min, max } = chart().scales.x;
    if (entry.x < min || entry.x > max) {
      const half = (max - min) / 2;
      chart().zoomScale("x", { min: entry.x - half, max: entry.x + half });
    }
    showPoint(chart(), entry);
    tell(entry.run);
  }

  function clearSelection() {
    last = null;
    showPoint(chart(), null);
  }

  const keys = {
    ArrowRight: () => selectRun(findSelectedIndex() + 1),
    ArrowLeft: () => selectRun(getSelectedRun() ? findSelectedIndex() - 1 : Infinity),
    Home: () => selectRun(0),
    End: () => selectRun(Infinity),
    Enter: () => open(getSelectedRun()),
    c: () => pick(getSelectedRun()),
    "+": () => chart().zoom(1.5),
    "=": () => chart().zoom(1.5),
    "-": () => chart().zoom(1 / 1.5),
    0: reset,
    Escape: () => { clearSelection(); reset(); },
  };

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = event.shiftKey && event.key.startsWith("Arrow")
      ? () => chart().pan({ x: event.key === "ArrowLeft" ? 80 : -80 })
      : keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  canvas.addEventListener("blur", clearSelection);
}
