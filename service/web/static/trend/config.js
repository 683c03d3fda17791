// Converts the server's trend document into a Chart.js configuration.

import { buildHorizontalScale } from "./horizontal_axis.js";
import { makeCrosshair, showPoint } from "./crosshair.js";
import { buildFlagLabels, chooseFlagColour } from "./flags.js";
import { findLineAt, makeUnlabelledCounter, buildSettingLines } from "./setting_lines.js";
import { describeRun, formatHeadline, countLetters, shorten } from "./tooltip_text.js";
import { buildVerticalScale } from "./vertical_axis.js";
import { whiskers } from "./sample_ranges.js";

// The point shapes and line dashes of overlaid series.
const OVER = [["rect", []], ["rectRot", [6, 3]], ["cross", [2, 2]], ["star", [8, 3, 2, 3]]];

// The points of the datasets that change with the zoomed window, as the server has laid them out.
export function listPoints(document_, by) {
  const along = by === "time" ? "t" : "x";
  const makeEntries = (list) => list.map((run) => ({ x: run[along], y: run.y, run }));
  const others = document_.others.map((other, index) => [`over-${index + 1}`, makeEntries(other.path)]);
  return Object.fromEntries([["path", makeEntries(document_.path)], ["beside", makeEntries(document_.beside)], ...others]);
}

// The configuration of a chart. `actions` are called with the run that is chosen, the position that is pointed to, and the
// chart whose window was moved; a `small` chart stands below another one.
export function buildConfiguration(document_, { by, scale, as, small = false }, theme, actions) {
  const along = by === "time" ? "t" : "x";
  const makeEntries = (list) => list.map((run) => ({ x: run[along], y: run.y, run }));
  const laid = listPoints(document_, by);
  const size = choosePointSize(document_.path.length);
  const second = document_.others.find((other) => other.unit !== document_.unit)?.unit;
  const isFilled = (flag) => flag.standing === "open" || flag.standing === "accepted";

  const datasets = [
    {
      id: "flags",
      data: makeEntries(document_.flags),
      showLine: false,
      pointStyle: "triangle",
      pointRotation: document_.flags.map((flag) => (flag.direction === "regression" ? 0 : 180)),
      // Filled if the level moved and stays; an outline if that is only suspected, as in the drift map, or closed.
      pointBackgroundColor: document_.flags.map((flag) => (isFilled(flag) ? chooseFlagColour(flag, theme) : theme.card)),
      pointBorderColor: document_.flags.map((flag) => (isFilled(flag) ? theme.card : chooseFlagColour(flag, theme))),
      pointBorderWidth: document_.flags.map((flag) => (isFilled(flag) ? 1.5 : 2)),
      pointRadius: document_.flags.map((flag) => (flag.standing === "open" ? 9 : 7)),
      pointHoverRadius: 10,
      clip: false, // A flag at the edge of the area is drawn whole; flags outside of it are not drawn.
    },
    {
      id: "gaps",
      data: document_.gaps.map((run) => ({ x: run[along], y: 0, run })),
      yAxisID: "strip",
      showLine: false,
      pointStyle: "crossRot",
      pointBorderColor: theme.text,
      pointBorderWidth: 2,
      pointRadius: 5,
      pointHoverRadius: 6,
      clip: false,
    },
    {
      id: "beside",
      data: laid.beside,
      ranged: true,
      showLine: false,
      pointBackgroundColor: theme.card,
      pointBorderColor: theme.plot,
      pointBorderWidth: 1.5,
      pointRadius: size,
    },
    {
      id: "path",
      data: laid.path,
      ranged: true,
      borderColor: theme.plot,
      borderWidth: 1,
      pointBackgroundColor: theme.plot,
      pointBorderWidth: 0,
      pointRadius: size,
      pointHoverRadius: size + 2,
      pointHoverBackgroundColor: theme.text,
    },
    ...document_.others.map((other, index) => ({
      id: `over-${index + 1}`,
      title: other.label,
      data: laid[`over-${index + 1}`],
      unit: other.unit,
      yAxisID: other.unit === document_.unit ? "y" : "second",
      hidden: ![document_.unit, second].includes(other.unit),
      ranged: true,
      borderColor: theme[`over-${index + 1}`],
      borderWidth: 1.5,
      borderDash: OVER[index][1],
      pointStyle: OVER[index][0],
      pointBackgroundColor: theme[`over-${index + 1}`],
      pointBorderColor: theme[`over-${index + 1}`],
      pointRadius: size,
      pointHoverRadius: size + 2,
    })),
    {
      id: "levels",
      data: document_.levels.flatMap((level) => {
        const margin = by === "time" ? 0 : 0.4;
        const [first, last] = level[along];
        return [{ x: first - margin, y: level.y }, { x: last + margin, y: level.y }, { x: last + margin, y: NaN }];
      }),
      borderColor: theme.level,
      borderWidth: 3,
      borderCapStyle: "round",
      pointRadius: 0,
      pointHitRadius: 0,
      pointHoverRadius: 0,
      spanGaps: false,
    },
  ];

  return {
    type: "line",
    data: { datasets },
    plugins: [whiskers, makeCrosshair(actions.pointed), ...(small ? [] : [makeUnlabelledCounter(actions.unlabelled)])],
    options: {
      animation: false,
      parsing: false,
      normalized: true,
      responsive: true,
      maintainAspectRatio: false,
      font: { family: theme.font },
      layout: { padding: { top: small || !document_.lines.length ? 8 : document_.lines.length > 1 ? 52 : 28, right: 10 } },
      elements: { point: { hitRadius: 8 } },
      interaction: { mode: "run", intersect: false },
      // Everywhere in the area, the tooltip shows the nearest run, but only a click on the run itself opens it.
      onClick: (event, _, chart) => actions.choose(findRunAt(chart, event)),
      onHover: (event, _, chart) => { event.native.target.style.cursor = findRunAt(chart, event) ? "pointer" : "default"; },
      scales: {
        x: buildHorizontalScale(by, document_, theme, small),
        y: buildVerticalScale(document_.unit, "y", document_.whole, scale, theme, as === "apart"),
        ...(second ? { second: buildVerticalScale(second, "second", false, scale, theme) } : {}),
        strip: { display: false, min: 0, max: 1 },
      },
      plugins: {
        legend: { display: false }, // The page has its own legend, whose text can be selected.
        whiskers: { color: theme.plot },
        crosshair: { color: theme.quiet },
        run: { lines: document_.lines, along, small },
        tooltip: buildTooltip(document_, along, theme),
        annotation: {
          clip: false,
          annotations: {
            ...buildSettingLines(document_.lines, along, theme, { small }),
            ...buildFlagLabels(document_.flags, along, theme),
          },
        },
        zoom: {
          limits: { x: { min: "original", max: "original", minRange: by === "time" ? 60e3 : 2 } },
          pan: { enabled: true, mode: "x", modifierKey: "shift", onPan: actions.moved },
          zoom: {
            onZoom: (zoomed) => {
              // The run that was shown is the one where the drag began, far from the pointer.
              if (zoomed.trigger === "drag") showPoint(zoomed.chart, null);
              actions.moved(zoomed);
            },
            mode: "x",
            drag: { enabled: true, threshold: 8, backgroundColor: `${theme.accent}22`, borderColor: theme.accent, borderWidth: 1 },
            wheel: { enabled: true, modifierKey: "ctrl" },
            pinch: { enabled: true },
          },
        },
      },
    },
  };
}

