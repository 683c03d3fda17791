"""The NUMA memory policy of a process, which it may have inherited from a caller such as numactl."""

from runner.process_state import system_calls

DEFAULT_POLICY = 0
_POLICY_MASK = 0xFF
"""The bits of a mode that contain the policy; the higher bits are flags."""
_NAMES = ("default", "preferred", "bind", "interleave", "local", "preferred-many", "weighted-interleave")


class MemoryPolicy:
    """The default policy: memory comes from the node on which the program runs."""

    setting = "process.numa_policy"
    target = "default"
    remedy = "start the runner without numactl"

    def __init__(self) -> None:
        self._previous_policy: system_calls.NodePolicy | None = None

    def read_value(self) -> str:
        """Return the name of this thread's policy. If the kernel does not show it, none can have been set."""
        try:
            mode = system_calls.get_memory_policy().mode & _POLICY_MASK
        except OSError:
            return self.target
        return _NAMES[mode] if mode < len(_NAMES) else str(mode)

    def apply(self) -> None:
        """Set the default policy."""
        previous_policy = system_calls.get_memory_policy()
        if previous_policy.mode != DEFAULT_POLICY:
            system_calls.set_memory_policy(system_calls.NodePolicy(DEFAULT_POLICY, b""))
        self._previous_policy = previous_policy

    def undo(self) -> None:
        """Restore the policy."""
        if self._previous_policy and self._previous_policy.mode != DEFAULT_POLICY:
            system_calls.set_memory_policy(self._previous_policy)
