from __future__ import annotations

import pytest
from msgspec.structs import replace

from findings.repeated_drifts import Verdict, compare
from findings.stored import Counts, Culprit, Documents, Drift, History, Machine

HERE = Machine(compiler="gcc 12.2", libc="glibc 2.36", kernel="6.1")
LARGE = Drift(
    case="lua[work=tables]",
    metric="minor-faults",
    commit="c" * 40,
    parent="b" * 40,
    subject="Grow by half",
    before=2000,
    after=2200,
    percent=10.0,
)
SMALL = replace(LARGE, commit="d" * 40, before=2200, after=2201, percent=0.05)


def history(*drifts: Drift, machine: Machine = HERE) -> History:
    counts = Counts(revisions=9, measured=9, same_bytes=0, failed=0, not_judged=0, runs=9, seconds=9)
    return History(
        address="https://example.org/lua",
        range="a..z",
        machine=machine,
        counts=counts,
        documents=Documents(1, 0),
        drifts=drifts,
    )


def verdicts(stored: History, found: History) -> list[Verdict]:
    return [line.verdict for line in compare(stored, found)]


def test_the_same_drifts_agree() -> None:
    assert verdicts(history(LARGE, SMALL), history(SMALL, LARGE)) == [Verdict.AGREES, Verdict.AGREES]


def test_the_kernel_may_be_another_one_and_the_levels_too() -> None:
    moved = replace(LARGE, before=2007, after=2207)
    assert verdicts(history(LARGE), history(moved, machine=replace(HERE, kernel="6.12"))) == [Verdict.AGREES]


def test_with_the_same_tools_one_fault_more_is_another_size() -> None:
    (line,) = compare(history(LARGE), history(replace(LARGE, after=2201)))
    assert line.verdict is Verdict.OTHER_SIZE
    assert not line.verdict.holds


def test_a_drift_of_another_commit_is_missing_and_not_stored() -> None:
    other = replace(LARGE, commit="e" * 40)
    assert verdicts(history(LARGE), history(other)) == [Verdict.MISSING, Verdict.UNKNOWN]


def test_a_drift_of_several_candidates_agrees_if_the_commit_is_one_of_them() -> None:
    wide = replace(LARGE, commit="e" * 40, candidates=(LARGE.commit, "e" * 40))
    assert verdicts(history(LARGE), history(wide)) == [Verdict.AGREES]


def test_a_drift_of_several_commits_agrees_if_all_of_them_are_candidates() -> None:
    made = [Culprit(one * 40, "b" * 40, "Grow", 2000, 2100, "Proven.", proven=True) for one in "cd"]
    stored = history(replace(LARGE, commit="e" * 40, culprits=tuple(made)))
    assert verdicts(stored, history(replace(LARGE, commit="e" * 40, candidates=("c" * 40, "d" * 40, "e" * 40)))) == [
        Verdict.AGREES
    ]
    assert verdicts(stored, history(LARGE)) == [Verdict.MISSING, Verdict.UNKNOWN]


def test_a_drift_of_another_case_is_another_drift() -> None:
    other = replace(LARGE, case="lua[work=strings]")
    assert verdicts(history(LARGE), history(other)) == [Verdict.MISSING, Verdict.UNKNOWN]


def test_with_the_same_tools_a_small_drift_has_to_be_found() -> None:
    assert verdicts(history(LARGE, SMALL), history(LARGE)) == [Verdict.AGREES, Verdict.MISSING]
    assert verdicts(history(LARGE), history(LARGE, SMALL)) == [Verdict.AGREES, Verdict.UNKNOWN]


def test_the_size_of_a_noisy_count_is_not_exact() -> None:
    noisy = replace(LARGE, rule="step")
    assert verdicts(history(noisy), history(replace(noisy, after=2190))) == [Verdict.AGREES]
    assert verdicts(history(noisy), history(replace(noisy, after=2090))) == [Verdict.OTHER_SIZE]
    assert verdicts(history(replace(SMALL, rule="step")), history()) == [Verdict.LEFT_OUT]
    assert verdicts(history(), history(replace(SMALL, rule="step"))) == [Verdict.LEFT_OUT]


OTHER = replace(HERE, compiler="gcc 14.2")


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        (2100, Verdict.AGREES),
        (2400, Verdict.AGREES),
        (2099, Verdict.OTHER_SIZE),
        (2401, Verdict.OTHER_SIZE),
        (1800, Verdict.OTHER_SIZE),
    ],
)
def test_with_other_tools_sign_and_order_of_size_count(after: int, verdict: Verdict) -> None:
    assert verdicts(history(LARGE), history(replace(LARGE, after=after), machine=OTHER)) == [verdict]


@pytest.mark.parametrize(
    ("there", "here", "verdict"),
    [
        (128, 128, Verdict.OTHER_SIZE),
        (128, 192, Verdict.AGREES),
        (None, 192, Verdict.OTHER_SIZE),
    ],
)
def test_at_a_longer_path_a_size_is_not_exact(there: int | None, here: int, verdict: Verdict) -> None:
    """If none is stored, it was the usual one, as far as anybody knows."""
    stored = history(LARGE, machine=replace(HERE, path_length=there))
    found = history(replace(LARGE, after=2201), machine=replace(HERE, path_length=here))
    assert verdicts(stored, found) == [verdict]


def test_with_other_tools_only_large_drifts_count() -> None:
    assert verdicts(history(LARGE, SMALL), history(machine=OTHER)) == [Verdict.MISSING, Verdict.LEFT_OUT]
    grown = replace(SMALL, after=2300, percent=4.5)
    assert verdicts(history(SMALL), history(grown, machine=OTHER)) == [Verdict.LEFT_OUT]


@pytest.mark.parametrize(("percent", "verdict"), [(1.9, Verdict.LEFT_OUT), (-2.0, Verdict.UNKNOWN)])
def test_with_other_tools_a_further_drift_has_to_be_clear(percent: float, verdict: Verdict) -> None:
    further = replace(LARGE, percent=percent)
    assert verdicts(history(), history(further, machine=OTHER)) == [verdict]


def test_a_drift_from_zero_is_large() -> None:
    from_zero = replace(LARGE, before=0, after=5, percent=None)
    assert verdicts(history(from_zero), history(machine=OTHER)) == [Verdict.MISSING]
    assert verdicts(history(), history(from_zero, machine=OTHER)) == [Verdict.UNKNOWN]
