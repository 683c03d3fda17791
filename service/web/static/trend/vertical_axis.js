// The vertical axis: fits the visible data, leaves room for flags and their labels, and has round ticks.

const ROOM = 44; // pixels above and below the data: a flag and two labels
const AROUND = 140; // height of the chart outside its area, in pixels
const PIXELS_A_TICK = 44;
const LEAST_RANGE = 1e-13; // of the largest value: numbers that are closer differ only by rounding

const ALIGNED = 84; // width of the axis if charts are one above the other

// A vertical scale. `whole`: its values are whole numbers; `aligned`: it is as wide as those of the charts above and below.
export function buildVerticalScale(unit, id, whole, scale, theme, aligned) {
  const log = scale === "log";
  return {
    type: log ? "logarithmic" : "linear",
    position: id === "y" ? "left" : "right",
    bounds: "data",
    afterFit: (axis) => { if (aligned) axis.width = ALIGNED; },
    afterDataLimits: (axis) => setLimits(axis, log),
    afterBuildTicks: (axis) => { axis.ticks = chooseTicks(axis, log, whole).map((value) => ({ value })); },
    grid: { color: theme.line, drawOnChartArea: id === "y" },
    border: { display: false },
    title: { display: true, text: unit, color: theme.quiet },
    ticks: { color: theme.quiet, callback: (value) => value.toLocaleString("en", { maximumSignificantDigits: 9 }) },
  };
}

// Sets the ends of an axis: the visible samples, and room above and below them.
function setLimits(axis, log) {
  const { x } = axis.chart.scales;
  let lowest = Infinity;
  for (const dataset of axis.chart.data.datasets) {
    if (!dataset.ranged || dataset.hidden || (dataset.yAxisID ?? "y") !== axis.id) continue;
    for (const entry of dataset.data) {
      if (x && (entry.x < x.min || entry.x > x.max)) continue;
      lowest = Math.min(lowest, entry.run.low);
      axis.min = Math.min(axis.min, entry.run.low);
      axis.max = Math.max(axis.max, entry.run.high);
    }
  }
  axis.isNegative = lowest < 0; // Around a single value, Chart.js extends the axis, also below zero.
  // Without this, a step could be smaller than the distance between two numbers, and counting by steps would not end.
  const lacking = LEAST_RANGE * Math.max(Math.abs(axis.min), Math.abs(axis.max)) - (axis.max - axis.min);
  if (lacking > 0) {
    axis.min -= lacking / 2;
    axis.max += lacking / 2;
  }
  const share = ROOM / Math.max(100, axis.chart.height - AROUND);
  if (log) {
    const factor = Math.max(axis.max / axis.min, 1.0001) ** share;
    axis.min /= factor;
    axis.max *= factor;
  } else {
    const margin = (axis.max - axis.min) * share;
    axis.min -= margin;
    axis.max += margin;
  }
}

function chooseTicks(axis, log, whole) {
  return log && axis.max / axis.min > 10 ? listDecades(axis) : listEvenTicks(axis, whole);
}

// Ticks at 1, 2 and 5 times each power of ten.
function listDecades(axis) {
  const found = [];
  for (let power = Math.floor(Math.log10(axis.min)); 10 ** power <= axis.max; power += 1) {
    found.push(...[1, 2, 5].map((factor) => factor * 10 ** power));
  }
  return found.filter((value) => value >= axis.min && value <= axis.max);
}

// Ticks at equal distances. The margin below values that are not negative gets no negative ticks.
function listEvenTicks(axis, whole) {
  const rough = (axis.max - axis.min) / Math.max(2, Math.floor(axis.height / PIXELS_A_TICK));
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const step = whole ? Math.max(1, nice) : nice;
  const found = [];
  const first = Math.ceil(axis.min / step);
  for (let index = axis.isNegative ? first : Math.max(0, first); index * step <= axis.max; index += 1) found.push(index * step);
  return found;
}
