"""Binds a workload to one of its cases: only here is ``{name}`` replaced by the value of a parameter."""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.process_state.huge_pages import CHOICES, HugePageChoice
from runner.workload.allocators import get_allocator_variables
from runner.workload.bound_server import ServerResources, bind_server
from runner.workload.definition import PAGE_CACHE_STATES, Workload
from runner.workload.placeholders import fill_placeholders
from runner.workload.workload_folder import get_folder_value, provide_own_folder

MAX_PROCESSES = 1024
"""The largest number of processes of a case that run at the same time."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class BoundCase(Struct, frozen=True):
    """The values of ``[run]`` for one case.

    Attributes
    ----------
    command
        The program and its arguments.
    variables
        The environment variables that the workload and its allocator add for the program.
    allocator
        The name of the allocator that is preloaded.
    cold_files
        Files that must not be in memory when the program starts, relative to the build's directory.
    own_state_files
        Files whose page-cache state the program itself sets, relative to the build's directory.
    processes
        How many processes run the command at the same time.
    memory_limit
        Bytes that the processes may use together; None for no limit.
    huge_pages
        The policy for transparent huge pages; ``host`` for the policy of the host.
    own_folder
        The copy of the workload's folder; None if the workload does not use it.
    is_server
        Whether the command starts a server.
    """

    command: tuple[str, ...]
    variables: Mapping[str, str]
    allocator: str
    cold_files: tuple[str, ...]
    own_state_files: tuple[str, ...]
    processes: int
    memory_limit: int | None
    huge_pages: HugePageChoice
    own_folder: Path | None = None
    is_server: bool = False


def bind_case(workload: Workload, case: Case) -> BoundCase:
    """Fill the placeholders of a workload with the parameters of a case.

    Raises
    ------
    FaultwatchError
        A filled value is not valid for its key; the message names the file, the key and the value.
    """
    run = workload.run
    folder = provide_own_folder(workload)
    values = case.parameters | get_folder_value(folder)

    def fill_text(text: str) -> str:
        return fill_placeholders(text, values, location=str(workload.path))

    allocator = fill_text(run.allocator)
    server = bind_server(workload, case, ServerResources()) if workload.server else None
    command = server.command if server else tuple(fill_text(part) for part in run.command)
    files = tuple(fill_text(name) for name in run.files)
    cold_files: tuple[str, ...] = ()
    if _is_cold(workload, case):
        cold_files = files or command[:1]  # By default, the program itself.
    return BoundCase(
        command=command,
        variables={
            **get_allocator_variables(allocator),
            **{name: fill_text(text) for name, text in run.environment.items()},
        },
        allocator=allocator,
        cold_files=cold_files,
        own_state_files=files if run.page_cache == "host" else (),
        processes=get_process_count(workload, case),
        memory_limit=_parse_memory_limit(workload, fill_text(run.memory_limit)),
        huge_pages=_parse_huge_pages(workload, fill_text(run.huge_pages)),
        own_folder=folder,
        is_server=server is not None,
    )


def get_process_count(workload: Workload, case: Case) -> int:
    """Return how many processes run the command of a case at the same time.

    Raises
    ------
    FaultwatchError
        The value is not a number from 1 to 1024.
    """
    text = fill_placeholders(str(workload.run.processes), case.parameters)
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= MAX_PROCESSES:
        raise FaultwatchError(f"{workload.path}: [run] processes: {text!r} is not a number from 1 to {MAX_PROCESSES}")
    return int(text)


def parse_size(text: str, location: str = "") -> int:
    """Parse a number of bytes, which may be followed by ``K``, ``M`` or ``G``.

    Parameters
    ----------
    location
        The beginning of the error message, such as the file and the key, with its separator; may be empty.

    Raises
    ------
    FaultwatchError
        The text is not a size.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,14})([KMG]?)", text)
    if not match:
        raise FaultwatchError(f"{location}{text!r} is not a size", 'write "none", or a size such as "256M"')
    return int(match[1]) * _UNITS[match[2]]


def _is_cold(workload: Workload, case: Case) -> bool:
    """Return whether a case starts with its files evicted from the page cache."""
    state = fill_placeholders(workload.run.page_cache, case.parameters)
    if state not in PAGE_CACHE_STATES:
        raise FaultwatchError(f'{workload.path}: [run] page_cache: {state!r} is neither "host" nor "cold"')
    return state == "cold"


def _parse_memory_limit(workload: Workload, text: str) -> int | None:
    """Return the memory limit of a case in bytes; None for no limit."""
    return None if text == "none" else parse_size(text, f"{workload.path}: [run] memory_limit: ")


def _parse_huge_pages(workload: Workload, text: str) -> HugePageChoice:
    """Return the policy of huge pages that a case asks for."""
    for choice in CHOICES:
        if text == choice:
            return choice
    raise FaultwatchError(f"{workload.path}: [run] huge_pages: {text!r} is not one of {', '.join(CHOICES)}")
