"""The files that a program mapped: their content, and their state in the page cache."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AliasChoices, Field, StringConstraints, model_validator

from runner.contract.base import Line, Strict

Digest = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{16})?$")]
"""First 16 hex digits of a SHA-256; empty if it is unknown."""
Faults = Annotated[int, Field(ge=0, le=2**63)]


class CacheState(StrEnum):
    """The state of a file's pages in the page cache while the program was measured."""

    PREPARED = "prepared"
    """Every page was resident as a separate folio, and no page was marked for readahead."""
    COPY = "copy"
    """A private copy of the file was prepared and mapped instead, because the file itself cannot be evicted."""
    UNPREPARED = "unprepared"
    """The pages stayed as they were found, so the number of faults in the file depends on the host's past."""


class MappedFile(Strict):
    """A file that the program mapped: the program itself, its loader, a library, or data."""

    path: Annotated[str, StringConstraints(max_length=4096)]
    """The path of the file, relative to the build's directory if the file is inside."""
    in_build: bool = Field(validation_alias=AliasChoices("in_build", "own"))
    """Whether the file is in the build's directory, so that its content depends on the revision."""
    digest: Digest = ""
    cache: CacheState
    reason: Line = ""
    """Why the page-cache state of the file is not prepared."""
    faults: Faults | None = None
    """Faults on addresses at which the file was mapped, in the watched execution."""


class UncertainFaults(Strict):
    """The faults in unprepared files, counted while the state of these files was renewed.

    A difference that is no larger than the distance between the two bounds does not show a change.
    """

    lowest: Faults = Field(default=0, validation_alias=AliasChoices("lowest", "least"))
    """The smallest number that was counted."""
    highest: Faults = Field(default=0, validation_alias=AliasChoices("highest", "most"))
    """The largest number that was counted."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.lowest > self.highest:
            raise ValueError("`lowest` must not be greater than `highest`")
        return self


class ProgramFiles(Strict):
    """The files that a run's program mapped, and its queries about files of the build."""

    mapped: tuple[MappedFile, ...] = Field(default=(), max_length=20_000)
    own_bytes: Digest = ""
    """Digest of the program's queries about files in the build's directory and of the answers; empty if some answers
    are unknown."""
    system_bytes: Digest = ""
    """Digest of all other files that the program mapped; empty if a file cannot be read."""
    uncertain_faults: UncertainFaults = Field(default_factory=UncertainFaults)
