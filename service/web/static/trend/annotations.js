// What is written into the chart: vertical lines where the configuration changes, and the size of each drift.

import { shorten } from "./text.js";

const LABEL_HEIGHT = 16, LETTER_WIDTH = 7, FLAG_GAP = 18, FLAG_MARGIN = 10;
const NARROW = 520;
const LABEL_LETTERS = 28, LABEL_MARGIN = 24;
const ROWS = [-24, -46]; // above the chart's area: where the labels of configuration changes stand, in pixels
const UNFOLDED = 6; // within it
const MOST_SETTINGS = 12;
const REACH = 6; // pixels beside a line within which it is pointed at

// Remembers in `pointed.line` which line the pointer is at, and unfolds its label. What is pointed at follows from where
// the folded labels stand, never from what is drawn: an unfolded label that moves from under the pointer stays unfolded.
export function pointing(document_, along, pointed) {
  return {
    id: "pointing",
    afterEvent(chart, { event, replay }) {
      if (replay || !["mousemove", "mouseout", "click"].includes(event.type)) return;
      const line = event.type === "mouseout" ? -1 : lineAt(chart, document_.lines, along, event);
      if (line === pointed.line) return;
      pointed.line = line;
      // Not within the event, which an update would repeat.
      requestAnimationFrame(() => { if (chart.ctx) chart.update("none"); });
    },
  };
}

function lineAt(chart, lines, along, { x, y }) {
  const { top, bottom } = chart.chartArea;
  if (y > bottom) return -1;
  if (y < top) {
    const boxes = labelled(chart, lines, along);
    const isIn = (box) => box && x >= box.left && x <= box.right && y >= top + box.middle && y <= top + box.middle + LABEL_HEIGHT;
    return boxes.findIndex(isIn);
  }
  const distances = lines.map((line) => Math.abs(chart.scales.x.getPixelForValue(line[along]) - x));
  const nearest = Math.min(...distances);
  return nearest <= REACH ? distances.indexOf(nearest) : -1;
}

export function annotations(document_, along, theme, pointed) {
  const font = (size, weight) => ({ family: theme.font, size, weight });
  const entries = {};
  document_.lines.forEach((line, index) => {
    const place = (chart) =>
      index === pointed.line ? UNFOLDED : labelled(chart, document_.lines, along)[index]?.middle ?? null;
    entries[`config-${index}`] = {
      type: "line",
      scaleID: "x",
      value: line[along],
      borderColor: theme.quiet,
      borderWidth: 1.25,
      borderDash: [5, 4],
      settings: line.settings,
      label: {
        display: ({ chart }) => inside(chart, line[along]) && place(chart) !== null,
        content: () => (index === pointed.line ? unfolded(line.settings) : shorten(line.label, LABEL_LETTERS)),
        position: "start",
        yAdjust: ({ chart }) => place(chart) ?? 0,
        z: () => (index === pointed.line ? 2 : 1),
        textAlign: "start",
        backgroundColor: theme.card,
        color: theme.text,
        borderColor: theme.quiet,
        borderWidth: 1,
        borderRadius: 4,
        padding: { x: 6, y: 3 },
        font: font(11, "normal"),
      },
    };
  });
  document_.flags.forEach((flag, index) => {
    const worse = flag.direction === "regression";
    entries[`flag-${index}`] = {
      type: "label",
      display: ({ chart }) => placed(chart, document_.flags, along)[index] !== null,
      xValue: flag[along],
      yValue: flag.y,
      content: ({ chart }) => text(chart, flag),
      color: worse ? theme.worse : theme.better,
      backgroundColor: theme.card,
      borderRadius: 3,
      padding: { x: 3, y: 1 },
      yAdjust: ({ chart }) => placed(chart, document_.flags, along)[index] ?? 0,
      font: font(12, 600),
    };
  });
  return entries;
}

function text(chart, flag) {
  // The axis has the unit too; on a phone there is room for it only once.
  return chart.width < NARROW ? flag.label.split("\u00a0")[0] : flag.label;
}

function inside(chart, x) {
  return x >= chart.scales.x.min && x <= chart.scales.x.max;
}

// All settings of a change, as they are read while the pointer is on its line.
function unfolded(settings) {
  const shown = settings.slice(0, MOST_SETTINGS).map((setting) => shorten(setting, 60));
  return settings.length > MOST_SETTINGS ? [...shown, `and ${settings.length - MOST_SETTINGS} more`] : shown;
}

// Where the label of each configuration change stands above the area, so that none covers another; null where there is no
// room: the line stays, and tells its settings when pointed at.
function labelled(chart, lines, along) {
  const { left: first, right: last } = chart.chartArea;
  const taken = [];
  return lines.map((line) => {
    if (!inside(chart, line[along])) return null;
    const width = Math.min(line.label.length, LABEL_LETTERS) * LETTER_WIDTH + LABEL_MARGIN;
    const at = chart.scales.x.getPixelForValue(line[along]);
    const left = Math.max(first, Math.min(at - width / 2, last - width));
    for (const row of ROWS) {
      const box = { left, right: left + width, middle: row };
      if (taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      return box;
    }
    return null;
  });
}

// How far above or below its point each label goes, so that none covers another; null where there is no room.
function placed(chart, flags, along) {
  const { x, y } = chart.scales;
  const taken = [];
  return flags.map((flag) => {
    if (!inside(chart, flag[along])) return null;
    const width = text(chart, flag).length * LETTER_WIDTH + FLAG_MARGIN;
    const left = x.getPixelForValue(flag[along]) - width / 2;
    const middle = y.getPixelForValue(flag.y);
    const away = flag.direction === "regression" ? -1 : 1;
    for (const shift of [FLAG_GAP, FLAG_GAP + LABEL_HEIGHT]) {
      const box = { left, right: left + width, middle: middle + away * shift };
      if (taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      return away * shift;
    }
    return null;
  });
}

function overlap(one, other) {
  return one.left < other.right && other.left < one.right && Math.abs(one.middle - other.middle) < LABEL_HEIGHT;
}
