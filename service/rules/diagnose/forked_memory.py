"""Recognises memory that is copied because a forked process shares it."""

from __future__ import annotations

import re

from runner.contract.diagnosis import Remedy
from runner.contract.profile import Memory, Touch
from service.rules.diagnose.process_contents import Runtime, identify_runtime
from service.rules.diagnose.profile_facts import Facts, compute_cpu_share
from service.rules.diagnose.rule import Rule

MIN_COPIED_PER_FORK = 256
"""If at least this many pages are copied per fork, data is copied: any fork copies tens of pages of stack and C
library."""
MIN_COPIED_BY_INTERPRETER = 4096
"""The same for Python, whose children write to the reference counts of the interpreter's own objects: 16 MiB."""
_COPY_FUNCTION = re.compile(r"(?:do_)?wp_page(?:_copy)?|__wp_page_copy_user|do_cow_fault")
_COPIED_MEMORY = (
    Memory.HEAP,
    Memory.ARENA,
    Memory.ANONYMOUS,
    Memory.STATIC,
    Memory.STACK,
    Memory.FILE_DATA,
)

_KERNEL_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})", re.ASCII)
_FIRST_KERNEL_THAT_SPLITS = (5, 8)


def _count_copied_pages(facts: Facts) -> int:
    """Return the number of faults that copied a page shared with another process since a fork."""
    return facts.count_faults(_COPIED_MEMORY, Touch.AFTER_FORK)


def _copies_much(facts: Facts) -> bool:
    """Return whether the program forks while it holds much data to which one of the processes then writes.

    Much is at least :data:`MIN_COPIED_PER_FORK` pages per fork, in all or more than before the change. In all, it is
    more for Python.
    """
    forks = facts.anatomy.forks
    copied_per_fork = _compute_copied_per_fork(facts)
    if forks and facts.before is not None and facts.before.anatomy.forks:
        # Pages that each fork copies in any case were copied before as well.
        earlier_copied_per_fork = _compute_copied_per_fork(facts.before)
        if copied_per_fork - earlier_copied_per_fork >= MIN_COPIED_PER_FORK:
            return True
    is_python = identify_runtime(facts.profile) is Runtime.PYTHON
    return forks > 0 and copied_per_fork >= (MIN_COPIED_BY_INTERPRETER if is_python else MIN_COPIED_PER_FORK)


def _compute_copied_per_fork(facts: Facts) -> float:
    return _count_copied_pages(facts) / max(1, facts.anatomy.forks)


def _estimate_copy_saving(facts: Facts) -> float | None:
    """Return the share of the CPU time that copying pages takes; estimated from the faults if no stack shows it.

    None if the program was not timed, or has no faults.
    """
    if not facts.timed or not facts.faults:
        return None
    return max(compute_cpu_share(facts.profile, _COPY_FUNCTION), facts.estimate_cost(_count_copied_pages(facts)))


def _describe_copies(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the number of copied pages and of forks, the price, and which code writes to the pages."""
    forks = facts.anatomy.forks
    times = "a fork" if forks == 1 else f"{forks:,} forks"
    forks_before = forks if facts.before is None else facts.before.anatomy.forks
    earlier_clause = f" ({forks_before:,} before the change)" if forks_before != forks else ""
    return (
        f"{_count_copied_pages(facts):,} pages were copied after {times}{earlier_clause}: a process wrote to "
        "them while another shared them",
        f"copying takes {facts.format_cost(_estimate_copy_saving(facts) or 0)} of the CPU time",
        *facts.describe_top_site("of these faults are", {Touch.AFTER_FORK}, frozenset(_COPIED_MEMORY)),
    )


def _suggest_less_copying(facts: Facts) -> tuple[Remedy, ...]:
    """Return remedies that keep a fork from copying data."""
    python_remedy = Remedy(
        text="call gc.freeze() before the fork, or start workers with multiprocessing's spawn or forkserver"
    )
    huge_pages_remedy = Remedy(
        text="do not use huge pages in the process that forks, because one write then copies "
        f"{facts.pages_per_huge_page:,} pages",
        settings={"thp": "never"},
    )
    is_python = identify_runtime(facts.profile) is Runtime.PYTHON
    return (
        *([python_remedy] if is_python else []),
        Remedy(text="fork before the data is built, or fork less often, and write less while the child lives"),
        Remedy(text="start helpers with posix_spawn or vfork, which copy nothing; exclude regions with MADV_DONTFORK"),
        *([huge_pages_remedy] if _copies_huge_pages(facts) else []),
    )


def _copies_huge_pages(facts: Facts) -> bool:
    """Return whether the kernel copies a huge page as a whole; since Linux 5.8, it copies one of its small pages."""
    match = _KERNEL_VERSION.match(facts.profile.environment.settings.get("kernel.release", ""))
    return match is not None and (int(match[1]), int(match[2])) < _FIRST_KERNEL_THAT_SPLITS


COPIES_AFTER_FORK = Rule(
    name="copies-after-fork",
    title="Memory is copied because a forked process shares it",
    condition=_copies_much,
    max_saving=_estimate_copy_saving,
    evidence=_describe_copies,
    remedies=_suggest_less_copying,
    report="a data store that forks to save its data: meanwhile, writes copy pages, and requests take longer",
    count=_count_copied_pages,
)
