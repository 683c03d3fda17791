// The label of each drift with its size, placed where it covers neither data nor other labels, and nearer to its own flag
// than to any other. Important drifts come first: the undecided ones, of these the certain ones, then the largest. A label
// without room is left out; the tooltip of its run contains it.

import { UNIT } from "./percent_of_first_value.js";

const LETTER_WIDTH = 7, LABEL_HEIGHT = 18, LABEL_MARGIN = 10;
const GAP = 20; // pixels from the point to the middle of its label
const STEPS = [0, 1, 2, 3]; // by how many label heights a label may be moved away
const FLAG = 11, DOT = 3; // free pixels around a flag and around a run
const NARROW = 520;
const ORDER = ["open", "suspected", "accepted", "closed"];

export function buildFlagLabels(flags, along, theme) {
  return Object.fromEntries(flags.map((flag, index) => [`flag-${index}`, {
    type: "label",
    display: ({ chart }) => getPlaces(chart, flags, along)[index] !== null,
    xValue: flag[along],
    yValue: flag.y,
    content: ({ chart }) => formatLabel(chart, flag),
    color: chooseFlagColour(flag, theme),
    backgroundColor: theme.card, // it covers at most grid lines
    padding: { x: 3, y: 1 },
    xAdjust: ({ chart }) => getPlaces(chart, flags, along)[index]?.aside ?? 0,
    yAdjust: ({ chart }) => getPlaces(chart, flags, along)[index]?.shift ?? 0,
    font: { family: theme.font, size: 12, weight: flag.standing === "open" ? 600 : "normal" },
  }]));
}

// A decided drift is grey, because nobody has to look at it any more.
export function chooseFlagColour(flag, theme) {
  if (flag.standing === "accepted" || flag.standing === "closed") return theme.quiet;
  return flag.direction === "regression" ? theme.worse : theme.better;
}

function formatLabel(chart, flag) {
  // On a phone, only the axis shows the unit, for lack of room. An axis in percent does not show it.
  const isOnAxis = chart.options.scales.y.title.text !== UNIT;
  return chart.width < NARROW && isOnAxis ? flag.label.split("\u00a0")[0] : flag.label;
}

// The offset of each label from its point; null without room. Called for each label, but computed once per layout.
function getPlaces(chart, flags, along) {
  const { x, y } = chart.scales;
  if (!chart.chartArea) return flags.map(() => null); // not laid out yet
  const path = chart.data.datasets.find(({ id }) => id === "path")?.data;
  const of = [x.min, x.max, y.min, y.max, chart.width, chart.height, path];
  if (chart.labels?.of.every((value, index) => value === of[index])) return chart.labels.found;
  const found = placeLabels(chart, flags, along);
  chart.labels = { of, found };
  return found;
}

function placeLabels(chart, flags, along) {
  const { x, y } = chart.scales;
  const area = chart.chartArea;
  const obstacles = collectObstacles(chart, flags, along);
  const taken = [], found = flags.map(() => null);
  const pixels = flags.map((flag) => [x.getPixelForValue(flag[along]), y.getPixelForValue(flag.y)]);
  const shown = pixels.filter((_, index) => flags[index][along] >= x.min && flags[index][along] <= x.max);
  const order = [...flags.entries()].sort(([, one], [, other]) =>
    ORDER.indexOf(one.standing) - ORDER.indexOf(other.standing) || other.weight - one.weight);
  for (const [index, flag] of order) {
    if (flag[along] < x.min || flag[along] > x.max) continue;
    const half = (formatLabel(chart, flag).length * LETTER_WIDTH + LABEL_MARGIN) / 2;
    const [middleX, middleY] = pixels[index];
    const away = flag.direction === "regression" ? -1 : 1;
    for (const { aside, shift } of listOffsets(away, half)) {
      const box = {
        left: middleX + aside - half, right: middleX + aside + half,
        top: middleY + shift - LABEL_HEIGHT / 2, bottom: middleY + shift + LABEL_HEIGHT / 2,
      };
      if (box.left < area.left || box.right > area.right || box.top < area.top || box.bottom > area.bottom) continue;
      if (taken.some((other) => doOverlap(box, other)) || coversObstacle(box, obstacles)) continue;
      if (!isNearest(box, pixels[index], shown)) continue;
      taken.push(box);
      found[index] = { aside, shift };
      break;
    }
  }
  return found;
}

// Whether a reader takes a label for that of its own flag: its middle or its edge is nearer to it than to any other.
function isNearest({ left, right, top, bottom }, own, shown) {
  const toMiddle = ([x, y]) => Math.hypot((left + right) / 2 - x, (top + bottom) / 2 - y);
  const toEdge = ([x, y]) => Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
  return [toMiddle, toEdge].some((reach) => shown.every((flag) => reach(own) <= reach(flag)));
}

// The positions to try: first directly away from the new level, then to its sides, then on the other side of the level.
function listOffsets(away, half) {
  const sides = [0, half + FLAG, -half - FLAG];
  const shifts = [away, -away].flatMap((direction) => STEPS.map((step) => direction * (GAP + step * LABEL_HEIGHT)));
  return shifts.flatMap((shift) => sides.map((aside) => ({ aside, shift })));
}

// The vertical extent of all drawings in each column of pixels: runs with their samples, lines between them, and flags.
function collectObstacles(chart, flags, along) {
  const { x, y } = chart.scales;
  const drawn = new Map();
  const add = (from, to, top, bottom) => {
    for (let column = Math.floor(from); column <= to; column += 1) {
      if (!drawn.has(column)) drawn.set(column, []);
      drawn.get(column).push([top, bottom]);
    }
  };
  for (const dataset of chart.data.datasets) {
    if (!dataset.ranged || dataset.hidden) continue;
    const axis = chart.scales[dataset.yAxisID ?? "y"];
    let before = null;
    for (const { x: value, y: level, run } of dataset.data) {
      const point = [x.getPixelForValue(value), axis.getPixelForValue(level)];
      const [high, low] = [axis.getPixelForValue(run.high), axis.getPixelForValue(run.low)];
      add(point[0] - DOT, point[0] + DOT, high - DOT, low + DOT);
      if (before && dataset.showLine !== false) addSegment(before, point, add);
      before = point;
    }
  }
  for (const flag of flags) {
    const [middleX, middleY] = [x.getPixelForValue(flag[along]), y.getPixelForValue(flag.y)];
    add(middleX - FLAG, middleX + FLAG, middleY - FLAG, middleY + FLAG);
  }
  return drawn;
}

function addSegment([fromX, fromY], [toX, toY], add) {
  const steps = Math.max(1, Math.ceil(toX - fromX));
  for (let step = 0; step < steps; step += 1) {
    const [one, other] = [step, step + 1].map((part) => fromY + ((toY - fromY) * part) / steps);
    add(fromX + step, fromX + step, Math.min(one, other) - 1, Math.max(one, other) + 1);
  }
}

function coversObstacle(box, obstacles) {
  for (let column = Math.floor(box.left); column <= box.right; column += 1) {
    if (obstacles.get(column)?.some(([top, bottom]) => top < box.bottom && bottom > box.top)) return true;
  }
  return false;
}

function doOverlap(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
