from __future__ import annotations

import pytest

from service.rules.events.headline import build_headline, split_headline, summarise_drifts
from service.rules.events.leading_drift import choose_leading_drift, decide_direction
from service.schemas.history import Cause, SettingChange
from service.schemas.triage import EventDirection
from tests.service import made_series


@pytest.mark.parametrize(
    ("name", "unit", "after", "expected"),
    [
        ("minor-faults", "faults", 4196, "+4,096 minor faults (+4,096 %) in copy"),
        ("minor-faults", "faults", 99, "−1 minor fault (−1 %) in copy"),
        ("throughput", "operations/s", 88.5, "Throughput −11.5 operations/s (−11.5 %) in copy"),
    ],
)
def test_a_headline_gives_the_change_with_its_unit(name: str, unit: str, after: float, expected: str) -> None:
    drift = made_series.drift(
        1, made_series.point(0, 100), made_series.point(1, after), metric=name, unit=unit, case="copy"
    )
    assert build_headline([drift]) == expected


def moved(case: str, before: float, after: float) -> made_series.Drift:
    return made_series.drift(1, made_series.point(0, before), made_series.point(1, after), case=case, id=case)


def test_a_headline_does_not_hide_what_moved_further_or_back() -> None:
    drifts = [moved("small", 10, 40), moved("large", 100_000, 172_725), moved("back", 60_000, 30_190)]
    assert build_headline(drifts) == (
        "+30 minor faults (+300 %) in small and 1 more drift, up to +72,725 minor faults (+72.7 %) in large; "
        "better: −29,810 minor faults (−49.7 %) in back"
    )


def test_a_headline_does_not_name_a_case_twice_that_moved_further_on_another_host() -> None:
    here = moved("copy", 100, 200)
    there = here.model_copy(update={"id": "there", "host": "second", "before": 150, "after": 290, "change": 140})
    there = there.model_copy(update={"percent": 93.3})
    assert build_headline([here, there]) == (
        "+100 minor faults (+100 %) in copy and 1 more drift, up to +140 minor faults (+93.3 %) on another host"
    )


def test_an_event_that_mostly_improved_is_no_regression_and_leads_with_its_largest_change() -> None:
    drifts = [moved("worse", 1000, 1001), moved("much better", 60_000, 30_000), moved("better", 1000, 900)]
    assert decide_direction(drifts) is EventDirection.MIXED
    assert build_headline(drifts) == (
        "−30,000 minor faults (−50 %) in much better and 1 more drift; worse: +1 minor fault (+0.1 %) in worse"
    )


def test_a_suspected_drift_beside_a_fact_does_not_make_an_event_mixed() -> None:
    worse, better = moved("worse", 100, 110), moved("better", 100, 50)
    assert decide_direction([worse, in_doubt(better)]) is EventDirection.REGRESSION
    assert decide_direction([in_doubt(worse), better]) is EventDirection.IMPROVEMENT
    assert decide_direction([in_doubt(worse), in_doubt(better)]) is EventDirection.MIXED
    assert decide_direction([better]) is EventDirection.IMPROVEMENT


def test_a_mixed_event_is_within_the_budget_only_if_what_got_worse_is() -> None:
    worse, better = moved("worse", 100, 110), moved("better", 100, 50)
    allowed = worse.model_copy(update={"within_budget": True})
    assert summarise_drifts([allowed, better])["within_budget"]
    assert not summarise_drifts([worse, better])["within_budget"]
    assert not summarise_drifts([better])["within_budget"]


@pytest.mark.parametrize(
    ("headline", "case", "parts"),
    [
        ("+1 fault in a[n=1]", "a[n=1]", ("+1 fault in a[n=1]", "")),
        ("+1 fault in a and 2 more drifts; 1 better", "a", ("+1 fault in a", " and 2 more drifts; 1 better")),
        ("+1 fault in a; better: −1 fault in b", "a", ("+1 fault in a", "; better: −1 fault in b")),
        ("+1 fault in ab and 2 more drifts", "a", ("+1 fault in ab and 2 more drifts", "")),
        ("+1 fault in a", "", ("+1 fault in a", "")),
    ],
)
def test_a_headline_is_split_into_the_leading_drift_and_the_others(
    headline: str, case: str, parts: tuple[str, str]
) -> None:
    assert split_headline(headline, case) == parts


