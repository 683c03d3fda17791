"""The stack limit of a process, which affects the layout of its address space."""

import resource

from runner.system.tree import Tree

STACK_LIMIT_BYTES = 8 * 1024 * 1024
"""The stack limit of measured programs."""


class StackLimit:
    """The soft limit of the stack: the kernel reserves this much space for the stack, and places mappings below it."""

    setting = "process.stack_limit"
    remedy = "raise the hard limit: ulimit -H -s unlimited, or LimitSTACK= in the service's unit file"

    def __init__(self, size: int = STACK_LIMIT_BYTES, tree: Tree | None = None) -> None:
        self._size = size
        self._tree = tree or Tree()
        self._previous_limits = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    @property
    def target(self) -> str:
        """The size in bytes."""
        return str(self._size)

    def read_value(self) -> str:
        """Return the soft limit in bytes, or ``unlimited``."""
        lines = self._tree.read_lines("proc/self/limits")
        limit = next((line.split()[3] for line in lines if line.startswith("Max stack size")), None)
        return limit or str(resource.getrlimit(resource.RLIMIT_STACK)[0])

    def apply(self) -> None:
        """Set the soft limit; raise if the hard limit is lower."""
        previous_limits = resource.getrlimit(resource.RLIMIT_STACK)
        try:
            resource.setrlimit(resource.RLIMIT_STACK, (self._size, previous_limits[1]))
        except ValueError as error:
            raise PermissionError(str(error)) from None
        self._previous_limits = previous_limits

    def undo(self) -> None:
        """Restore the limits."""
        resource.setrlimit(resource.RLIMIT_STACK, self._previous_limits)
