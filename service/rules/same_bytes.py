"""Compares the bytes of two programs: of the programs themselves, and of the files that they looked up.

Two programs that got the same answers about their files have no reason to count differently. This can save a
measurement or point at a suspect, but it never changes a measured result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from runner.contract import Report


class ProgramBytes(NamedTuple):
    """The bytes of a run's program.

    Attributes
    ----------
    own
        Digest of the program's lookups in its revision's build and of their answers; empty if it is unknown.
    system
        Digest of the files that the program mapped from outside of the build; empty if it is unknown.
    min_uncertain_faults, max_uncertain_faults
        The range of the number of its faults in unprepared files, while their page cache was renewed.
    """

    own: str = ""
    system: str = ""
    min_uncertain_faults: int = 0
    max_uncertain_faults: int = 0

    @property
    def key(self) -> str:
        """A key that two programs share if they have the same bytes; empty if some bytes are unknown."""
        return f"{self.own} {self.system}" if self.own and self.system else ""


UNKNOWN = ProgramBytes()
_MAX_NAME_CHARACTERS = 200
"""Maximum length of the name of a setting that stands for a file, because paths can be longer."""


def read_program_bytes(report: Report) -> ProgramBytes:
    """Return the bytes of a run's program."""
    files = report.files
    if files is None:
        return UNKNOWN
    uncertain_faults = files.uncertain_faults
    return ProgramBytes(files.own_bytes, files.system_bytes, uncertain_faults.lowest, uncertain_faults.highest)


def list_system_file_settings(report: Report) -> dict[str, str]:
    """Return the files that a program mapped from outside of its build as settings: their digests by name."""
    mapped = report.files.mapped if report.files else ()
    return {
        f"file.{file.path}"[:_MAX_NAME_CHARACTERS]: file.digest or "not known" for file in mapped if not file.in_build
    }


def list_upgraded_files(before: Mapping[str, str], after: Mapping[str, str]) -> frozenset[str]:
    """Return the names of files that both sides have with different content: see :func:`list_system_file_settings`."""
    return frozenset(name for name in before.keys() & after.keys() if before[name] != after[name])


def have_same_own_bytes(first: ProgramBytes, second: ProgramBytes) -> bool:
    """Return whether the programs of two runs got the same answers about the files of their revisions' builds."""
    return bool(first.own) and first.own == second.own


def have_same_bytes(first: ProgramBytes, second: ProgramBytes) -> bool:
    """Return whether the programs of two runs got the same answers about all files, inside and outside the builds."""
    return bool(first.key) and first.key == second.key
