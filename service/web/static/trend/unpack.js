// Unpacks the runs in the chart document of a published site: see service/publishing/chart_data.py.

// The document as the service writes it; without the commits of the site, it is not packed.
export function unpackDocument(document_, commits) {
  return commits ? { ...document_, path: unpackRuns(document_.path, commits), beside: unpackRuns(document_.beside, commits) } : document_;
}

function unpackRuns({ n_runs, at, ...columns }, commits) {
  const field = (column, run) => (Array.isArray(column) ? column[run] : column?.of ? column.of[column.at[run]] : column);
  return Array.from({ length: n_runs }, (_, run) => {
    const own = Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, field(column, run)]));
    const of_commit = Object.fromEntries(Object.entries(commits).map(([name, column]) => [name, column[at[run]]]));
    return { ...of_commit, low: own.y, high: own.y, ...own };
  });
}
