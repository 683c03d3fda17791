// What the chart says about a run, in words.

export function describe(run, unit) {
  const lines = [run.text];
  if (run.low !== run.high) {
    lines.push(`${written(run.low)} – ${written(run.high)} ${unit} over ${run.n} samples`);
  } else if (run.n > 1) {
    lines.push(`the same in all ${run.n} samples`);
  }
  if (run.why) lines.push(run.why);
  if (run.environment) lines.push(`environment ${run.environment}`);
  return lines.map((line) => shorten(line, 90));
}

// As the pages write numbers: counts in full, everything else with three significant digits.
export function written(value) {
  return value.toLocaleString("en", Number.isInteger(value) ? {} : { maximumSignificantDigits: 3 });
}

export function shorten(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
