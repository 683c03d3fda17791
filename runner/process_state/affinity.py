"""The processors on which a process runs."""

import os

from runner.system.cpu_list import format_cpus


class Affinity:
    """A set of processors, for example those that the host keeps free of other work."""

    setting = "process.cpus"
    remedy = "choose processors that this process may use; `taskset -cp $$` lists them"

    def __init__(self, cpus: frozenset[int]) -> None:
        self._cpus = cpus
        self._previous_cpus: set[int] = set()

    @property
    def target(self) -> str:
        """The processors as a list of ranges."""
        return format_cpus(self._cpus)

    def read_value(self) -> str:
        """Return the processors that this thread may use, as a list of ranges."""
        return format_cpus(os.sched_getaffinity(0))

    def apply(self) -> None:
        """Restrict this thread to the processors; raise unless all are available: fewer would change the results."""
        previous_cpus = os.sched_getaffinity(0)
        if not self._cpus <= previous_cpus:
            raise PermissionError(
                f"not all of these processors are available: {self.target}; available: {format_cpus(previous_cpus)}"
            )
        os.sched_setaffinity(0, self._cpus)
        self._previous_cpus = previous_cpus

    def undo(self) -> None:
        """Restore the previous set."""
        os.sched_setaffinity(0, self._previous_cpus)
