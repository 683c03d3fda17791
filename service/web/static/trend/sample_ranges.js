// Draws the range of a run's samples as a thin bar from the lowest to the highest; exact counts have no bar.

export const whiskers = {
  id: "whiskers",
  beforeDatasetsDraw(chart, _, { color }) {
    const { ctx, chartArea, scales } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
    ctx.clip();
    ctx.beginPath();
    for (const dataset of chart.data.datasets) {
      if (!dataset.ranged || dataset.hidden) continue;
      const y = scales[dataset.yAxisID ?? "y"];
      for (const { x, run } of dataset.data) {
        if (run.low === run.high) continue;
        const pixel = scales.x.getPixelForValue(x);
        ctx.moveTo(pixel, y.getPixelForValue(run.low));
        ctx.lineTo(pixel, y.getPixelForValue(run.high));
      }
    }
    ctx.strokeStyle = color;
    ctx.lineWidth = 1;
    ctx.stroke();
    ctx.restore();
  },
};
