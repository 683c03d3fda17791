"""Starts measured processes in a state that does not change from one execution to the next."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

from msgspec import Struct, field

from runner.execution.process_variables import PROCESS_VARIABLES, START_BLOCK_BYTES
from runner.execution.resource_limits import format_limits
from runner.process_state.address_layout import Layout
from runner.process_state.affinity import Affinity
from runner.process_state.huge_pages import HugePageChoice, HugePages
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.memory_policy import MemoryPolicy
from runner.process_state.niceness import Niceness
from runner.process_state.process_attribute import Attribute
from runner.process_state.scheduling import ForegroundScheduling
from runner.process_state.stack_limit import StackLimit
from runner.process_state.umask import FileMask


class ProcessState(Struct, frozen=True):
    """The state in which a measured process starts. It is set before perf starts, so that no wrapper is counted.

    Attributes
    ----------
    variables
        Environment variables in addition to the base variables.
    cpus
        The processors to run on; empty for all.
    memory_limit
        Bytes that the process and its children may use together; None for no limit.
    page_cache
        How the files that the process maps are prepared in the page cache.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    huge_pages: HugePageChoice = "host"
    cpus: frozenset[int] = frozenset()
    memory_limit: int | None = None
    page_cache: str = "host"

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of the process."""
        return {**PROCESS_VARIABLES, **self.variables}

    def read_settings(self) -> dict[str, str]:
        """Return this state as settings of the run's environment: the values that are in effect while it is applied."""
        with self._apply_attributes() as attributes:
            applied_settings = {attribute.setting: attribute.read_value() for attribute in attributes}
        # Ordinary scheduling is not mentioned, so that environments stay comparable with those of earlier versions.
        if applied_settings[ForegroundScheduling.setting] == ForegroundScheduling.target:
            del applied_settings[ForegroundScheduling.setting]
        fixed_settings = {
            "process.start_size": str(START_BLOCK_BYTES),
            "process.limits": format_limits(),
            "process.page_cache": self.page_cache,
            "process.variables": " ".join(f"{name}={value}" for name, value in sorted(PROCESS_VARIABLES.items())),
        }
        return {HugePages.setting: "host", **fixed_settings, **applied_settings}

    def list_remarks(self) -> tuple[str, ...]:
        """Return the attributes that this host does not allow, with the remedies."""
        with self._apply_attributes() as attributes:
            values = [(attribute, attribute.read_value()) for attribute in attributes]
        return tuple(
            f"{attribute.setting} is {value}, not {attribute.target}: {attribute.remedy}"
            for attribute, value in values
            if value != attribute.target
        )

    @contextmanager
    def apply(self) -> Iterator[MemoryGroup]:
        """Apply this state to the current thread within the context; processes that it starts there inherit the state.

        Yields the control group, into which the caller has to move the processes.

        The state is not applied between fork and exec, because running the runner's own code in the child would be
        slower and, in a process with threads, unsafe.
        """
        with self._apply_attributes() as attributes:
            yield next(attribute for attribute in attributes if isinstance(attribute, MemoryGroup))

    @contextmanager
    def _apply_attributes(self) -> Iterator[list[Attribute]]:
        """Apply the attributes that this host allows; :meth:`list_remarks` reports the others."""
        attributes = self._list_attributes()
        with ExitStack() as stack:
            for attribute in attributes:
                with suppress(OSError):
                    attribute.apply()
                    stack.callback(attribute.undo)
            yield attributes

    def _list_attributes(self) -> list[Attribute]:
        """Return the attributes to apply to a process, in order."""
        attributes: list[Attribute] = [
            Layout(),
            StackLimit(),
            FileMask(),
            Niceness(),
            ForegroundScheduling(),
            MemoryPolicy(),
            MemoryGroup(self.memory_limit),
        ]
        if self.huge_pages != "host":
            attributes.append(HugePages(self.huge_pages))
        if self.cpus:
            attributes.append(Affinity(self.cpus))
        return attributes
