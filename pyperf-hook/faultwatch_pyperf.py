"""A pyperf hook: page faults and CPU times of the benchmarked code, as metadata of any pyperf benchmark.

Use it with ``python bench.py --hook faultwatch``. pyperf imports it in each worker, so it imports almost nothing.
"""

import resource
from types import TracebackType

_FIELDS = ("ru_minflt", "ru_majflt", "ru_utime", "ru_stime")


class FaultwatchHook:
    """Counts from just before the benchmarked code to just after it; sums over the values of a worker.

    The kernel's counts for this process with all its threads, and for the child processes that it waited for.
    """

    def __init__(self) -> None:
        self._before: list[float] = []
        self._totals: list[float] = [0] * len(_FIELDS)
        self._minor_faults: list[int] = []

    def __enter__(self) -> None:
        children = _usage(resource.RUSAGE_CHILDREN)
        # Read this process last here and first in __exit__, so that nothing of the hook is counted.
        own = _usage(resource.RUSAGE_SELF)
        self._before = own + children

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        own = _usage(resource.RUSAGE_SELF)
        after = own + _usage(resource.RUSAGE_CHILDREN)
        deltas = [now - then for now, then in zip(after, self._before, strict=True)]
        both = [self_part + children for self_part, children in zip(deltas[:4], deltas[4:], strict=True)]
        self._totals = [total + delta for total, delta in zip(self._totals, both, strict=True)]
        self._minor_faults.append(int(both[0]))

    def teardown(self, metadata: dict[str, object]) -> None:
        """Add what was counted to the metadata of the worker's run.

        The counts are sums over the values of the run; ``…_values`` is how many, each of ``loops`` × ``inner_loops``
        iterations.
        """
        minor, major, user, system = self._totals
        metadata["faultwatch_minor_faults"] = int(minor)
        metadata["faultwatch_major_faults"] = int(major)
        metadata["faultwatch_user_time"] = round(user, 6)
        metadata["faultwatch_sys_time"] = round(system, 6)
        metadata["faultwatch_values"] = len(self._minor_faults)
        if self._minor_faults:
            metadata["faultwatch_minor_faults_least"] = min(self._minor_faults)
            metadata["faultwatch_minor_faults_most"] = max(self._minor_faults)


def _usage(who: int) -> list[float]:
    usage = resource.getrusage(who)
    return [getattr(usage, field) for field in _FIELDS]
