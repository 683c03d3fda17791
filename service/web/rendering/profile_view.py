"""The view of a profile that pages show, optionally compared with the profile before a change."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from runner.contract import Case
from runner.contract.diagnosis import Diagnosis, DiagnosisRequest, Remedy
from runner.contract.own_frame import find_own_frame
from runner.contract.profile import Anatomy, Frame, Profile, StackKind
from runner.contract.profile_difference import (
    FunctionLine,
    StackChange,
    WeightChange,
    compare_lines,
    compare_stacks,
)
from service.rules.diagnose.diagnosis import diagnose_profile
from service.rules.profile_without_stacks import summarise_profile
from service.schemas.profile_summaries import ProfileWithoutStacks
from service.text.commands_to_copy import CURRENT_FOLDER, list_parameter_options

_MAX_PLACES = 12
_MAX_STACKS = 15
_MAX_FRAMES = 7
"""Number of frames of a stack that a table shows, counted from the innermost."""
_TITLES = {"by_memory": "Kind of memory", "by_touch": "Page state before the fault", "by_access": "Kind of access"}
UNITS = {
    StackKind.FAULTS: "faults",
    StackKind.ON_CPU: "ns",
    StackKind.OFF_CPU: "ns",
    StackKind.RETURNED: "faults",
    StackKind.REQUESTED: "faults",
}


@dataclass(frozen=True, slots=True)
class Tally:
    """One table of an anatomy: the number of faults of each kind, before and after, and the sums."""

    title: str
    rows: Sequence[tuple[str, WeightChange]]
    total: WeightChange


@dataclass(frozen=True, slots=True)
class StackRow:
    """A stack in a table."""

    frames: Sequence[str]
    """Names of the functions, the innermost first. Of deep stacks, the outermost functions are left out."""
    n_left_out: int
    place: Frame | None
    """The innermost frame of the subject's own code; None if the stack has none."""
    change: WeightChange
    link: str
    """The fragment of the address that selects this stack in the flame graph."""


@dataclass(frozen=True)
class ProfileView:
    """A profile as a page shows it, optionally compared with an earlier profile."""

    after: ProfileWithoutStacks
    before: ProfileWithoutStacks | None
    diagnosis: Diagnosis
    places: Sequence[tuple[FunctionLine, WeightChange]] = ()
    """The subject's functions and lines with the change of their faults, the largest first; empty without an earlier
    profile."""
    stacks: Sequence[StackRow] = ()

    @property
    def kinds(self) -> list[StackKind]:
        """The kinds of stacks that can be drawn."""
        return [stacks.kind for stacks in self.after.kinds if stacks.stacks]

    @property
    def empty_kinds(self) -> list[StackKind]:
        """The kinds of stacks that were recorded but are empty."""
        return [stacks.kind for stacks in self.after.kinds if not stacks.stacks]

    @cached_property
    def tallies(self) -> list[Tally]:
        """Tables of the faults by each of their properties, before and after, each table with its sum."""
        if self.after.anatomy is None:
            return []
        anatomy_before = self.before.anatomy if self.before else None
        return [
            _build_tally(
                title, _count_faults_by_kind(anatomy_before, name), _count_faults_by_kind(self.after.anatomy, name)
            )
            for name, title in _TITLES.items()
        ]

    @cached_property
    def calls(self) -> list[tuple[str, WeightChange, WeightChange]]:
        """Each system call with the number of its calls, and the bytes that it mapped or freed."""
        calls_before = self.before.census.calls if self.before and self.before.census else {}
        calls_after = self.after.census.calls if self.after.census else {}
        rows = []
        for name in sorted({*calls_before, *calls_after}):
            before, after = calls_before.get(name), calls_after.get(name)
            n_calls = WeightChange(before.calls if before else 0, after.calls if after else 0)
            n_bytes = WeightChange((before.bytes or 0) if before else 0, (after.bytes or 0) if after else 0)
            rows.append((name, n_calls, n_bytes))
        return rows

    def build_try_command(self, remedy: Remedy) -> str:
        """Return the command that tries a remedy."""
        return build_try_command(self.after.revision.commit, self.after.case, remedy)


def build_single_view(summary: ProfileWithoutStacks) -> ProfileView:
    """Return the view of a single profile."""
    return ProfileView(after=summary, before=None, diagnosis=summary.diagnosis)


def build_compared_view(before: Profile, after: Profile) -> ProfileView:
    """Return the view of two profiles."""
    return ProfileView(
        after=summarise_profile(after),
        before=summarise_profile(before),
        diagnosis=diagnose_profile(DiagnosisRequest.from_profiles(before, after)),
        places=compare_lines(before, after)[:_MAX_PLACES],
        stacks=[
            _build_row(stack) for stack in sorted(compare_stacks(before, after), key=_get_change_sort_key)[:_MAX_STACKS]
        ],
    )


def build_try_command(commit: str, case: Case, remedy: Remedy) -> str:
    """Return the command that measures a case with and without a remedy."""
    words = ["faultwatch", "try", case.workload, "--repo", CURRENT_FOLDER, "--revision", commit[:12]]
    words += list_parameter_options(case.parameters)
    for name, text in sorted(remedy.settings.items()):
        words += ["--with", f"{name}={text}"]
    return shlex.join(words)


def build_stack_link(kind: StackKind, frames: Sequence[Frame]) -> str:
    """Return the fragment that selects a stack: an FNV-1a hash of its functions, as flame/tree.js computes it."""
    key = _OFFSET
    for frame in frames:
        module_name = frame.module.rpartition("/")[2]
        key = ((key ^ _hash_text(f"{frame.function}\0{module_name}")) * _PRIME) & _MASK
    return f"{kind}/{key:08x}"


_OFFSET, _PRIME, _MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
"""The constants of the 32-bit FNV-1a hash."""


def _hash_text(text: str) -> int:
    """Return the FNV-1a hash of a text."""
    digest = _OFFSET
    for byte in text.encode():
        digest = ((digest ^ byte) * _PRIME) & _MASK
    return digest


def _get_change_sort_key(stack: StackChange) -> tuple[int, int]:
    """Return a sort key: the largest change first, whether it grew or shrank."""
    return -abs(stack.change.growth), -stack.change.growth


def _build_row(stack: StackChange) -> StackRow:
    """Return the row of a stack: its change, and the link to it in the flame graph."""
    functions = [frame.function for frame in reversed(stack.frames)]
    return StackRow(
        frames=functions[:_MAX_FRAMES],
        n_left_out=max(0, len(functions) - _MAX_FRAMES),
        place=find_own_frame(stack.frames),
        change=stack.change,
        link=build_stack_link(StackKind.FAULTS, stack.frames),
    )


def _count_faults_by_kind(anatomy: Anatomy | None, table: str) -> dict[str, int]:
    """Return the numbers of one table of an anatomy, such as ``by_memory``, by kind; empty without an anatomy."""
    if anatomy is None:
        return {}
    return {str(kind): n_faults for kind, n_faults in getattr(anatomy, table).items()}


def _build_tally(title: str, before: Mapping[str, int], after: Mapping[str, int]) -> Tally:
    """Return a table of the numbers of faults before and after, by kind, with their sums."""
    rows = [(name, WeightChange(before.get(name, 0), after.get(name, 0))) for name in {**after, **before}]
    rows.sort(key=lambda row: -max(row[1]))  # by the larger of the numbers before and after, the largest first
    return Tally(title, rows, WeightChange(sum(before.values()), sum(after.values())))
