"""Metrics of memory besides page faults: size, caches, control groups, and scaling with several processes."""

from runner.contract.metric import Kind, Metric, MetricView


def _make_group_metric(name: str, title: str, unit: str, definition: str, kind: Kind = Kind.COUNT) -> Metric:
    return Metric(
        f"cgroup:{name}",
        title,
        unit,
        kind,
        "lower",
        False,
        f"{definition} In the control group that all processes of the case are in, where one can be made.",
    )


MEMORY_METRICS = (
    Metric(
        "max-rss",
        "Largest resident set",
        "bytes",
        Kind.SIZE,
        "lower",
        False,
        "The most memory that the program, or one of those that it started and waited for, had resident at a time, as "
        "the kernel accounts it: some pages are accounted late on each CPU. At least that of the launcher, less than "
        "1 MiB. Of several processes at once, that of the largest.",
        views=MetricView.MATRIX | MetricView.REMEDY | MetricView.REMEDY_TABLE,
    ),
    Metric(
        "dTLB-load-misses",
        "Data TLB misses",
        "misses",
        Kind.COUNT,
        "lower",
        False,
        "Loads whose page was not in the data TLB. Needs a hardware counter.",
    ),
    Metric(
        "cache-misses",
        "Cache misses",
        "misses",
        Kind.COUNT,
        "lower",
        False,
        "Accesses that the last level of cache did not have. Needs a hardware counter.",
    ),
    Metric(
        "scaling-efficiency",
        "Weak-scaling efficiency",
        "ratio",
        Kind.RATIO,
        "higher",
        False,
        "Elapsed time of one process alone, divided by that of the slowest of N at once that do the same work each. "
        "1 where they do not get in each other's way.",
        views=MetricView.COMPARISON | MetricView.MATRIX,
        column="t(1) /\nt(N)",
    ),
    _make_group_metric(
        "pgfault",
        "Faults in the group",
        "faults",
        "Page faults, minor and major, with those on behalf of system calls and of the start of programs.",
    ),
    _make_group_metric("pgmajfault", "Major faults in the group", "faults", "Page faults that waited for storage."),
    _make_group_metric(
        "thp_fault_alloc",
        "Huge pages by faults",
        "pages",
        "Transparent huge pages that a fault brought. Version 2 of control groups only.",
    ),
    _make_group_metric(
        "workingset_refault_anon",
        "Refaults from swap",
        "pages",
        "Pages that came back from swap soon after they went. Version 2 of control groups only.",
    ),
    _make_group_metric(
        "workingset_refault_file",
        "Refaults of files",
        "pages",
        "Pages of files that were read again soon after they were dropped. Version 2 of control groups only.",
    ),
    _make_group_metric(
        "memory-stall-some", "Some stalled", "s", "Time in which at least one task waited for memory.", Kind.TIME
    ),
    _make_group_metric(
        "memory-stall-full", "All stalled", "s", "Time in which all tasks waited for memory.", Kind.TIME
    ),
)
