"""The address-space layout of a process."""

from runner.process_state import system_calls
from runner.system.tree import Tree


class Layout:
    """Address-space randomisation switched off: random addresses change the page tables and the start of the stack.

    The rest of the personality is set to the default, even if a caller used ``setarch``: some flags change the layout.
    """

    setting = "process.aslr"
    target = "off"
    remedy = (
        "in a container: docker run --security-opt seccomp=unconfined; or on the host: "
        "sudo sysctl -w kernel.randomize_va_space=0"
    )

    def __init__(self, tree: Tree | None = None) -> None:
        self._tree = tree or Tree()
        self._previous_flags = 0

    def read_value(self) -> str:
        """Return ``off`` or ``on``, and the other flags of the personality if there are any."""
        flags = system_calls.get_personality()
        is_off = flags & system_calls.ADDR_NO_RANDOMIZE
        randomization = "off" if is_off or self._tree.read_text("proc/sys/kernel/randomize_va_space") == "0" else "on"
        other_flags = flags & ~system_calls.ADDR_NO_RANDOMIZE
        return f"{randomization} (personality {other_flags:#x})" if other_flags else randomization

    def apply(self) -> None:
        """Switch randomisation off, and set the rest of the personality to the default."""
        previous_flags = system_calls.get_personality()
        system_calls.set_personality(system_calls.ADDR_NO_RANDOMIZE)
        self._previous_flags = previous_flags

    def undo(self) -> None:
        """Restore the previous setting."""
        system_calls.set_personality(self._previous_flags)
