// Vertical lines at changes of settings. The most informative setting and its values are written above the data.

import { shorten } from "./text.js";

const LABEL_HEIGHT = 16, LETTER_WIDTH = 6.4, LABEL_MARGIN = 16;
const LABEL_LETTERS = 48;
const ROWS = [-24, -46]; // positions of the labels, in pixels above the chart's area
const REACH = 6; // pixels beside a line within which the pointer hits it

export function settingLines(lines, along, theme, { small }) {
  const labelOf = (chart, index) => (small ? null : labelled(chart, lines, along)[index]);
  return Object.fromEntries(lines.map((line, index) => [`config-${index}`, {
    type: "line",
    scaleID: "x",
    value: line[along],
    borderColor: theme.quiet,
    borderWidth: 1.25,
    borderDash: [5, 4],
    settings: line.settings,
    label: {
      display: ({ chart }) => Boolean(labelOf(chart, index)),
      content: shorten(line.label, LABEL_LETTERS),
      position: "start",
      yAdjust: ({ chart }) => labelOf(chart, index)?.middle ?? 0,
      textAlign: "start",
      backgroundColor: theme.card,
      color: theme.text,
      borderColor: theme.quiet,
      borderWidth: 1,
      borderRadius: 4,
      padding: { x: 6, y: 3 },
      font: { family: theme.font, size: 11, weight: "normal" },
    },
  }]));
}

// The line under the pointer, hit on the line or on its label; undefined without one.
export function lineAt(chart, { x, y }) {
  const { lines, along, small } = chart.options.plugins.run;
  const told = lines.map((line) => ({ ...line, at: line[along] }));
  const { top } = chart.chartArea;
  if (y < top) {
    if (small) return undefined;
    const isIn = (box) => box && x >= box.left && x <= box.right && Math.abs(y - top - box.middle - LABEL_HEIGHT / 2) <= LABEL_HEIGHT / 2;
    return told[labelled(chart, lines, along).findIndex(isIn)];
  }
  const reached = told.filter((line) => Math.abs(chart.scales.x.getPixelForValue(line.at) - x) <= REACH);
  return reached.sort((one, other) => distance(chart, one, x) - distance(chart, other, x))[0];
}

// The position of each line's label above the area, so that labels do not overlap; null without room. The tooltip of
// the line still lists its settings. The most important changes get their labels first.
function labelled(chart, lines, along) {
  if (!chart.chartArea) return []; // not laid out yet
  const { left: first, right: last } = chart.chartArea;
  const taken = [], boxes = lines.map(() => null);
  for (const [index, line] of [...lines.entries()].sort(([, one], [, other]) => other.weight - one.weight)) {
    if (line[along] < chart.scales.x.min || line[along] > chart.scales.x.max) continue;
    const width = Math.min(Math.min(line.label.length, LABEL_LETTERS) * LETTER_WIDTH + LABEL_MARGIN, last - first);
    const middleX = chart.scales.x.getPixelForValue(line[along]);
    const left = Math.max(first, Math.min(middleX - width / 2, last - width));
    for (const row of ROWS) {
      const box = { left, right: left + width, middle: row };
      if (taken.some((other) => box.left < other.right && other.left < box.right && other.middle === row)) continue;
      taken.push(box);
      boxes[index] = box;
      break;
    }
  }
  return boxes;
}

function distance(chart, line, x) {
  return Math.abs(chart.scales.x.getPixelForValue(line.at) - x);
}