// The run under the pointer; null if there is none.
function findRunAt(chart, event) {
  const hit = chart.getElementsAtEventForMode(event, "nearest", { intersect: true }, false);
  return hit.map(({ datasetIndex, index }) => chart.data.datasets[datasetIndex].data[index].run).find(Boolean) ?? null;
}

function choosePointSize(count) {
  if (count <= 120) return 3.5;
  return count <= 600 ? 2.5 : 1;
}

function buildTooltip(document_, along, theme) {
  // A published site has no pages of runs, and so no addresses that tell them apart.
  const key = (run) => run.url || [run.x, run.commit, run.text].join(" ");
  const flags = new Map(document_.flags.map((flag) => [key(flag), flag]));
  return {
    backgroundColor: theme.card,
    borderColor: theme.quiet,
    borderWidth: 1,
    titleColor: theme.text,
    bodyColor: theme.text,
    padding: 10,
    cornerRadius: 6,
    displayColors: false,
    filter: ({ raw }) => raw?.run,
    callbacks: {
      title: ([item]) => (item ? formatHeadline(item.raw.run, Math.min(68, countLetters(item.chart))) : ""),
      label: ({ chart, raw, dataset, dataIndex }) => {
        const letters = countLetters(chart);
        if (dataset.title) {
          // Its nearest run can be one of another commit than the run in the title.
          const commit = raw.run.commit === chart.tooltip.dataPoints[0].raw.run.commit ? "" : ` at ${raw.run.commit}`;
          return shorten(`${dataset.title}${commit}: ${[raw.run.text, raw.run.change].filter(Boolean).join(", ")}`, letters);
        }
        if (!("y" in raw.run)) return shorten(raw.run.text, letters);
        const before = dataset.id === "path" ? dataset.data[dataIndex - 1]?.x ?? -Infinity : raw.x;
        const changed = document_.lines.filter((line) => line[along] > before && line[along] <= raw.x);
        const pointed = chart.pointer && findLineAt(chart, chart.pointer);
        return describeRun(raw.run, document_.unit, {
          host: document_.host,
          flag: flags.get(key(raw.run)),
          settings: changed.flatMap((line) => line.settings),
          pointed: Boolean(pointed),
          letters,
        });
      },
    },
  };
}