def test_a_headline_of_one_change_in_many_cases_counts_the_others() -> None:
    drifts = [moved(name, 100, 200) for name in ("one", "two", "three")]
    assert build_headline(drifts) == "+100 minor faults (+100 %) in one and 2 more drifts"


def in_doubt(drift: made_series.Drift) -> made_series.Drift:
    evidence = drift.evidence.model_copy(update={"wants_rerun": True})
    return made_series.Drift.model_validate({**drift.model_dump(), "evidence": evidence.model_dump()})


def test_what_is_a_fact_leads_and_what_is_not_says_so() -> None:
    sure, doubtful = moved("sure", 100, 110), in_doubt(moved("doubtful", 100, 900))
    assert choose_leading_drift([doubtful, sure]) is sure
    assert build_headline([doubtful, sure]) == (
        "+10 minor faults (+10 %) in sure and 1 more drift, up to +800 minor faults (+800 %) in doubtful (suspected)"
    )


def test_a_drift_in_doubt_names_no_author_and_says_so_before_its_cause() -> None:
    sure = moved("copy", 100, 110)
    assert (sure.cause_words, sure.author) == (sure.title, "Ada Writer")
    doubtful = in_doubt(sure)
    assert doubtful.cause_words == f"suspected: the only candidate is {sure.title}"
    assert (doubtful.title, doubtful.author) == ("", "")
    before, after = made_series.point(0, 100), made_series.point(1, 110)
    setting = made_series.drift(1, before, after, Cause.CONFIG)
    words = "MALLOC_CONF not set → dirty_decay_ms:0,muzzy_… and 1 more"
    assert setting.cause_words == words
    assert in_doubt(setting).cause_words == f"suspected: {words}"
    unknown = made_series.drift(1, before, after, Cause.UNKNOWN)
    assert unknown.cause_words == "No recorded factor explains it"
    assert in_doubt(unknown).cause_words == "suspected: no recorded factor explains it"


def test_a_kernel_is_named_before_what_follows_from_it() -> None:
    before, after = made_series.point(0, 100), made_series.point(1, 110)
    upgraded = made_series.drift(1, before, after, Cause.CONFIG)
    names = ("cpu.features", "cpu.microcode", "kernel.release", "thp.shrink_underused")
    settings = [{"name": name, "before": "old", "after": "new"} for name in names]
    upgraded = made_series.Drift.model_validate({**upgraded.model_dump(), "settings": settings})
    assert upgraded.cause_words == "kernel old → new and 3 more"


def test_a_cause_names_the_values_of_its_settings_as_the_map_does_unless_they_are_hidden() -> None:
    """Which of several upgrades it was, a list did not say."""
    moved_by = made_series.drift(1, made_series.point(0, 100), made_series.point(1, 110), Cause.CONFIG)
    kernel = SettingChange(name="kernel.release", before="5.4.0-163-generic", after="5.15.0-88-generic")
    either = moved_by.model_copy(update={"cause": Cause.COMMIT_AND_CONFIG, "settings": [kernel]})
    assert either.cause_words == f"{either.blamed}, or kernel 5.4.0-163 → 5.15.0-88"
    assert moved_by.model_copy(update={"settings": [kernel]}).cause_words == "kernel 5.4.0-163 → 5.15.0-88"
    assert moved_by.model_copy(update={"settings": []}).cause_words == "the configuration changed"
    hidden = kernel.model_copy(update={"before": "(hidden)", "after": "(hidden)"})
    assert moved_by.model_copy(update={"settings": [hidden]}).cause_words == "kernel changed"


def test_one_commit_stands_for_a_drift_only_if_no_other_could_have_caused_it() -> None:
    only = made_series.drift(1, made_series.point(1, 100), made_series.point(2, 110))
    several = made_series.drift(1, made_series.point(1, 100), made_series.point(4, 110))
    assert not only.has_commit_range
    assert several.has_commit_range
    assert only.model_copy(update={"candidates_known": False}).has_commit_range
    assert not several.model_copy(update={"cause": Cause.CONFIG}).has_commit_range
