// The texts of the chart about a run.

const MOST_SETTINGS = 4, MOST_POINTED = 12;

// The commit's hash and title. The title of an imported commit may contain the hash, which is then not repeated.
export function formatHeadline(run, letters = 68) {
  const isNamed = run.title && ![run.commit.slice(0, 7), "(imported;"].some((start) => run.title.startsWith(start));
  return isNamed ? shorten(`${run.commit}  ${run.title}`, letters) : run.commit;
}

// The number of letters that fit into a line of a chart's tooltip.
export function countLetters(chart) {
  return Math.min(90, Math.floor(chart.width / 7) - 6);
}

// The tooltip of a run: when and where it was committed and measured, its level, the change from the previous run, and
// the changed settings, of which more are listed if the pointer is on their line.
export function describeRun(run, unit, { host = "", flag = null, settings = [], pointed = false, letters = 90 } = {}) {
  const lines = [[new Date(run.t).toLocaleDateString(undefined, { dateStyle: "medium" }), host].filter(Boolean).join(", on ")];
  lines.push(run.text);
  if (run.low !== run.high) {
    lines.push(`${formatNumber(run.low)} – ${formatNumber(run.high)} ${unit} over ${run.n} samples`);
  } else if (run.n > 1) {
    lines.push(`the same in all ${run.n} samples`);
  }
  if (run.change) lines.push(run.change);
  if (flag) lines.push(flag.verdict);
  const most = pointed ? MOST_POINTED : MOST_SETTINGS;
  lines.push(...settings.slice(0, most));
  if (settings.length > most) lines.push(`and ${settings.length - most} more setting${settings.length - most === 1 ? "" : "s"}`);
  return lines.map((line) => shorten(line, letters));
}

// Writes numbers as the pages do: counts in full, everything else with three significant digits.
export function formatNumber(value) {
  return value.toLocaleString("en", Number.isInteger(value) ? {} : { maximumSignificantDigits: 3 });
}

// The text, or its beginning and an ellipsis, with at most `length` characters.
export function shorten(text, length) {
  const characters = [...text]; // Some characters are two units of a string.
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("").replace(/[ …]+$/, "")}…`;
}
