"""The files that a program mapped: what was in them, and how they lay in the page cache."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from runner.contract.base import Strict

Digest = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{16})?$")]
"""First 16 hex digits of a SHA-256; empty where it is not known."""
Faults = Annotated[int, Field(ge=0, le=2**63)]


class CacheState(StrEnum):
    """How the pages of a file lay in memory while it was measured."""

    MADE = "made"
    """In the one defined way: all of them, each by itself, none marked for reading ahead."""
    COPY = "copy"
    """So were those of a copy that only the measured program maps: the file itself cannot be put out of memory."""
    LEFT = "left"
    """As they were found. So the number of faults in them says something of the host's past."""


class MappedFile(Strict):
    """A file that the program mapped: itself, its loader, its libraries, its data."""

    path: Annotated[str, StringConstraints(max_length=4096)]
    """From the build's directory, where it lies there."""
    own: bool
    """Whether it lies in the build's directory: then the revision decides what is in it."""
    digest: Digest = ""
    cache: CacheState
    reason: Annotated[str, StringConstraints(max_length=1000)] = ""
    """Why it was left as it was."""
    faults: Faults | None = None
    """Faults on addresses at which it was mapped, in the execution that was followed."""


class Doubt(Strict):
    """How many faults can have been in files that were left as they were: so much of a count is no fact."""

    least: Faults = 0
    most: Faults = 0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.least > self.most:
            raise ValueError("least is more than most")
        return self


class Files(Strict):
    """What a run's program was made of, and how that lay in memory."""

    mapped: tuple[MappedFile, ...] = Field(default=(), max_length=20_000)
    own_bytes: Digest = ""
    """Of all that the program opened in the build's directory, mapped or read; empty where that is not known."""
    system_bytes: Digest = ""
    """Of all files that it mapped from elsewhere; empty where one of them cannot be read."""
    doubt: Doubt = Doubt()
