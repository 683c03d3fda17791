"""The metric catalogue: the meaning and unit of each metric, and how it may be judged.

The runner uses it to know what to collect, and the service to know what to judge and show. Metrics are shown in its
order.
"""

from msgspec.structs import replace

from runner.contract.fault_kind_metrics import FAULT_KINDS
from runner.contract.imported_metric import find_imported_metric
from runner.contract.memory_metrics import MEMORY_METRICS
from runner.contract.metric import Kind, Metric, MetricView

__all__ = ["CATALOGUE", "Kind", "Metric", "MetricView", "get_metric", "list_shown_metrics"]

_METRICS = (
    Metric(
        "minor-faults",
        "Minor faults",
        "faults",
        Kind.COUNT,
        "lower",
        True,
        "Page faults that the kernel resolved without reading from storage: first touches, copy-on-write, "
        "and pages touched again after they were given back. Counted by perf from the program's exec to its exit.",
        column="minor\nfaults",
    ),
    Metric(
        "major-faults",
        "Major faults",
        "faults",
        Kind.COUNT,
        "lower",
        True,
        "Page faults that waited for storage: pages of a file or of swap that were not in memory. Exact only in a "
        "declared page-cache state; one discarded execution warms the cache first.",
        column="major\nfaults",
    ),
    Metric(
        "page-faults",
        "Page faults",
        "faults",
        Kind.COUNT,
        "lower",
        False,
        "Minor and major faults together, as perf counts them. This sum is not judged, because each of its parts is "
        "judged.",
    ),
    Metric(
        "faults-per-operation",
        "Faults per operation",
        "faults/operation",
        Kind.RATIO,
        "lower",
        False,
        "Minor and major faults divided by the operations that the program reports.",
        views=MetricView.MATRIX | MetricView.REMEDY_TABLE,
    ),
    Metric(
        "context-switches",
        "Context switches",
        "switches",
        Kind.COUNT,
        "lower",
        False,
        "How often the kernel took the program off a CPU. Depends on what else runs on the host.",
    ),
    Metric(
        "rwsem-waits",
        "Waits for reader-writer locks",
        "waits",
        Kind.COUNT,
        "lower",
        False,
        "How often a server thread slept during a window because another thread held one of the kernel's reader-writer "
        "semaphores, such as the mmap lock or a file or directory lock.",
    ),
    Metric(
        "cpu-migrations",
        "CPU migrations",
        "migrations",
        Kind.COUNT,
        "lower",
        False,
        "How often the program continued on another CPU. Depends on what else runs on the host.",
    ),
    Metric(
        "task-clock",
        "Task clock",
        "s",
        Kind.TIME,
        "lower",
        False,
        "CPU time of all the program's threads together, from perf's task clock.",
        views=MetricView.REMEDY_TABLE,
    ),
    Metric(
        "user-time",
        "User time",
        "s",
        Kind.TIME,
        "lower",
        False,
        "CPU time in the program's own code and its libraries, as measured by the kernel.",
    ),
    Metric(
        "sys-time",
        "System time",
        "s",
        Kind.TIME,
        "lower",
        False,
        "CPU time in the kernel on behalf of the program, page faults included, as measured by the kernel.",
    ),
    Metric(
        "sys-percent",
        "System share",
        "%",
        Kind.RATIO,
        "lower",
        False,
        "System time as a share of user and system time together. This share is noisy in a single run, so it is judged "
        "only if the workload file names it.",
        views=MetricView.COMPARISON
        | MetricView.DRIFT
        | MetricView.MATRIX
        | MetricView.REMEDY
        | MetricView.REMEDY_TABLE,
        column="sys\n%",
    ),
    Metric(
        "elapsed",
        "Elapsed time",
        "s",
        Kind.TIME,
        "lower",
        False,
        "Wall-clock time from the program's exec to its exit.",
        views=MetricView.COMPARISON | MetricView.MATRIX | MetricView.REMEDY | MetricView.REMEDY_TABLE,
        column="elapsed",
    ),
    Metric(
        "throughput",
        "Throughput",
        "operations/s",
        Kind.RATE,
        "higher",
        False,
        "Operations that the program reports, divided by the seconds it reports for its main loop.",
        views=MetricView.COMPARISON
        | MetricView.DRIFT
        | MetricView.MATRIX
        | MetricView.REMEDY
        | MetricView.REMEDY_TABLE,
        column="operations\na second",
    ),
    *(
        Metric(
            f"latency-{name}",
            f"Latency, {title}",
            "s",
            Kind.TIME,
            "lower",
            False,
            f"The latency that {share} of a window's operations did not exceed, as the load generator reports it; "
            "the median of the windows.",
            views=MetricView.COMPARISON,
        )
        for name, title, share in (
            ("p50", "median", "half"),
            ("p99", "99th percentile", "99 %"),
            ("p99.9", "99.9th percentile", "99.9 %"),
        )
    ),
    Metric(
        "bytes-per-fault",
        "Bytes per fault",
        "bytes/fault",
        Kind.RATIO,
        "higher",
        False,
        "Bytes that the program reports, divided by its faults in the region, or in the whole process if it opens no "
        "region. A program that touches each page only once cannot get below the page size.",
    ),
    Metric(
        "refault-ratio",
        "Refault ratio",
        "faults/page",
        Kind.RATIO,
        "lower",
        False,
        "Faults divided by the number of distinct pages that the program says it touches. Above 1, pages were returned "
        "to the kernel and touched again.",
    ),
    Metric(
        "expected-faults",
        "Faults in theory",
        "faults",
        Kind.COUNT,
        "lower",
        False,
        "Expected faults in the region, or in the whole process if it opens no region, as the program itself computes "
        "them from the pages that it touches.",
        column="in\ntheory",
    ),
    Metric(
        "unexplained-faults",
        "Faults beyond theory",
        "faults",
        Kind.COUNT,
        "lower",
        False,
        "Counted faults minus the faults in theory: 0 if the program's account of its memory is right, negative if "
        "fewer were counted.",
    ),
    Metric(
        "instructions",
        "Instructions",
        "instructions",
        Kind.COUNT,
        "lower",
        False,
        "Instructions retired, user and kernel. Needs a hardware counter.",
    ),
    Metric(
        "cycles",
        "CPU cycles",
        "cycles",
        Kind.COUNT,
        "lower",
        False,
        "CPU cycles, user and kernel. Needs a hardware counter.",
    ),
    *FAULT_KINDS,
    *MEMORY_METRICS,
)

CATALOGUE: dict[str, Metric] = {entry.name: entry for entry in _METRICS}


def list_shown_metrics(view: MetricView) -> list[str]:
    """Return the metrics that a view shows before all others, in the order of the catalogue."""
    return [name for name, entry in CATALOGUE.items() if entry.is_shown_in(view)]


def get_metric(name: str) -> Metric:
    """Return the catalogue entry of a metric, or a generic one for an event that a workload file added.

    ``region:NAME`` is metric NAME counted in the program's region of interest. The name of an imported metric contains
    its description, see :mod:`runner.contract.imported_metric`.
    """
    entry = CATALOGUE.get(name) or find_imported_metric(name)
    if entry is not None:
        return entry
    if name.startswith("region:"):
        whole_metric = get_metric(name.removeprefix("region:"))
        return replace(
            whole_metric,
            name=name,
            title=f"{whole_metric.title} in the region",
            definition="Counted only between the marks that the program sets around its main loop. "
            f"{whole_metric.definition}",
        )
    return Metric(
        name,
        name,
        "events",
        Kind.COUNT,
        "lower",
        False,
        f"The perf event {name}, which a workload file requests.",
    )
