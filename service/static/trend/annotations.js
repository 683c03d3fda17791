// What is written into the chart: vertical lines where the configuration changes, and the size of each drift.

import { shorten } from "./text.js";

const LABEL_HEIGHT = 16, LETTER_WIDTH = 7, FLAG_GAP = 18;
const NARROW = 520;

export function annotations(document_, along, theme) {
  const font = (size, weight) => ({ family: theme.font, size, weight });
  const entries = {};
  document_.lines.forEach((line, index) => {
    entries[`config-${index}`] = {
      type: "line",
      scaleID: "x",
      value: line[along],
      borderColor: theme.quiet,
      borderWidth: 1.25,
      borderDash: [5, 4],
      knobs: line.knobs,
      label: {
        display: ({ chart }) => inside(chart, line[along]),
        content: shorten(line.label, 28),
        position: "start",
        yAdjust: -24,
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

// How far above or below its point each label goes, so that none covers another; null where there is no room.
function placed(chart, flags, along) {
  const { x, y } = chart.scales;
  const taken = [];
  return flags.map((flag) => {
    if (!inside(chart, flag[along])) return null;
    const width = text(chart, flag).length * LETTER_WIDTH;
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
