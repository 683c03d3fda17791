// A vertical line at the run in the tooltip, in every chart of the page with the same axis.

import { findAt, findNearest, findRun } from "./nearest_run.js";

// The plugin of a chart. It calls `moved` with the chart and the new position on the axis; null without a run.
export function makeCrosshair(moved) {
  return {
    id: "crosshair",
    beforeEvent(chart, { event, replay }) {
      // After each update, Chart.js repeats the last event, as if the pointer were still where a drag began.
      if (replay) return false;
      chart.pointer = event.type === "mouseout" ? null : { x: event.x, y: event.y };
      return true;
    },
    // After a zoom, or with other points of a long series, the same run has another place.
    afterUpdate(chart) {
      const place = chart.crosshair ?? null;
      if (chart.shown) selectPoints(chart, findRun(chart, chart.shown));
      else if (place !== null) selectPoints(chart, findAt(chart, place));
    },
    afterEvent(chart, args) {
      // Outside the chart area, where the labels of settings are, Chart.js would keep the previous tooltip.
      if (!args.inChartArea && chart.pointer) selectPoints(chart, findNearest(chart, chart.pointer));
      const [active] = chart.getActiveElements();
      const entry = active && chart.data.datasets[active.datasetIndex].data[active.index];
      const place = entry?.x ?? null;
      chart.shown = entry?.run ?? null;
      if (place === (chart.crosshair ?? null)) return;
      chart.crosshair = place;
      args.changed = true;
      moved(chart, place);
    },
    beforeDatasetsDraw(chart, _, { color }) {
      if (chart.crosshair === null || chart.crosshair === undefined) return;
      const x = chart.scales.x.getPixelForValue(chart.crosshair);
      const { left, right, top, bottom } = chart.chartArea;
      if (x < left || x > right) return;
      const { ctx } = chart;
      ctx.save();
      ctx.strokeStyle = color;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, bottom);
      ctx.stroke();
      ctx.restore();
    },
  };
}

// Makes a chart show the tooltip of a point, wherever an update moves it; nothing without a point.
export function showPoint(chart, entry) {
  chart.shown = entry?.run ?? null;
  chart.crosshair = entry?.x ?? null;
  selectPoints(chart, chart.shown ? findRun(chart, chart.shown) : []);
  chart.render();
}

// Makes a chart show the tooltip of some points, or no tooltip.
export function selectPoints(chart, found) {
  const active = found.map(({ datasetIndex, index }) => ({ datasetIndex, index }));
  chart.setActiveElements(active);
  chart.tooltip.setActiveElements(active, found[0]?.element ?? { x: 0, y: 0 });
}
