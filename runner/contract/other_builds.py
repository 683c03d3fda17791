"""The counts of further builds: two builds of one revision can differ, and so can their counts."""

from typing import Annotated

from pydantic import Field, StringConstraints

from runner.contract.base import Line, Strict
from runner.contract.level import Number
from runner.contract.mapped_files import Digest

MAX_FAULTS_BETWEEN_BUILDS = 16
"""The largest difference of a count that is checked with further builds: the pages that one fault on a file maps.

Names of folders, times and the order in which processes finish can influence the order of functions and data in a
program. This only moves them between pages.
"""
FURTHER_BUILDS = 2
"""How many further builds of each revision decide such a small difference. If each build of either revision randomly
has one of two counts, three builds of each differ by chance in at most one of 32 cases."""


class OtherPlace(Strict):
    """Base, built again in the place of head and measured there in the same environment.

    If two programs get the same answers about their files but count differently, these samples show whether the place
    (the path, or the state of the files there) is the reason.
    """

    counted: dict[Annotated[str, StringConstraints(max_length=200)], tuple[Number, ...]] = Field(max_length=1000)
    """The samples of each count."""
    differences: tuple[Line, ...] = Field(default=(), max_length=20)
    """Other differences between the trees of base and head, as readable text."""


class OtherBuild(Strict):
    """The counts of another build of the same revision, measured in the same environment."""

    own_bytes: Digest = ""
    """Digest of the files of this build that the program mapped and read; see ``ProgramFiles``."""
    counted: dict[Annotated[str, StringConstraints(max_length=200)], Number] = Field(max_length=1000)
    """The level of each count: the value on which more than half of the samples agree, otherwise their median."""
