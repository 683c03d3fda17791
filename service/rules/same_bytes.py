"""What the bytes of a program say of a change: the same bytes count the same. Pure.

A commit can only matter by what it changes of the files that the program maps or reads. Where none of them differs,
the commit is not to blame, whatever was counted. And where files lay in the page cache as they were found, so many
faults as were taken in them are no fact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from runner.contract import Report
from runner.contract.level import Number, median


class Material(NamedTuple):
    """What a run's program was made of.

    Attributes
    ----------
    own
        Digest of what it mapped and read of its revision's build; empty where that is not known.
    system
        Digest of what it mapped from elsewhere; empty where that is not known.
    least, most
        Between how many of its faults were in files that lay in the page cache as they were found.
    """

    own: str = ""
    system: str = ""
    least: int = 0
    most: int = 0

    @property
    def whole(self) -> str:
        """One name for all its bytes; empty where some are not known."""
        return f"{self.own} {self.system}" if self.own and self.system else ""


UNKNOWN = Material()


def material(report: Report) -> Material:
    """Return what the program of a run was made of."""
    files = report.files
    if files is None:
        return UNKNOWN
    return Material(files.own_bytes, files.system_bytes, files.doubt.least, files.doubt.most)


def system_files(report: Report) -> dict[str, str]:
    """Return the files that a program mapped from outside of its build, as knobs: the digest of each by its name."""
    mapped = report.files.mapped if report.files else ()
    return {f"file.{file.path}"[:200]: file.digest or "not known" for file in mapped if not file.own}


def of_one_revision(one: Material, other: Material) -> bool:
    """Tell whether two runs had the same bytes of their revisions, so that no commit can have made a difference."""
    return bool(one.own) and one.own == other.own


def all_the_same(one: Material, other: Material) -> bool:
    """Tell whether two runs had the same bytes altogether."""
    return bool(one.whole) and one.whole == other.whole


def is_no_fact(change: Number, before: Material, after: Material) -> bool:
    """Tell whether the state of files in the page cache alone can have made a change of a count.

    Faults in such files went from between ``before.least`` and ``before.most`` to between ``after.least`` and
    ``after.most``. What goes further the same way is a fact.
    """
    lowest, highest = min(0, after.least - before.most), max(0, after.most - before.least)
    return change != 0 and lowest <= change <= highest


class Seen(Protocol):
    """A run in a search: what it counted, and the name of its bytes."""

    @property
    def commit(self) -> str:
        """Of which commit."""

    @property
    def value(self) -> Number | None:
        """What it counted."""

    @property
    def material(self) -> str:
        """The name of all its bytes; empty where that is not known."""


S = TypeVar("S", bound=Seen)


def levels_of_bytes(runs: Iterable[Seen]) -> dict[str, Number]:
    """Return the level that all runs of the same bytes have together, by the name of the bytes."""
    values: dict[str, list[Number]] = defaultdict(list)
    for run in runs:
        if run.material and run.value is not None:
            values[run.material].append(run.value)
    return {name: level for name, found in values.items() if (level := median(found)) is not None}


def changed_nothing(runs: Sequence[Seen], parents: Iterable[tuple[str, Sequence[str]]]) -> frozenset[str]:
    """Return the commits whose bytes are those of their only parent."""
    bytes_of: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        bytes_of[run.commit].add(run.material)
    return frozenset(
        commit
        for commit, ancestors in parents
        if len(ancestors) == 1
        and len(bytes_of[commit]) == 1
        and bytes_of[commit] == bytes_of[ancestors[0]]
        and "" not in bytes_of[commit]
    )
