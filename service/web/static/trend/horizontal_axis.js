// The horizontal axis: one slot for each run, or time. Ticks are computed here, because a slot is an integer
// and Chart.js has no time axis without a date library.

const MINUTE = 60e3, HOUR = 3600e3, DAY = 24 * HOUR;
const TIME_STEPS = [
  MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
  DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY, 182 * DAY, 365 * DAY,
];
const PIXELS_A_COMMIT = 84, PIXELS_A_DATE = 100;

// The horizontal scale: by commit, or `by` "time". Of several charts on a page, only the first has a title: the others
// are `small`.
export function buildHorizontalScale(by, document_, theme, small) {
  const bounds = by === "time" ? computeTimeBounds(document_) : { min: -0.6, max: document_.slots - 0.4 };
  return {
    type: "linear",
    ...bounds,
    afterBuildTicks: by === "time" ? placeTimeTicks : placeSlotTicks,
    grid: { display: by === "time", color: theme.line, drawTicks: true },
    border: { color: theme.line },
    title: { display: !small, text: by === "time" ? "Commit time" : "Commit, in history order", color: theme.quiet },
    ticks: {
      color: theme.quiet,
      maxRotation: 0,
      autoSkip: false,
      callback: by === "time" ? formatTime : (slot, index, ticks) => ticks[index]?.commit ?? "",
    },
  };
}

// The ends of the time axis, with a margin; none without runs.
function computeTimeBounds({ path, beside, gaps, others }) {
  const times = [...path, ...beside, ...gaps, ...others.flatMap((other) => other.path)].map((entry) => entry.t);
  const first = times.reduce((a, b) => Math.min(a, b), Infinity);
  const last = times.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!times.length) return {};
  const margin = Math.max((last - first) * 0.03, MINUTE);
  return { min: first - margin, max: last + margin };
}

// Places each tick at the first drawn run that is not before its regular position.
function placeSlotTicks(axis) {
  const drawn = mapCommits(axis.chart);
  const slots = [...drawn.keys()].filter((slot) => slot >= axis.min && slot <= axis.max).sort((a, b) => a - b);
  const room = Math.max(1, Math.floor(axis.width / PIXELS_A_COMMIT));
  const step = Math.max(1, Math.ceil((axis.max - axis.min) / room));
  axis.ticks = [];
  let next = Math.ceil(Math.max(0, axis.min) / step) * step;
  for (const slot of slots) {
    if (slot < next || slot - (axis.ticks.at(-1)?.value ?? -Infinity) < 0.7 * step) continue;
    axis.ticks.push({ value: slot, commit: drawn.get(slot) });
    next = (Math.floor(slot / step) + 1) * step;
  }
}

// The short commit of each slot with a run.
function mapCommits(chart) {
  const found = new Map();
  for (const dataset of chart.data.datasets) {
    if (!["path", "gaps", "beside"].includes(dataset.id)) continue;
    for (const { x, run } of dataset.data) if (run && !found.has(x)) found.set(x, run.commit.slice(0, 7));
  }
  return found;
}

function placeTimeTicks(axis) {
  const room = Math.max(1, Math.floor(axis.width / PIXELS_A_DATE));
  const wanted = (axis.max - axis.min) / room;
  const step = TIME_STEPS.find((candidate) => candidate >= wanted) ?? Math.ceil(wanted / (365 * DAY)) * 365 * DAY;
  const zone = getClockOffset(axis.min);
  axis.ticks = [];
  for (let time = Math.ceil((axis.min - zone) / step) * step + zone; time <= axis.max; time += step) {
    // Days begin at the reader's midnight, also after the clocks have changed. Steps of up to an hour do not need this.
    const value = step > HOUR ? time - zone + getClockOffset(time) : time;
    if (value <= axis.max) axis.ticks.push({ value, fine: step < DAY });
  }
}

// How much later UTC is than the reader's clock at a time, in milliseconds.
function getClockOffset(time) {
  return new Date(time).getTimezoneOffset() * MINUTE;
}

function formatTime(time, index, ticks) {
  const moment = new Date(time);
  const day = moment.toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
  if (!ticks[index]?.fine) return day;
  const clock = moment.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return [clock, day];
}
