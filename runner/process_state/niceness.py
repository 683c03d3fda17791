"""The nice value of a process."""

import os
import resource

from runner.system.tree import Tree

_NICE_FIELD = 16
"""The index of the nice value among the fields of ``/proc/…/stat`` that follow the program's name."""


class Niceness:
    """The nice value. Measured programs would otherwise inherit the runner's, for example 19, the lowest priority."""

    setting = "process.nice"
    remedy = (
        "start the runner without nice, or as root, or with a limit that allows a lower nice value (LimitNICE= in the "
        "service's unit file)"
    )

    def __init__(self, value: int = 0, tree: Tree | None = None) -> None:
        self._value = value
        self._tree = tree or Tree()
        self._previous_value = value

    @property
    def target(self) -> str:
        """The nice value."""
        return str(self._value)

    def read_value(self) -> str:
        """Return the nice value of this thread."""
        # The program's name is in parentheses and may itself contain parentheses.
        fields = (self._tree.read_text("proc/thread-self/stat") or "").rpartition(")")[2].split()
        return fields[_NICE_FIELD] if len(fields) > _NICE_FIELD else str(os.getpriority(os.PRIO_PROCESS, 0))

    def apply(self) -> None:
        """Set the nice value; raise if the previous value could not be restored."""
        previous_value = os.getpriority(os.PRIO_PROCESS, 0)
        if previous_value < self._value and not _may_lower_nice_value_to(previous_value):
            raise PermissionError(f"a nice value of {previous_value} could not be restored")
        os.setpriority(os.PRIO_PROCESS, 0, self._value)
        self._previous_value = previous_value

    def undo(self) -> None:
        """Restore the nice value."""
        os.setpriority(os.PRIO_PROCESS, 0, self._previous_value)


def lower_priority(thread: int, nice_value: int) -> None:
    """Raise the nice value of a thread; do nothing if it is as high already, because only root could lower it.

    Parameters
    ----------
    thread
        The thread's id; 0 for the calling thread.
    """
    if os.getpriority(os.PRIO_PROCESS, thread) < nice_value:
        os.setpriority(os.PRIO_PROCESS, thread, nice_value)


def _may_lower_nice_value_to(value: int) -> bool:
    """Return whether this process may lower its nice value to ``value``; a soft limit of 40 allows -20."""
    return os.geteuid() == 0 or 20 - resource.getrlimit(resource.RLIMIT_NICE)[0] <= value
