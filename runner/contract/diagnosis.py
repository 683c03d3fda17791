"""Diagnoses: named pathologies that a profile shows, with evidence and remedies, and the causes of a difference."""

from enum import StrEnum
from typing import Self

from pydantic import AliasChoices, Field, model_validator

from runner.contract.base import Count, Label, Line, Name, Strict
from runner.contract.code_change import ChangedCode, CodeChange, LineNumber
from runner.contract.profile import Profile

MAX_POLICY_CHANGES = 5
"""The largest number of changed lines that are named because they may decide when memory is given back."""
_MIN_LEADING_SHARE, _MIN_LEADING_FAULTS = 0.5, 3
"""A changed line with at least this share of the difference, and this many faults, comes before everything else that
the change did. Which line is the first to touch a single page also depends on what lies on it."""


class DiagnosisRequest(CodeChange):
    """A profile, and optionally the profile of the state before a change, with what the change alters."""

    profile: Profile
    before: Profile | None = None

    @classmethod
    def from_profiles(cls, before: Profile | None, after: Profile) -> Self:
        """Return the request for two profiles, with the change that the later one has recorded from the earlier one."""
        profile = after.model_copy(update={"change": None})
        if before is None or after.change is None or after.change.base != before.revision.commit:
            return cls(profile=profile, before=before)
        change = {name: getattr(after.change, name) for name in CodeChange.model_fields}
        return cls(profile=profile, before=before, **change)


class Remedy(Strict):
    """A remedy for a pathology."""

    text: Line
    settings: dict[Name, Line] = Field(default_factory=dict)
    """Settings to try with ``faultwatch try``; empty if the program itself must change."""


class Finding(Strict):
    """A pathology supported by evidence."""

    rule: Name
    title: Line
    evidence: tuple[Line, ...]
    """Measured facts, most important first."""
    remedies: tuple[Remedy, ...]
    report: Line
    """The report in which the pathology was described."""
    price: float = Field(ge=0, allow_inf_nan=False, validation_alias=AliasChoices("price", "weight"))
    """The largest share of the run time that the remedies can save. Findings are sorted by price. Stored summaries
    of profiles call the price ``weight``."""


class FaultCause(StrEnum):
    """Why a page faulted, as one part of the difference of two profiles."""

    NEW_MEMORY = "new memory"
    STATIC_DATA = "static data"
    STACK = "stack"
    AFTER_MADVISE = "returned by madvise"
    AFTER_MUNMAP = "unmapped"
    AFTER_BRK = "returned by brk"
    COPIED = "copied after fork"
    FILE_PAGES = "file pages"
    IMAGE = "program and libraries"
    AFTER_READ = "read before it was written"
    AGAIN = "touched again"
    UNKNOWN_TOUCH = "memory"
    """Not every fault was recorded, so it is unknown whether this was the first touch."""
    OTHER = "other"


class DifferencePart(Strict):
    """The part of a difference that has one cause."""

    cause: FaultCause
    file: Label = ""
    """The mapped file, if the cause concerns one."""
    before: Count
    after: Count
    place: Line = ""
    """The line of the program whose faults of this cause changed most, with its function; empty if unknown."""
    source_file: Label = ""
    """The source file of that line; empty if unknown."""
    source_line: int = Field(default=0, ge=0, le=2**31)
    """The number of that line; 0 if unknown."""
    place_faults: int = 0
    """The change of that line's faults with this cause."""
    second_place: Line = ""
    """The line of another function whose faults of this cause changed next most in the same direction; empty if it has
    too small a part."""
    second_faults: int = 0
    """The change of that line's faults with this cause."""
    caller: Line = ""
    """The line that called it, if it is in a function that allocates memory for others; empty if unknown."""
    sentence: Line
    """What the program does more or less than before, as a sentence without its subject."""
    is_moved: bool = False
    """Whether code or data of the program only has other addresses, so that it begins on other pages."""
    seconds: float | None = Field(default=None, allow_inf_nan=False)
    """CPU time that the part takes or saves, at the average cost of a fault; None if that was not measured."""

    @property
    def faults(self) -> int:
        """The change of the number of faults with this cause."""
        return self.after - self.before


