"""Metrics of memory besides page faults: size, caches, control groups, and scaling with several processes."""

from runner.contract.metric import Kind, Metric, MetricView


def _make_group_metric(name: str, title: str, unit: str, definition: str, kind: Kind = Kind.COUNT) -> Metric:
    """Return a metric that is counted in the control group of a case."""
    return Metric(
        f"cgroup:{name}",
        title,
        unit,
        kind,
        "lower",
        judged=False,
        definition=f"{definition} Counted in a control group with all processes of the case, if one can be created.",
    )


MEMORY_METRICS = (
    Metric(
        "max-rss",
        "Largest resident set",
        "bytes",
        Kind.SIZE,
        "lower",
        False,
        "The largest resident memory of the program, or of a program that it started and waited for, as measured by "
        "the kernel, whose count lags by some pages on each CPU. It is never below the memory of the launcher, which "
        "is less than 1 MiB. If several processes run at the same time, the largest one counts.",
        views=MetricView.MATRIX | MetricView.REMEDY | MetricView.REMEDY_TABLE,
    ),
    Metric(
        "resident-growth",
        "Resident memory growth",
        "bytes",
        Kind.SIZE,
        "lower",
        False,
        "How much the resident memory of all server processes grew during the windows.",
    ),
    Metric(
        "dTLB-load-misses",
        "Data TLB misses",
        "misses",
        Kind.COUNT,
        "lower",
        False,
        "Memory loads whose page was not in the data TLB. Needs a hardware counter.",
    ),
    Metric(
        "cache-misses",
        "Cache misses",
        "misses",
        Kind.COUNT,
        "lower",
        False,
        "Accesses that missed the last-level cache. Needs a hardware counter.",
    ),
    Metric(
        "scaling-efficiency",
        "Weak-scaling efficiency",
        "ratio",
        Kind.RATIO,
        "higher",
        False,
        "Elapsed time of one process alone, divided by the elapsed time of the slowest of N simultaneous processes "
        "that do the same work. It is 1 if the processes do not slow each other down.",
        views=MetricView.COMPARISON | MetricView.MATRIX,
        column="t(1) /\nt(N)",
    ),
    _make_group_metric(
        "pgfault",
        "Faults in the group",
        "faults",
        "Minor and major page faults, including those during system calls and program starts.",
    ),
    _make_group_metric("pgmajfault", "Major faults in the group", "faults", "Page faults that waited for storage."),
    _make_group_metric(
        "thp_fault_alloc",
        "Huge pages by faults",
        "pages",
        "Transparent huge pages that a fault allocated. Requires cgroup v2.",
    ),
    _make_group_metric(
        "workingset_refault_anon",
        "Swap refaults",
        "pages",
        "How often a page that the kernel had swapped out was needed again. Requires cgroup v2.",
    ),
    _make_group_metric(
        "workingset_refault_file",
        "File refaults",
        "pages",
        "How often a file page that the kernel had evicted from the page cache was needed again. Requires cgroup v2.",
    ),
    _make_group_metric(
        "memory-stall-some", "Some stalled", "s", "Time during which at least one task waited for memory.", Kind.TIME
    ),
    _make_group_metric(
        "memory-stall-full", "All stalled", "s", "Time during which all tasks waited for memory.", Kind.TIME
    ),
)
