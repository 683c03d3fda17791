// Controls the chart by keyboard: arrows move from run to run, Enter opens a run, C picks it, plus and minus zoom.

export function controlByKeys(canvas, { chart, tell, open, pick, reset }) {
  let current = null; // The selected run. Its index would change when a zoom replaces the points of a long series.

  function runs() {
    const stops = [];
    for (const id of ["path", "gaps"]) {
      const datasetIndex = chart().data.datasets.findIndex((dataset) => dataset.id === id);
      chart().data.datasets[datasetIndex].data.forEach((entry, index) => stops.push({ datasetIndex, index, entry }));
    }
    return stops.sort((a, b) => a.entry.x - b.entry.x);
  }

  // The index of the selected run, or of the nearest one if the present points do not contain it; -1 without a selection.
  function place() {
    if (!current) return -1;
    const distance = ({ entry }) => Math.abs(entry.run.x - current.x);
    return runs().reduce((best, stop, index, stops) => (distance(stop) < distance(stops[best]) ? index : best), 0);
  }

  function select(next) {
    const stops = runs();
    if (!stops.length) return;
    const { datasetIndex, index, entry } = stops[Math.max(0, Math.min(next, stops.length - 1))];
    current = entry.run;
    const { min, max } = chart().scales.x;
    if (entry.x < min || entry.x > max) {
      const half = (max - min) / 2;
      chart().zoomScale("x", { min: entry.x - half, max: entry.x + half });
    }
    const element = chart().getDatasetMeta(datasetIndex).data[index];
    chart().setActiveElements([{ datasetIndex, index }]);
    chart().tooltip.setActiveElements([{ datasetIndex, index }], { x: element.x, y: element.y });
    chart().crosshair = entry.x;
    chart().update();
    tell(entry.run);
  }

  function clear() {
    current = null;
    chart().setActiveElements([]);
    chart().tooltip.setActiveElements([], { x: 0, y: 0 });
    chart().crosshair = null;
    chart().update();
  }

  const keys = {
    ArrowRight: () => select(place() + 1),
    ArrowLeft: () => select(current ? place() - 1 : Infinity),
    Home: () => select(0),
    End: () => select(Infinity),
    Enter: () => open(current),
    c: () => pick(current),
    "+": () => chart().zoom(1.5),
    "=": () => chart().zoom(1.5),
    "-": () => chart().zoom(1 / 1.5),
    0: reset,
    Escape: () => { clear(); reset(); },
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
  canvas.addEventListener("blur", clear);
}
