// Series of any unit on one axis: each as a percentage of its first value.

export const UNIT = "% of start";

// The document with each value in percent of the first value of its series. A series that starts at zero has no such
// percentage, and is left out.
export function shares(document_) {
  const others = document_.others.filter((other) => other.start);
  if (!document_.start) return { ...document_, others };
  const own = part(document_.start);
  return {
    ...document_,
    unit: UNIT,
    whole: false,
    path: document_.path.map(own),
    beside: document_.beside.map(own),
    flags: document_.flags.map(own),
    levels: document_.levels.map((level) => ({ ...level, y: (100 * level.y) / document_.start })),
    others: others.map((other) => ({ ...other, unit: UNIT, path: other.path.map(part(other.start)) })),
  };
}

function part(start) {
  const percent = (value) => (100 * value) / start;
  return (run) => ({ ...run, y: percent(run.y), low: percent(run.low), high: percent(run.high) });
}
