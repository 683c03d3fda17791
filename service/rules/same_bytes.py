"""Compares the answers to the file lookups of programs.

Two programs with the same answers have no reason to count differently. This may save a measurement or point at a
suspect, but never changes a measured result. Faults in unprepared files depend on the page cache; the extent was
measured while its state was renewed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from runner.contract import Report
from runner.contract.level import Number


class ProgramBytes(NamedTuple):
    """The bytes of a run's program.

    Attributes
    ----------
    own
        Digest of what it asked about its revision's build, and was answered; empty if it is unknown.
    system
        Digest of the files that it mapped from elsewhere; empty if it is unknown.
    least_uncertain, most_uncertain
        The range of the number of its faults in unprepared files, while the state of these was renewed.
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


def read_program_bytes(report: Report) -> ProgramBytes:
    """Return the bytes of a run's program."""
    files = report.files
    if files is None:
        return UNKNOWN
    uncertain = files.uncertain_faults
    return ProgramBytes(files.own_bytes, files.system_bytes, uncertain.least, uncertain.most)


def list_system_file_settings(report: Report) -> dict[str, str]:
    """Return the files that a program mapped from outside of its build, as settings: the digest of each by its name."""
    mapped = report.files.mapped if report.files else ()
    return {f"file.{file.path}"[:200]: file.digest or "not known" for file in mapped if not file.own}


def list_upgraded_files(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the files that both sides have, with other content; see :func:`list_system_file_settings`."""
    return frozenset(name for name in before.keys() & after.keys() if before[name] != after[name])


def have_same_own_bytes(first: ProgramBytes, second: ProgramBytes) -> bool:
    """Return whether two runs were answered the same about their revisions' builds."""
    return bool(first.own) and first.own == second.own


def have_same_bytes(first: ProgramBytes, second: ProgramBytes) -> bool:
    """Return whether two runs were answered the same, about their revisions' builds and from elsewhere."""
    return bool(first.key) and first.key == second.key


def is_uncertain(change: Number, before: ProgramBytes, after: ProgramBytes) -> bool:
    """Return whether a change is no larger than what the page cache was measured to move in unprepared files.

    A change is certain where the bounds of these faults differ between the two sides by at least half of it.
    """
    uncertain_faults = max(side.most_uncertain - side.least_uncertain for side in (before, after))
    least, most = after.least_uncertain - before.least_uncertain, after.most_uncertain - before.most_uncertain
    return 0 < abs(change) <= uncertain_faults and 2 * max(abs(least), abs(most)) < abs(change)
