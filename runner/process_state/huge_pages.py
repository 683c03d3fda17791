"""The transparent huge pages of a process."""

from typing import Literal, get_args

from runner.process_state import system_calls
from runner.process_state.temporary_host_setting import HostSetting
from runner.system.tree import Tree

HugePagePolicy = Literal["never", "madvise", "always"]
HugePageChoice = Literal["host", "never", "madvise", "always"]
"""A policy for transparent huge pages; ``host`` stands for that of the host."""
CHOICES: tuple[HugePageChoice, ...] = get_args(HugePageChoice)
_FOLDER = "sys/kernel/mm/transparent_hugepage"
_HOST_FILE = f"{_FOLDER}/enabled"


class HugePages:
    """A policy for transparent huge pages: none, those that the process asks for (madvise), or all available.

    ``never``, and since Linux 6.18 also ``madvise``, can be set for a single process. Otherwise the host must have the
    same policy; the runner changes it temporarily if it is allowed to.
    """

    setting = "process.huge_pages"

    def __init__(self, policy: HugePagePolicy, tree: Tree | None = None) -> None:
        self._policy = policy
        self._tree = tree or Tree()
        self._host: HostSetting | None = None
        self._previous_refusal = system_calls.REFUSE_NONE

    @property
    def target(self) -> str:
        """The policy."""
        return self._policy

    @property
    def remedy(self) -> str:
        """How to allow the policy: with a newer kernel that has it for a single process, or as root for the host."""
        if self._policy == "never":
            return "use kernel 3.15 or later with CONFIG_TRANSPARENT_HUGEPAGE"
        file = self._find_decisive_file()
        return f"measure as root, or set the policy for the whole host: echo {self._policy} | sudo tee /{file}"

    def read_value(self) -> str:
        """Return the effective policy: that of the host, unless the process has a stricter policy."""
        host = self._tree.read_choice(self._find_decisive_file()) or "never"
        mode = system_calls.get_huge_page_refusal()
        if mode == system_calls.REFUSE_ALL or host == "never":
            return "never"
        return "madvise" if mode == system_calls.REFUSE_UNADVISED else host

    def apply(self) -> None:
        """Set the policy for this process if the kernel can, or else for the host."""
        previous_refusal = system_calls.get_huge_page_refusal()
        if self._policy == "never":
            system_calls.refuse_huge_pages(system_calls.REFUSE_ALL)
        elif self._policy == "always" or not self._try_to_refuse_unadvised_pages():
            # A process can only refuse huge pages that the host's policy grants, so change the host's policy.
            host = HostSetting(self._find_decisive_file(), self._tree)
            host.hold(self._policy)
            self._host = host
            system_calls.refuse_huge_pages(system_calls.REFUSE_NONE)
        self._previous_refusal = previous_refusal

    def undo(self) -> None:
        """Restore the setting of the process and the host's policy."""
        host, self._host = self._host, None
        try:
            system_calls.refuse_huge_pages(self._previous_refusal)
        finally:
            if host:
                host.restore()

    def _try_to_refuse_unadvised_pages(self) -> bool:
        """Refuse all but advised huge pages; return whether this is enough, whatever the host's policy becomes.

        It is not if the host's policy is ``never``, which refuses advised huge pages as well.
        """
        if self._tree.read_choice(self._find_decisive_file()) not in {"madvise", "always"}:
            return False
        try:
            system_calls.refuse_huge_pages(system_calls.REFUSE_UNADVISED)
        except OSError:
            return False
        return True

    def _find_decisive_file(self) -> str:
        """Return the file that decides the policy: since Linux 6.8, that of the size unless it says ``inherit``."""
        size = (self._tree.read_integer(f"{_FOLDER}/hpage_pmd_size") or 0) // 1024  # in KiB
        size_file = f"{_FOLDER}/hugepages-{size}kB/enabled"
        return _HOST_FILE if self._tree.read_choice(size_file) in {None, "inherit"} else size_file
