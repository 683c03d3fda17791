"""Compares the bytes of two programs: of the program itself, and of the files that it looked up.

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
    min_uncertain_faults, max_uncertain_faults
        The range of the number of its faults in unprepared files, while the state of these was renewed.
    """

    own: str = ""
    system: str = ""
    min_uncertain_faults: int = 0
    max_uncertain_faults: int = 0

    @property
    def key(self) -> str:
        """A key that is equal for the same bytes; empty if some of them are unknown."""
        return f"{self.own} {self.system}" if self.own and self.system else ""


UNKNOWN = ProgramBytes()
_MAX_NAME_CHARACTERS = 200
"""The length to which the names of settings that stand for files are cut: paths can be longer."""


def read_program_bytes(report: Report) -> ProgramBytes:
    """Return the bytes of a run's program."""
    files = report.files
    if files is None:
        return UNKNOWN
    uncertain_faults = files.uncertain_faults
    return ProgramBytes(files.own_bytes, files.system_bytes, uncertain_faults.lowest, uncertain_faults.highest)


def list_system_file_settings(report: Report) -> dict[str, str]:
    """Return the files that a program mapped from outside of its build, as settings: the digest of each by its name."""
    mapped = report.files.mapped if report.files else ()
    return {
        f"file.{file.path}"[:_MAX_NAME_CHARACTERS]: file.digest or "not known" for file in mapped if not file.in_build
    }


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
    """Return whether a change is small enough to come from the page cache alone, through faults on unprepared files.

    A change is certain if it exceeds the range of these faults, or if one of the range's bounds differs between the two
    sides by at least half of the change: the bounds were counted with the page cache renewed on both sides, so their
    difference comes from the program, and then leaves at most half of the change to the page cache.
    """
    widest_range = max(side.max_uncertain_faults - side.min_uncertain_faults for side in (before, after))
    min_change = after.min_uncertain_faults - before.min_uncertain_faults
    max_change = after.max_uncertain_faults - before.max_uncertain_faults
    return 0 < abs(change) <= widest_range and 2 * max(abs(min_change), abs(max_change)) < abs(change)
