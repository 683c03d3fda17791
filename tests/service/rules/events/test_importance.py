from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.importance import EventTerms, compute_importance, compute_terms
from service.schemas.certainty import Certainty
from service.schemas.history import Drift
from tests.service import made_series

SUREST_LAST = (
    (Certainty.PROVISIONAL,),
    (Certainty.COMMIT_RANGE,),
    (Certainty.SINGLE_COMMIT, Certainty.CONFIRMED),
    (Certainty.PROVEN,),
)
terms = st.builds(
    EventTerms,
    size=st.floats(0, 1e9),
    price=st.floats(0, 1e6),
    n_series=st.integers(0, 10_000),
    certainty=st.sampled_from(Certainty),
    has_regressions=st.booleans(),
)


def sureness(terms: EventTerms) -> int:
    return next(place for place, level in enumerate(SUREST_LAST) if terms.certainty in level)


@given(terms, terms)
def test_an_event_that_is_as_large_as_dear_as_wide_and_as_sure_never_ranks_below(a: EventTerms, b: EventTerms) -> None:
    above = EventTerms(
        size=max(a.size, b.size),
        price=max(a.price, b.price),
        n_series=max(a.n_series, b.n_series),
        certainty=max(a, b, key=sureness).certainty,
        has_regressions=a.has_regressions or b.has_regressions,
    )
    assert compute_importance(above) >= max(compute_importance(a), compute_importance(b))


@pytest.mark.parametrize(
    "more", [{"size": 200.0}, {"price": 0.2}, {"n_series": 12}, {"certainty": Certainty.PROVEN}], ids=str
)
def test_each_term_alone_raises_an_event(more: dict[str, object]) -> None:
    terms = EventTerms(size=20, price=0.01, n_series=3, certainty=Certainty.COMMIT_RANGE)
    assert compute_importance(replace(terms, **more)) > compute_importance(terms)


def drift(before: int, after: int, **changes: object) -> Drift:
    made = made_series.drift(1, made_series.point(0, before), made_series.point(1, after))
    return made.model_copy(update=changes)


def test_a_suspected_regression_stands_before_a_certain_improvement_of_nearly_its_size() -> None:
    worse, better = drift(61_005, 66_005), drift(65_005, 61_005)
    suspected = worse.model_copy(update={"evidence": worse.evidence.model_copy(update={"wants_rerun": True})})
    assert not better.evidence.wants_rerun
    mixed = compute_terms([drift(20_000, 15_000), worse], proven=False)
    assert mixed.has_regressions
    importances = [compute_importance(compute_terms([made], proven=False)) for made in (suspected, better)]
    assert importances[0] > importances[1] > 0


def test_thousands_of_faults_stand_before_a_few_that_are_many_percent() -> None:
    large, few, one = drift(20_000, 95_000), drift(1, 10), drift(7_229, 7_230)
    ranked = sorted((one, few, large), key=lambda made: -compute_importance(compute_terms([made], proven=False)))
    assert ranked == [large, few, one]


def test_a_change_from_zero_is_of_the_largest_size_and_still_cheap() -> None:
    from_zero = compute_terms([drift(0, 12)], proven=False)
    assert compute_importance(from_zero) < compute_importance(compute_terms([drift(20_000, 95_000)], proven=False))
