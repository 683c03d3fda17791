"""The search for the knobs that carry a difference."""

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.contract.knob_search import FoundKnobs, MeasureKnobs
from service.rules.bisect.knob_search import KnobQuestion, Mixture, search
from service.rules.bisect.question import Refused

KNOBS = tuple(f"knob{number}" for number in range(10))


def lead(question: KnobQuestion, measure):
    seen: list[Mixture] = []
    while isinstance(answer := search(question, seen), MeasureKnobs):
        assert len(seen) < 2000
        changed = frozenset(answer.changed)
        seen.append(Mixture(changed=changed, value=measure(changed)))
    return answer, seen


def test_one_guilty_knob_of_ten_takes_at_most_twenty_measurements():
    for guilty in KNOBS:
        answer, seen = lead(KnobQuestion(knobs=KNOBS), lambda changed, guilty=guilty: 100 + 5 * (guilty in changed))
        assert answer.knobs == (guilty,)
        assert len(seen) <= 20


def test_every_interacting_pair_of_ten_takes_at_most_forty():
    for pair in combinations(KNOBS, 2):
        answer, seen = lead(KnobQuestion(knobs=KNOBS), lambda changed, pair=pair: 100 + 5 * (set(pair) <= changed))
        assert answer.knobs == pair
        assert len(seen) <= 40
        assert answer.without == dict.fromkeys(pair, 100)


def test_knobs_that_each_do_a_part_are_all_found():
    sizes = {"knob2": 5, "knob7": -3, "knob8": 11}
    answer, _ = lead(KnobQuestion(knobs=KNOBS), lambda changed: 100 + sum(sizes.get(knob, 0) for knob in changed))
    assert answer.knobs == tuple(sizes)
    assert answer.without["knob7"] == 116


@settings(max_examples=40)
@given(data=st.data(), many=st.integers(1, 5))
def test_whatever_the_interactions_no_knob_can_be_left_out(data, many):
    """Each mixture has a level of its own choosing: nothing is monotone."""
    knobs = KNOBS[:many]
    mixtures = [frozenset(chosen) for size in range(many + 1) for chosen in combinations(knobs, size)]
    truth = {mixture: data.draw(st.sampled_from((1, 2, None))) for mixture in mixtures}
    truth[frozenset()], truth[frozenset(knobs)] = 1, 2
    answer, seen = lead(KnobQuestion(knobs=knobs), truth.__getitem__)
    assert isinstance(answer, FoundKnobs) or None in truth.values()
    if isinstance(answer, FoundKnobs):
        kept = frozenset(answer.knobs)
        assert truth[kept] in (2, None)
        assert all(truth[kept - {knob}] != 2 for knob in kept)
    assert len(seen) == len({mixture.changed for mixture in seen})


@pytest.mark.parametrize("guilty", [{"knob3"}, {"knob0", "knob9"}])
def test_noisy_knobs_are_found(guilty):
    noise = random.Random(1)
    answer, seen = lead(
        KnobQuestion(knobs=KNOBS, exact=False), lambda changed: 100 + noise.gauss(0, 1) + 3 * (guilty <= changed)
    )
    assert set(answer.knobs) == guilty
    assert len(seen) <= 60


def test_environments_that_do_not_differ_are_refused():
    answer, _ = lead(KnobQuestion(knobs=KNOBS), lambda changed: 100)
    assert isinstance(answer, Refused)
    assert "before 100, after 100" in answer.sentence
    noise = random.Random(2)
    answer, _ = lead(KnobQuestion(knobs=KNOBS[:3], exact=False), lambda changed: noise.gauss(0, 1))
    assert isinstance(answer, Refused)


def test_an_environment_that_cannot_be_measured_is_refused():
    answer, _ = lead(KnobQuestion(knobs=KNOBS), lambda changed: None if len(changed) == 10 else 1)
    assert isinstance(answer, Refused)
    assert "after could not be measured" in answer.sentence


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), guilty=st.sets(st.sampled_from(KNOBS), min_size=1, max_size=3))
def test_a_mixture_that_cannot_be_measured_makes_no_innocent_knob_guilty(seed, guilty):
    random_ = random.Random(seed)
    broken: dict[frozenset[str], bool] = {frozenset(): False, frozenset(KNOBS): False}
    answer, _ = lead(
        KnobQuestion(knobs=KNOBS),
        lambda changed: None if broken.setdefault(changed, random_.random() < 0.3) else 100 + 5 * len(guilty & changed),
    )
    if isinstance(answer, FoundKnobs):
        assert set(answer.knobs) <= guilty
    else:
        assert answer.sentence.startswith("Cannot tell")


def test_a_noisy_search_whose_model_is_wrong_ends():
    random_ = random.Random(1)
    answer, seen = lead(
        KnobQuestion(knobs=KNOBS, exact=False), lambda changed: random_.gauss(0, 1) + len(changed) * 0.7
    )
    assert isinstance(answer, Refused)
    assert len(seen) <= 200
