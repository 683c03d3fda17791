// Vertical lines at changes of settings. The most informative setting and its values are written above the data; where
// there is no room for both values, only the new one, with or without the setting's name.

const LABEL_HEIGHT = 16, LETTER_WIDTH = 6.4, LABEL_MARGIN = 20;
const LABEL_LETTERS = 48;
const NARROW = 520;
const ROWS = [-24, -46]; // positions of the labels, in pixels above the chart's area
const REACH = 6; // pixels beside a line within which the pointer hits it

export function buildSettingLines(lines, along, theme, { small }) {
  const getLabel = (chart, index) => (small ? null : getLabels(chart, lines, along)[index]);
  return Object.fromEntries(lines.map((line, index) => [`config-${index}`, {
    type: "line",
    display: ({ chart }) => isInside(chart, line[along]), // its label is above the area, so the area does not clip it
    scaleID: "x",
    value: line[along],
    borderColor: theme.quiet,
    borderWidth: 1.25,
    borderDash: [5, 4],
    settings: line.settings,
    label: {
      display: ({ chart }) => Boolean(getLabel(chart, index)),
      content: ({ chart }) => getLabel(chart, index)?.text ?? line.short,
      position: "start",
      yAdjust: ({ chart }) => getLabel(chart, index)?.middle ?? 0,
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
export function findLineAt(chart, { x, y }) {
  const { lines, along, small } = chart.options.plugins.run;
  const positionedLines = lines.map((line) => ({ ...line, at: line[along] }));
  const { top } = chart.chartArea;
  if (y < top) {
    if (small) return undefined;
    const isIn = (box) => box && x >= box.left && x <= box.right && Math.abs(y - top - box.middle - LABEL_HEIGHT / 2) <= LABEL_HEIGHT / 2;
    return positionedLines[getLabels(chart, lines, along).findIndex(isIn)];
  }
  const reached = positionedLines.filter((line) => Math.abs(chart.scales.x.getPixelForValue(line.at) - x) <= REACH);
  return reached.sort((one, other) => measureDistance(chart, one, x) - measureDistance(chart, other, x))[0];
}

// A plugin that tells after each drawing how many lines in the window have no label.
export function makeUnlabelledCounter(tell) {
  return {
    id: "unlabelled",
    afterRender(chart) {
      const { lines, along } = chart.options.plugins.run;
      const boxes = getLabels(chart, lines, along);
      tell(lines.filter((line, index) => isInside(chart, line[along]) && !boxes[index]).length);
    },
  };
}

// The text and the position of each line's label above the area, so that labels do not overlap; null without room. The
// tooltip of the line still lists its settings. Called for each label, but computed once per layout.
function getLabels(chart, lines, along) {
  if (!chart.chartArea) return []; // not laid out yet
  const { left, right } = chart.chartArea;
  const of = [chart.scales.x.min, chart.scales.x.max, left, right, along];
  if (!chart.settings?.of.every((value, index) => value === of[index])) {
    chart.settings = { of, boxes: placeLabels(chart, lines, along) };
  }
  return chart.settings.boxes;
}

// The most important changes get their labels first.
function placeLabels(chart, lines, along) {
  const { x } = chart.scales;
  const taken = [], boxes = lines.map(() => null);
  for (const [index, line] of [...lines.entries()].sort(([, one], [, other]) => other.weight - one.weight)) {
    if (!isInside(chart, line[along])) continue;
    const isRoomForBoth = line.label.length <= LABEL_LETTERS && chart.width >= NARROW;
    const texts = [...(isRoomForBoth ? [line.label] : []), line.short, line.short.slice(line.short.indexOf("→"))];
    const tried = texts.flatMap((text) => ROWS.map((row) => placeLabel(chart, text, x.getPixelForValue(line[along]), row)));
    const isFree = (box) => taken.every((other) => box.right <= other.left || other.right <= box.left || other.middle !== box.middle);
    const box = tried.find(isFree);
    if (!box) continue;
    taken.push(box);
    boxes[index] = box;
  }
  return boxes;
}

// The box of a label in a row, as near to its line as the edges of the chart allow.
function placeLabel(chart, text, middleX, row) {
  const { left: first, right: last } = chart.chartArea;
  const width = Math.min(text.length * LETTER_WIDTH + LABEL_MARGIN, last - first);
  const left = Math.max(first, Math.min(middleX - width / 2, last - width));
  return { text, left, right: left + width, middle: row };
}

function isInside({ scales: { x } }, value) {
  return value >= x.min && value <= x.max;
}

function measureDistance(chart, line, x) {
  return Math.abs(chart.scales.x.getPixelForValue(line.at) - x);
}
