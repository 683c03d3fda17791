"""How many processes of a case run at once, how much memory they may use, and which of it in huge pages."""

import re

from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.state.huge_pages import CHOICES, HugePageChoice
from runner.workload.definition import Workload, fill

MOST_PROCESSES = 1024
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def process_count(workload: Workload, case: Case) -> int:
    """Return how many processes run the case's command at once.

    Raises
    ------
    FaultwatchError
        Where that is not a sensible number.
    """
    text = fill(str(workload.run.processes), case.parameters)
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= MOST_PROCESSES:
        raise FaultwatchError(f"{workload.path}: [run] processes: {text!r} is not a number from 1 to {MOST_PROCESSES}")
    return int(text)


def memory_limit(workload: Workload, case: Case) -> int | None:
    """Return how many bytes the case's processes may use together, or None where there is no limit.

    Raises
    ------
    FaultwatchError
        Where it is neither a size nor ``none``.
    """
    text = fill(workload.run.memory_limit, case.parameters)
    if text == "none":
        return None
    return size(text, f"{workload.path}: [run] memory_limit: ")


def size(text: str, where: str = "") -> int:
    """Read a number of bytes, with ``K``, ``M`` or ``G`` behind it or not.

    Raises
    ------
    FaultwatchError
        Where it is none.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,14})([KMG]?)", text)
    if not found:
        raise FaultwatchError(f"{where}{text!r} is not a size", 'write "none", or bytes such as "256M"')
    return int(found[1]) * _UNITS[found[2]]


def huge_pages(workload: Workload, case: Case) -> HugePageChoice:
    """Return which memory of the case's processes gets huge pages: a policy, or ``host`` for the host's own.

    Raises
    ------
    FaultwatchError
        Where there is no such policy.
    """
    text = fill(workload.run.huge_pages, case.parameters)
    for choice in CHOICES:
        if text == choice:
            return choice
    raise FaultwatchError(f"{workload.path}: [run] huge_pages: {text!r} is none of {', '.join(CHOICES)}")
