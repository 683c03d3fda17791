// Series of any unit on one axis: each as a percentage of its first value.

export const UNIT = "% of start";

// The document with each value in percent of the first value of its series. A series that starts at zero has no such
// percentage: overlaid, it loses its points, but keeps its place, by which the legend knows the other series. If the
// page's series starts at zero, the remaining series keep their values.
export function convertToShares(document_) {
  const unit = document_.start ? UNIT : document_.unit;
  const others = document_.others.map((other) => (other.start ? other : { ...other, unit, path: [] }));
  if (!document_.start) return { ...document_, others };
  const own = makeShareConverter(document_.start);
  return {
    ...document_,
    unit,
    whole: false,
    path: document_.path.map(own),
    beside: document_.beside.map(own),
    flags: document_.flags.map(own),
    levels: document_.levels.map((level) => ({ ...level, y: (100 * level.y) / document_.start })),
    others: others.map((other) => ({ ...other, unit, path: other.path.map(makeShareConverter(other.start)) })),
  };
}

function makeShareConverter(start) {
  const percent = (value) => (100 * value) / start;
  return (run) => ({ ...run, y: percent(run.y), low: percent(run.low), high: percent(run.high) });
}