class ChangedPlace(Strict):
    """A line that the change added or rewrote, or before which it removed lines, and its part in the difference."""

    place: Line
    """The line with its function."""
    source_file: Label
    """The source file."""
    source_line: int = Field(ge=1, le=2**31)
    """The number of the line."""
    faults: int
    """How many more faults it has than the code that it replaces; negative if it has fewer."""
    is_removed: bool = False
    """Whether the change removed or rewrote the line, whose number is that before the change."""
    is_caller: bool = False
    """Whether these are the faults of what the line calls."""
    is_allocator: bool = False
    """Whether its function allocates memory for others, judging by its name; these may have caused the faults."""
    gives_back: bool = False
    """Whether the line calls what gives back the memory that then faults. The line itself does not fault more."""
    requests: bool = False
    """Whether the line calls what requests the memory that other lines touch. The line itself does not fault more."""

    @property
    def manages_memory(self) -> bool:
        """Whether the line does not fault more itself, but calls what gives back or requests the memory that faults."""
        return self.gives_back or self.requests

    def has_most_of(self, growth: int) -> bool:
        """Return whether the line, or the code that it calls, has most of a difference of so many faults."""
        is_large = self.faults * growth >= _MIN_LEADING_SHARE * growth * growth
        return is_large and abs(self.faults) >= min(_MIN_LEADING_FAULTS, abs(growth))

    def explains(self, growth: int) -> bool:
        """Return whether the line itself has most of a difference of so many faults."""
        return self.has_most_of(growth) and not (self.manages_memory or self.is_caller)


class AlteredDefinition(Strict):
    """A definition that the change alters, and the line by which it acts on the difference."""

    name: Line
    place: Line
    """The changed line: its file and number."""
    source_file: Label = ""
    """The file of the changed line, relative to the top of the repository."""
    source_line: LineNumber = 0
    """The number of the changed line; 0 if it is unknown."""
    values: Line = ""
    """The values of a macro or a constant before and after, with an arrow between them; empty if unknown."""
    use: Line
    """The line that uses the definition and, with its function, faults more or less; empty if no such line is known."""
    is_own_line: bool = False
    """Whether ``use`` is a line of the definition itself, which is then a function."""
    is_function: bool = False
    """Whether the definition is that of a function."""
    is_only: bool = False
    """Whether the change alters nothing else."""


class Difference(Strict):
    """The difference of two profiles in faults, whose parts add up to it."""

    before: Count
    after: Count
    parts: tuple[DifferencePart, ...] = Field(max_length=100)
    """The largest first, without the faults that only moved from one cause to another."""
    changed_place: ChangedPlace | None = None
    """The line with the largest growth of faults, among the changed lines, which include those before which lines were
    removed; if the difference is negative, with the largest decline, or a removed line that had more faults. If none of
    them faults more itself, the one that calls what faults more, or else what gives back the memory that faults, or
    else the line with the largest change in the other direction. None if no change reaches a tenth of the
    difference, or if those lines are unknown."""
    opposite_place: ChangedPlace | None = None
    """The changed line whose own faults changed most in the other direction than those of ``changed_place``, if they
    changed by at least a fifth of the difference: one commit can hide a regression behind an improvement."""
    altered_definition: AlteredDefinition | None = None
    """A macro, a constant, a type or a function that the change alters, and that is used by lines whose faults changed.
    None if a changed line explains as much of the difference itself, or if no such definition is known."""
    changed_code: ChangedCode | None = None
    """The text of the line of ``changed_place``, ``altered_definition`` or the only definition that ``other_change``
    names; None if it is unknown."""
    policy_changes: tuple[ChangedCode, ...] = Field(default=(), max_length=MAX_POLICY_CHANGES)
    """Changed lines that may decide when memory is collected, kept or given back, if nothing else is known to explain
    the difference better."""
    other_change: Line = ""
    """A sentence on what the change alters, or on the changed line nearest to the leading cause, if no changed line
    explains the difference; empty otherwise, or if there is nothing to add."""
    resized_types: Line = ""
    """Sentences on the types whose objects take more memory than before, or less if the difference is negative; empty
    if none can explain the difference, if the leading cause concerns no objects, or without debugging information."""
    is_indirect: bool = False
    """Whether no changed line faults more or calls what does, although the lines are known.
    The change then acts through what it removed, for example, or through the size of data."""
    conclusion: Line = ""
    """A sentence that says that the difference needs no other cause, because it can be chance or the program is only
    laid out differently; empty otherwise."""
    remarks: tuple[Line, ...] = ()
    """Further facts about the difference, as sentences: which lines exchanged their faults, and what the program does
    more or less than before besides touching pages."""

    @property
    def faults(self) -> int:
        """The change of the number of faults, which the parts add up to."""
        return self.after - self.before

    @model_validator(mode="after")
    def _check_sum(self) -> Self:
        if sum(part.faults for part in self.parts) != self.faults:
            raise ValueError("the parts do not add up to the difference")
        return self


class Diagnosis(Strict):
    """All findings, most important first; without findings, only the evidence."""

    findings: tuple[Finding, ...]
    evidence: tuple[Line, ...]
    """All facts that were examined."""
    difference: Difference | None = None
    """What changed since the profile before, if there is one."""
