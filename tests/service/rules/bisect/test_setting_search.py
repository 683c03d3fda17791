"""The search for the settings that carry a difference."""

import random
from itertools import combinations
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.contract.setting_search import FoundSettings, MeasureSettings
from service.rules.bisect.question import Refused
from service.rules.bisect.setting_search import MAX_RUNS, Mixture, SettingQuestion, search_settings

SETTINGS = tuple(f"setting{number}" for number in range(10))


def lead(question: SettingQuestion, measure):
    seen: list[Mixture] = []
    while isinstance(answer := search_settings(question, seen), MeasureSettings):
        assert len(seen) < 2000
        changed = frozenset(answer.changed)
        seen.append(Mixture(changed=changed, value=measure(changed)))
    return answer, seen


def test_one_guilty_setting_of_ten_takes_at_most_twenty_measurements():
    for guilty in SETTINGS:
        answer, seen = lead(
            SettingQuestion(settings=SETTINGS), lambda changed, guilty=guilty: 100 + 5 * (guilty in changed)
        )
        assert answer.settings == (guilty,)
        assert len(seen) <= 20


def test_the_smallest_difference_of_a_refused_search_is_written_in_full():
    question = SettingQuestion(settings=SETTINGS, min_difference=2_500_000, unit="faults")
    answer, _ = lead(question, lambda changed: 4_000_000 + 1000 * len(changed))
    assert answer.sentence.startswith("The metric differs by less than 2,500,000 between the two environments")


def test_every_interacting_pair_of_ten_takes_at_most_forty():
    for pair in combinations(SETTINGS, 2):
        answer, seen = lead(
            SettingQuestion(settings=SETTINGS), lambda changed, pair=pair: 100 + 5 * (set(pair) <= changed)
        )
        assert answer.settings == pair
        assert len(seen) <= 40
        assert answer.values_without == dict.fromkeys(pair, 100)


def test_settings_that_each_do_a_part_are_all_found():
    sizes = {"setting2": 5, "setting7": -3, "setting8": 11}
    answer, _ = lead(
        SettingQuestion(settings=SETTINGS), lambda changed: 100 + sum(sizes.get(setting, 0) for setting in changed)
    )
    assert answer.settings == tuple(sizes)
    assert answer.values_without["setting7"] == 116


@settings(max_examples=40)
@given(data=st.data(), many=st.integers(1, 5))
def test_whatever_the_interactions_no_setting_can_be_left_out(data, many):
    """Each mixture has a level of its own choosing: nothing is monotone."""
    settings = SETTINGS[:many]
    mixtures = [frozenset(chosen) for size in range(many + 1) for chosen in combinations(settings, size)]
    truth = {mixture: data.draw(st.sampled_from((1, 2, None))) for mixture in mixtures}
    truth[frozenset()], truth[frozenset(settings)] = 1, 2
    answer, seen = lead(SettingQuestion(settings=settings), truth.__getitem__)
    assert isinstance(answer, FoundSettings) or None in truth.values()
    if isinstance(answer, FoundSettings):
        kept = frozenset(answer.settings)
        assert truth[kept] in (2, None)
        assert all(truth[kept - {setting}] != 2 for setting in kept)
    assert len(seen) == len({mixture.changed for mixture in seen})


@pytest.mark.parametrize("guilty", [{"setting3"}, {"setting0", "setting9"}])
def test_noisy_settings_are_found(guilty):
    noise = random.Random(1)
    answer, seen = lead(
        SettingQuestion(settings=SETTINGS, exact=False),
        lambda changed: 100 + noise.gauss(0, 1) + 3 * (guilty <= changed),
    )
    assert set(answer.settings) == guilty
    assert len(seen) <= 60


def test_environments_that_do_not_differ_are_refused():
    answer, _ = lead(SettingQuestion(settings=SETTINGS), lambda changed: 100)
    assert isinstance(answer, Refused)
    assert "before 100, after 100" in answer.sentence
    noise = random.Random(2)
    answer, _ = lead(SettingQuestion(settings=SETTINGS[:3], exact=False), lambda changed: noise.gauss(0, 1))
    assert isinstance(answer, Refused)


def test_an_environment_that_cannot_be_measured_is_refused():
    answer, _ = lead(SettingQuestion(settings=SETTINGS), lambda changed: None if len(changed) == 10 else 1)
    assert isinstance(answer, Refused)
    assert "after the change could not be measured" in answer.sentence


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), guilty=st.sets(st.sampled_from(SETTINGS), min_size=1, max_size=3))
def test_a_mixture_that_cannot_be_measured_makes_no_innocent_setting_guilty(seed, guilty):
    random_ = random.Random(seed)
    broken: dict[frozenset[str], bool] = {frozenset(): False, frozenset(SETTINGS): False}
    answer, _ = lead(
        SettingQuestion(settings=SETTINGS),
        lambda changed: None if broken.setdefault(changed, random_.random() < 0.3) else 100 + 5 * len(guilty & changed),
    )
    if isinstance(answer, FoundSettings):
        assert set(answer.settings) <= guilty
    else:
        assert answer.sentence.startswith(("No answer is certain", "It is unknown whether"))


def test_a_noisy_search_whose_model_is_wrong_ends():
    random_ = random.Random(1)
    answer, seen = lead(
        SettingQuestion(settings=SETTINGS, exact=False), lambda changed: random_.gauss(0, 1) + len(changed) * 0.7
    )
    assert isinstance(answer, Refused)
    assert len(seen) <= 200


def test_a_noisy_search_never_passes_its_limit_however_patient_it_is():
    random_ = random.Random(3)
    answer, seen = lead(
        SettingQuestion(settings=SETTINGS, exact=False, patience=500), lambda changed: random_.gauss(0, 1)
    )
    assert isinstance(answer, Refused)
    assert len(seen) <= MAX_RUNS


def test_a_noisy_search_goes_on_after_a_failure_of_an_environment_that_was_measured() -> None:
    question = SettingQuestion(settings=SETTINGS[:2], exact=False)
    ends = [(frozenset(), 100.0), (frozenset(), 101.0), (frozenset(SETTINGS[:2]), 150.0), (frozenset(), None)]
    mixtures = [Mixture(changed=changed, value=value) for changed, value in ends]
    assert isinstance(search_settings(question, mixtures), MeasureSettings)
    never_measured = [Mixture(changed=frozenset(), value=None), *mixtures[2:3]]
    assert isinstance(search_settings(question, never_measured), Refused)


def test_a_noisy_metric_that_is_equal_in_all_runs_is_refused_after_its_patience():
    question = SettingQuestion(settings=SETTINGS, exact=False, patience=5, unit="faults")
    answer, seen = lead(question, lambda changed: 100)
    assert isinstance(answer, Refused)
    assert answer.sentence.replace("\N{NO-BREAK SPACE}", " ") == (
        "The metric does not differ between the two environments: it was 100 faults in all runs."
    )
    assert len(seen) == 10


def test_a_noisy_search_among_as_many_settings_as_are_allowed_answers_within_seconds():
    names = tuple(f"setting{number}" for number in range(64))
    ends = ((frozenset(), 1.0), (frozenset(), 1.1), (frozenset(names), 5.0), (frozenset(names), 5.1))
    seen = [Mixture(changed=changed, value=value) for changed, value in ends]
    started = process_time()
    answer = search_settings(SettingQuestion(settings=names, exact=False), seen)
    assert isinstance(answer, MeasureSettings)
    assert process_time() - started < 12  # it took half a minute, and a gigabyte
