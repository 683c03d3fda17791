from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from service.rules.series.point_order import PathPoint
from service.rules.series.withdrawn_drifts import explain_withdrawals
from service.schemas.history import Candidate, Cause, Direction, Drift, Evidence
from tests.service import made_series

START = datetime(2025, 1, 1, tzinfo=UTC)


def points(*levels: int, start: int = 1) -> list[PathPoint]:
    """One run of each revision from ``start`` on; its id is its position."""
    return [point(position, level) for position, level in enumerate(levels, start=start)]


def point(position: int, level: int, run: int | None = None) -> PathPoint:
    return PathPoint(
        run_id=uuid.UUID(int=run or position),
        revision=f"r{position}",
        position=position,
        environment="A",
        measured_at=START + timedelta(minutes=run or position),
        value=level,
        samples=(level,),
    )


def drift(position: int, before: int = 7, after: int = 9, **changes: Any) -> Drift:
    """A drift at a revision, between it and the one before."""
    ends = {"run_before": uuid.UUID(int=position - 1), "run_after": uuid.UUID(int=position)}
    made = made_series.drift(1, made_series.point(1, 7), made_series.point(2, 9))
    fields: dict[str, Any] = {
        "id": f"d{position}",
        "cause": Cause.COMMIT,
        "direction": Direction.REGRESSION if after > before else Direction.IMPROVEMENT,
        "revision": f"r{position}",
        "candidates": [Candidate(commit=f"r{position}", title="", author="")],
        "before": before,
        "after": after,
        "change": after - before,
        "evidence": Evidence(n_before=5, n_after=3, spread=0, sentence="x", wants_rerun=False),
        "environment_before": "A",
        "environment_after": "A",
        **ends,
    }
    return made.model_copy(update=fields | changes)


def doubtful(position: int, **changes: Any) -> Drift:
    evidence = Evidence(n_before=5, n_after=3, spread=0, sentence="7 → 9: one more run decides", wants_rerun=True)
    return drift(position, evidence=evidence, **changes)


def why(current: list[Drift], judged_points: list[PathPoint]) -> str:
    (reason,) = explain_withdrawals([drift(6)], current, judged_points).values()
    return reason


def test_each_reason_is_named() -> None:
    step = points(7, 7, 7, 7, 7, 9, 9, 9)
    assert why([doubtful(6)], step) == "The drift is in doubt again: 7 → 9: one more run decides."
    because = "it was deleted or put in quarantine"
    assert why([], step[:5]) == f"The run after the change is no longer judged: {because}."
    assert why([], step[:2]).startswith("The runs before and after the change are no longer judged: they were deleted")
    assert why([drift(8, id="new")], step).endswith("the change lies at commit r8 instead.")
    later = points(7, 7, 7, 7, 7, 9, 9, 9, 7, 7, 7)
    assert why([], later) == "Later runs contradict the drift: 3 runs after it, at 7. The level before the drift was 7."
    between = [*step, point(5, 8, run=90), point(5, 9, run=91)]
    assert why([], between) == "Later runs contradict the drift: 2 runs between its two sides, at 8 … 9."
    assert why([], points(7, 9, 8, 9, 7, 9, 7, 9)) == (
        "With the 8 runs that are judged now, the change is no longer certain: the runs before it have 7 … 9, those "
        "after it 7 … 9."
    )
    assert explain_withdrawals([drift(6)], [], step, is_judged=False) == {
        "d6": "The workload no longer judges this metric."
    }


def test_a_rewritten_branch_is_the_reason_and_the_living_commit_is_named() -> None:
    step = points(7, 7, 7, 7, 7, 9, 9, 9)
    former = [point for point in step if point.run_id == drift(6).run_after]
    living = [point for point in step if point not in former]
    (reason,) = explain_withdrawals([drift(6)], [], living, former).values()
    assert reason == "The branch was rewritten, and the commits are no longer part of any branch or tag."
    (reason,) = explain_withdrawals([drift(6)], [drift(9, id="new")], living, former).values()
    assert reason.endswith("The same change is now found at commit r9.")


def test_a_drift_that_is_known_more_exactly_stands() -> None:
    rough = [Candidate(commit=f"r{position}", title="", author="") for position in (5, 6, 7)]
    assert explain_withdrawals([drift(6, candidates=rough)], [drift(7, id="new")], points(7, 7, 7, 7, 7, 7, 9, 9)) == {}
    assert explain_withdrawals([drift(6)], [drift(6, after=10)], points(7, 7, 7, 7, 7, 10, 10)) == {}


some_drifts = st.lists(
    st.builds(
        lambda position, up, unsure: (doubtful if unsure else drift)(
            position, before=7 if up else 9, after=9 if up else 7, id=f"d{position}{up}"
        ),
        st.integers(2, 10),
        st.booleans(),
        st.booleans(),
    ),
    max_size=4,
    unique_by=lambda made: made.id,
)


@given(some_drifts, some_drifts, st.lists(st.integers(5, 12), max_size=12), st.booleans())
def test_what_was_sure_either_stands_or_has_a_reason_and_suspicions_end_silently(
    former: list[Drift], current: list[Drift], levels: list[int], judged: bool
) -> None:
    reasons = explain_withdrawals(former, current, points(*levels), is_judged=judged)
    sure = {made.id for made in former if not made.evidence.wants_rerun}
    standing = {made.id for made in current if not made.evidence.wants_rerun}
    assert sure - standing >= reasons.keys()
    assert all(reason.endswith(".") and "\n" not in reason for reason in reasons.values())
    for made in former:
        stands = any(
            made.direction is o.direction and made.revision == o.revision and o.id in standing for o in current
        )
        assert (made.id in reasons) == (made.id in sure and not stands)
    assert explain_withdrawals(current, current, points(*levels), is_judged=True) == {}


def test_a_drift_is_explained_although_another_environment_of_its_pool_stands_for_its_runs_now() -> None:
    step = [replace(entry, environment="B") for entry in points(7, 7, 7, 7, 7, 9, 9, 9, 7, 7, 7)]
    assert why([], step) == "Later runs contradict the drift: 3 runs after it, at 7. The level before the drift was 7."


def test_a_change_that_stays_at_its_commit_is_not_said_to_lie_at_another_one() -> None:
    """Another environment can have been measured at this commit since then."""
    judged = [*points(7, 7, 7, 7), point(4, 7, 41), point(4, 9, 42), *points(9, 9, start=5)]
    config = {"cause": Cause.CONFIG, "candidates": [], "revision": "r4"}
    former = drift(4, run_before=uuid.UUID(int=4), run_after=uuid.UUID(int=5), environment_after="B", **config)
    current = drift(4, id="other", run_before=uuid.UUID(int=41), run_after=uuid.UUID(int=42), **config)
    (reason,) = explain_withdrawals([former], [current], judged).values()
    assert reason == "With the runs measured since then, the change still lies at commit r4, but between other runs."
