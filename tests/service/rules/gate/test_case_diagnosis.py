from __future__ import annotations

from runner.contract.profile import Frame, Profile, StackKind, Touch
from service.rules.gate.case_diagnosis import (
    CaseDiagnosis,
    describe_place_of_growth,
    format_case_diagnoses,
    make_case_diagnosis,
)
from tests.service import profiles

FRAMES = (
    *profiles.FRAMES,
    Frame(function="grow", module="/srv/copy", file="/srv/copy.c", line=42),
    Frame(function="tidy", module="/srv/copy", file="/srv/copy.c", line=50),
)
GROW, TIDY = len(FRAMES) - 2, len(FRAMES) - 1


def profile(grown: int, tidied: int) -> Profile:
    """Return a profile with the faults of two lines."""
    faults = grown + tidied
    stacks = profiles.stacks(
        StackKind.FAULTS, {(profiles.MAIN, GROW): grown, (profiles.MAIN, TIDY): tidied}, samples=faults
    )
    return profiles.profile(profiles.anatomy({Touch.FIRST: faults}), frames=FRAMES, faults=stacks)


def explain() -> CaseDiagnosis:
    return make_case_diagnosis("copy", profile(1, 1_500), profile(1_025, 477))


def test_the_line_in_the_code_is_named_with_what_other_lines_save() -> None:
    assert (
        describe_place_of_growth(explain())
        .replace("\N{NO-BREAK SPACE}", " ")
        .startswith("Where: +1,024 faults in <code>grow at copy&#46;c&#58;42</code>, and 1,023 fewer elsewhere")
    )


def test_the_rows_of_the_stacks_add_up() -> None:
    assert "| −1,023 | all other stacks |" in format_case_diagnoses([explain()])


def test_without_a_profile_of_base_no_place_is_claimed() -> None:
    assert describe_place_of_growth(make_case_diagnosis("copy", None, profile(1_025, 477))) == ""
