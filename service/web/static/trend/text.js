// What the chart says about a run, in words.

const MOST_SETTINGS = 4, MOST_POINTED = 12;

// The commit once: the title of an imported one says only that, and may repeat its hash.
export function headline(run, letters = 68) {
  const isNamed = run.title && ![run.commit.slice(0, 7), "(imported;"].some((start) => run.title.startsWith(start));
  return isNamed ? shorten(`${run.commit}  ${run.title}`, letters) : run.commit;
}

// How many letters of a line of the tooltip a chart has room for.
export function lettersIn(chart) {
  return Math.min(90, Math.floor(chart.width / 7) - 6);
}

// When and where a run was committed and measured, its level, how that differs from the run before, and what changed of
// the settings. A line of settings that is pointed at tells more of them.
export function describe(run, unit, { host = "", flag = null, settings = [], pointed = false, letters = 90 } = {}) {
  const lines = [[new Date(run.t).toLocaleDateString(undefined, { dateStyle: "medium" }), host].filter(Boolean).join(", on ")];
  lines.push(run.text);
  if (run.low !== run.high) {
    lines.push(`${written(run.low)} – ${written(run.high)} ${unit} over ${run.n} samples`);
  } else if (run.n > 1) {
    lines.push(`the same in all ${run.n} samples`);
  }
  if (run.change) lines.push(run.change);
  if (flag) lines.push(flag.verdict);
  const most = pointed ? MOST_POINTED : MOST_SETTINGS;
  lines.push(...settings.slice(0, most));
  if (settings.length > most) lines.push(`and ${settings.length - most} more settings`);
  return lines.map((line) => shorten(line, letters));
}

// As the pages write numbers: counts in full, everything else with three significant digits.
export function written(value) {
  return value.toLocaleString("en", Number.isInteger(value) ? {} : { maximumSignificantDigits: 3 });
}

export function shorten(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[ …]+$/, "")}…`;
}
