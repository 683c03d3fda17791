"""Compares the bytes of programs: the same bytes count the same. Pure.

A commit can change a count only through the files that the program maps or reads. If none of them differs, the commit
is not to blame, whatever was counted. Faults in unprepared files, whose number depends on the state of the page cache,
are uncertain: a difference that they can explain does not show a change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from runner.contract import Report
from runner.contract.level import Number, median


class ProgramBytes(NamedTuple):
    """The bytes of a run's program.

    Attributes
    ----------
    own
        Digest of the files that it mapped and read of its revision's build; empty if it is unknown.
    system
        Digest of the files that it mapped from elsewhere; empty if it is unknown.
    least_uncertain, most_uncertain
        The range of the number of its faults in unprepared files.
    """

    own: str = ""
    system: str = ""
    least_uncertain: int = 0
    most_uncertain: int = 0

    @property
    def key(self) -> str:
        """A key that is equal for the same bytes; empty if some of them are unknown."""
        return f"{self.own} {self.system}" if self.own and self.system else ""


UNKNOWN = ProgramBytes()


def program_bytes(report: Report) -> ProgramBytes:
    """Return the bytes of a run's program."""
    files = report.files
    if files is None:
        return UNKNOWN
    uncertain = files.uncertain_faults
    return ProgramBytes(files.own_bytes, files.system_bytes, uncertain.least, uncertain.most)


def system_file_knobs(report: Report) -> dict[str, str]:
    """Return the files that a program mapped from outside of its build, as knobs: the digest of each by its name."""
    mapped = report.files.mapped if report.files else ()
    return {f"file.{file.path}"[:200]: file.digest or "not known" for file in mapped if not file.own}


def upgraded_files(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the files that both sides have, with other content; see :func:`system_file_knobs`."""
    return frozenset(name for name in before.keys() & after.keys() if before[name] != after[name])


def have_same_own_bytes(first: ProgramBytes, second: ProgramBytes) -> bool:
    """Return whether two runs had the same bytes of their revisions, so that no commit can have made a difference."""
    return bool(first.own) and first.own == second.own


def have_same_bytes(first: ProgramBytes, second: ProgramBytes) -> bool:
    """Return whether two runs had the same bytes, of their revisions and from elsewhere."""
    return bool(first.key) and first.key == second.key


def is_uncertain(change: Number, before: ProgramBytes, after: ProgramBytes) -> bool:
    """Return whether faults in unprepared files alone can explain a change of a count.

    Their number changed from between ``before.least_uncertain`` and ``before.most_uncertain`` to between
    ``after.least_uncertain`` and ``after.most_uncertain``. A larger change, or one in the other direction, is certain.
    """
    lowest = min(0, after.least_uncertain - before.most_uncertain)
    highest = max(0, after.most_uncertain - before.least_uncertain)
    return change != 0 and lowest <= change <= highest


class CountedRun(Protocol):
    """A run in a search."""

    @property
    def commit(self) -> str:
        """The commit that was measured."""

    @property
    def value(self) -> Number | None:
        """The count."""

    @property
    def bytes_key(self) -> str:
        """The key of the program's bytes; empty if some of them are unknown."""


def levels_by_bytes(runs: Iterable[CountedRun]) -> dict[str, Number]:
    """Return the level of all runs with the same bytes together, by the key of the bytes."""
    values: dict[str, list[Number]] = defaultdict(list)
    for run in runs:
        if run.bytes_key and run.value is not None:
            values[run.bytes_key].append(run.value)
    return {key: level for key, counts in values.items() if (level := median(counts)) is not None}


def commits_without_change(runs: Sequence[CountedRun], parents: Iterable[tuple[str, Sequence[str]]]) -> frozenset[str]:
    """Return the commits whose bytes are those of their only parent."""
    keys: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        keys[run.commit].add(run.bytes_key)
    return frozenset(
        commit
        for commit, ancestors in parents
        if len(ancestors) == 1
        and len(keys[commit]) == 1
        and keys[commit] == keys[ancestors[0]]
        and "" not in keys[commit]
    )
