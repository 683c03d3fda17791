// A vertical line at the run in the tooltip, in every chart of the page with the same axis.

import { find } from "./nearest.js";

// The plugin of a chart. It calls `moved` with the chart and the new position on the axis; null without a run.
export function makeCrosshair(moved) {
  return {
    id: "crosshair",
    beforeEvent(chart, { event, replay }) {
      if (!replay) chart.pointer = event.type === "mouseout" ? null : { x: event.x, y: event.y };
    },
    afterEvent(chart, args) {
      if (args.replay) return;
      // Outside the chart area, where the labels of settings are, Chart.js would keep the previous tooltip.
      if (!args.inChartArea && chart.pointer) select(chart, find(chart, chart.pointer));
      const [active] = chart.getActiveElements();
      const place = active ? chart.data.datasets[active.datasetIndex].data[active.index]?.x ?? null : null;
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

// Makes a chart show the tooltip of some points, or no tooltip.
export function select(chart, found) {
  const active = found.map(({ datasetIndex, index }) => ({ datasetIndex, index }));
  chart.setActiveElements(active);
  chart.tooltip.setActiveElements(active, found[0]?.element ?? { x: 0, y: 0 });
}
