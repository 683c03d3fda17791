"""Explains in a few lines why a case changed: its diagnosis, and the stacks that take more faults than before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.function_names import shorten_name
from runner.contract.number_text import format_difference, format_signed_number
from runner.contract.own_frame import find_own_line
from runner.contract.profile import Frame, Profile
from runner.contract.profile_difference import compare_stacks
from service.rules.diagnose.diagnosis import diagnose_profile
from service.rules.diagnose.profile_facts import Facts
from service.rules.fault_price import FaultCosts, Side, price_change
from service.text.markdown import format_code

_MAX_STACKS = 3
"""At most this many stacks of a case are shown."""
_MAX_FRAMES = 4
"""How many of the innermost functions of a stack are shown."""
_MAX_NAME_LENGTH, _MAX_STACK_LENGTH = 40, 300
"""Maximum number of characters of a function's name, and of a whole stack."""


@dataclass(frozen=True, slots=True)
class CaseDiagnosis:
    """The explanation that the profiles of a case give."""

    case: str
    finding: str
    """The title of the most important finding; empty if no rule applies."""
    price: str
    """The price of the change of the faults in CPU time; empty if it was not measured."""
    growing_stacks: tuple[tuple[int, str], ...]
    """Each increase in faults with its stack, largest first."""
    place: str = ""
    """The subject's own line in the first of these stacks; without a known line, the functions of the stack."""
    other_growth: int = 0
    """By how much all other stacks grew together; negative if they shrank."""


def make_case_diagnosis(case: str, before: Profile | None, after: Profile) -> CaseDiagnosis:
    """Explain a case with the profile of head, compared with that of base if there is one."""
    findings = diagnose_profile(DiagnosisRequest.from_profiles(before, after)).findings
    stacks = compare_stacks(before, after) if before else []
    growing = [stack for stack in stacks[:_MAX_STACKS] if stack.change.growth > 0]
    return CaseDiagnosis(
        case,
        findings[0].title if findings else "",
        _describe_price(before, after),
        tuple((stack.change.growth, _format_stack(stack.frames)) for stack in growing),
        place=(find_own_line(growing[0].frames) or _format_stack(growing[0].frames)) if growing else "",
        other_growth=sum(stack.change.growth for stack in stacks) - sum(stack.change.growth for stack in growing),
    )


def _format_stack(frames: Sequence[Frame]) -> str:
    """Return the innermost functions of a stack, and the program's own line in it if there is one."""
    names = " › ".join(shorten_name(frame.function, _MAX_NAME_LENGTH) for frame in frames[-_MAX_FRAMES:])
    own_line = find_own_line(frames)
    return f"{names}, in {own_line}" if own_line else names


def _describe_price(before: Profile | None, after: Profile) -> str:
    """Return the price of the change of a case's faults in CPU time; empty if it is unknown."""
    if before is None:
        return ""
    metric = "region:page-faults" if after.scope == "region" else "page-faults"
    sides = []
    for profile in (before, after):
        values = {name: profile.find_value(name) for name in profile.readings}
        levels = {name: value for name, value in values.items() if value is not None}
        sides.append(Side(levels.get(metric, 0), levels, profile.environment.settings))
    costs = FaultCosts(
        before=Facts.from_profile(before).seconds_per_fault, after=Facts.from_profile(after).seconds_per_fault
    )
    side_before, side_after = sides
    price = price_change(metric, side_before, side_after, costs)
    return price.sentence if price else ""


def describe_place_of_growth(diagnosis: CaseDiagnosis) -> str:
    """Return a sentence as Markdown that says where most additional faults come from; empty if it is unknown."""
    if not diagnosis.place:
        return ""
    growth, *further_growth = (growth for growth, _stack in diagnosis.growing_stacks)
    elsewhere = sum(further_growth) + diagnosis.other_growth
    # The place can have more additional faults than the whole case, if other places have fewer than before.
    decrease = f", and {-elsewhere:,} fewer elsewhere" if elsewhere < 0 else ""
    price = f"; the change costs {diagnosis.price}" if diagnosis.price else ""
    place = format_code(diagnosis.place, _MAX_STACK_LENGTH)
    return f"Where: {format_difference(growth, 'faults')} in {place}{decrease}{price}."


def format_case_diagnoses(diagnoses: Iterable[CaseDiagnosis]) -> str:
    """Return the diagnoses as Markdown, with all faults that a profile has more or fewer than before."""
    parts = []
    for diagnosis in diagnoses:
        case = format_code(diagnosis.case)
        if diagnosis.finding:
            parts.append(f"What the profile of {case} shows: {format_code(diagnosis.finding, _MAX_STACK_LENGTH)}.\n\n")
        if diagnosis.price:
            parts.append(f"What the change in faults of {case} costs: {diagnosis.price}.\n\n")
        if diagnosis.growing_stacks:
            parts.append(f"Where the additional faults of {case} come from:\n\n| faults | stack |\n| ---: | :--- |\n")
            parts += [
                f"| +{faults:,} | {format_code(stack, _MAX_STACK_LENGTH)} |\n"
                for faults, stack in diagnosis.growing_stacks
            ]
            if diagnosis.other_growth:
                parts.append(f"| {format_signed_number(diagnosis.other_growth)} | all other stacks |\n")
            parts.append("\n")
    return "".join(parts)
