"""Noisy searches where their model does not hold: hosts that drift, heavy tails, several culprits, no culprit at all.

- 200 searches on hosts that drift: a culprit that is named with a probability of 0.997 has to be the right one
- 120 searches with heavy tails
- 240 searches for two equal culprits, of 3 and of 2 sigma
- 100 searches each for a step that is as large as the distance of two modes, and for one half as large
- 400 searches in which no step explains the levels: they have to end
- 200 searches for settings in which three in ten mixtures cannot be measured, and noisy ones whose model is wrong
"""

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from runner.contract.setting_search import FoundSettings, MeasureSettings
from service.rules.bisect import noisy_search, setting_search
from service.rules.bisect.graph import Node
from service.rules.bisect.question import Answer, Found, Measure, Observation, Question
from service.rules.bisect.setting_search import Mixture, SettingQuestion

DRIFTING, TAILS, EQUAL, MODES, MODEL_WRONG, SETTINGS = 200, 120, 120, 100, 400, 200
COMMITS = 60
NAMES = tuple(f"setting{number}" for number in range(10))


@dataclass(frozen=True, slots=True)
class Led:
    """A search that was led to its end, or stopped because it did not end."""

    answer: Answer
    runs: int

    @property
    def named(self) -> list[int]:
        """The places of the culprits."""
        return [int(culprit.commit) for culprit in self.answer.culprits] if isinstance(self.answer, Found) else []


def run_search(commits: int, measure: Callable[[int, int], float]) -> Led:
    """Lead a search to its end; ``measure(place, time)`` measures a commit."""
    nodes = tuple(Node(commit=str(place), parents=(str(place - 1),)) for place in range(1, commits + 1))
    question = Question(good="0", bad=str(commits), commits=nodes, exact=False)
    seen: list[Observation] = []
    while (
        isinstance(answer := noisy_search.search_noisy_metric(question, seen), Measure)
        and len(seen) <= noisy_search.MAX_RUNS
    ):
        seen += [Observation(commit=commit, value=measure(int(commit), len(seen))) for commit in answer.commits]
    return Led(answer, len(seen))


def run(seed: int) -> tuple[dict[str, object], list[str]]:
    """Return the figures and the misses."""
    figures: dict[str, object] = {}
    misses: list[str] = []
    _check_drifting_host(random.Random(seed), figures, misses)
    _check_heavy_tails(random.Random(seed + 1), figures, misses)
    _check_equal_steps(random.Random(seed + 2), figures, misses)
    _check_wrong_models(random.Random(seed + 3), figures, misses)
    _check_settings(random.Random(seed + 4), figures, misses)
    _check_modes(random.Random(seed + 5), figures, misses)
    return figures, misses


def _make_drift(random_: random.Random) -> Callable[[int], float]:
    """Return a drift of a host, in units of the noise, by the number of the run."""
    kind = random_.choice(["line", "walk", "wave", "jump"])
    if kind == "line":
        slope = random_.choice([-1, 1]) * random_.choice([0.01, 0.03, 0.06])
        return lambda time: slope * time
    if kind == "wave":
        size, period, phase = random_.choice([0.5, 1, 2]), random_.choice([60, 150, 400]), random_.uniform(0, 7)
        return lambda time: size * math.sin(2 * math.pi * time / period + phase)
    if kind == "jump":
        when, size = random_.randrange(5, 80), random_.choice([-2, -1, 1, 2])
        return lambda time: size * (time >= when)
    walk = [0.0]
    while len(walk) < 2 * noisy_search.MAX_RUNS:
        walk.append(walk[-1] + random_.gauss(0, 0.15))
    return walk.__getitem__


def _check_drifting_host(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    wrong = right = 0
    counts = []
    for _ in range(DRIFTING):
        culprit, drift, step = random_.randint(1, COMMITS), _make_drift(random_), random_.choice([1.5, 2, 3, 5])
        led = run_search(
            COMMITS,
            lambda place, time, culprit=culprit, drift=drift, step=step: (
                step * (place >= culprit) + drift(time) + random_.gauss(0, 1)
            ),
        )
        counts.append(led.runs)
        wrong += bool(set(led.named) - {culprit})
        right += led.named == [culprit]
    figures |= {"drifting_hosts": DRIFTING, "drifting_right": right, "drifting_wrong": wrong}
    figures["drifting_runs_mean"] = round(statistics.fmean(counts), 1)
    if wrong > 2:
        misses.append(f"{wrong} of {DRIFTING} searches on drifting hosts named a wrong commit at 0.997")


def _check_heavy_tails(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    wrong = right = 0
    for _ in range(TAILS):
        culprit = random_.randint(1, COMMITS)
        led = run_search(
            COMMITS,
            lambda place, _time, culprit=culprit: (
                4 * (place >= culprit) + random_.gauss(0, 1) / math.sqrt(random_.gammavariate(1.5, 1) / 1.5)
            ),
        )
        wrong += bool(set(led.named) - {culprit})
        right += led.named == [culprit]
    figures |= {"heavy_tails": TAILS, "heavy_tails_right": right, "heavy_tails_wrong": wrong}
    if wrong > 2:
        misses.append(f"{wrong} of {TAILS} searches with heavy tails named a wrong commit")


def _check_equal_steps(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    for commits, step in ((COMMITS, 3), (32, 2)):
        both = wrong = 0
        counts = []
        for _ in range(EQUAL):
            pair = sorted(random_.sample(range(1, commits + 1), 2))
            led = run_search(
                commits,
                lambda place, _time, pair=pair, step=step: (
                    step * sum(place >= culprit for culprit in pair) + random_.gauss(0, 1)
                ),
            )
            counts.append(led.runs)
            both += led.named == pair
            wrong += bool(set(led.named) - set(pair))
        name = f"equal_pairs_of_{step}_sigma"
        figures |= {name: EQUAL, f"{name}_both_named": both, f"{name}_wrong": wrong}
        figures[f"{name}_runs_mean"] = round(statistics.fmean(counts), 1)
        if both < 0.95 * EQUAL:
            misses.append(f"both of two equal culprits of {step} sigma were named in {both} of {EQUAL} searches")


def _check_modes(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    for name, step in (("modes_16_apart_step_16", 16), ("modes_16_apart_step_8", 8)):
        right = wrong = refused = 0
        for _ in range(MODES):
            culprit = random_.randint(1, COMMITS)
            led = run_search(
                COMMITS,
                lambda place, _time, culprit=culprit, step=step: (
                    step * (place >= culprit) + 16 * (random_.random() < 0.3)
                ),
            )
            right += led.named == [culprit]
            wrong += bool(set(led.named) - {culprit})
            refused += not isinstance(led.answer, Found)
        figures |= {name: MODES, f"{name}_right": right, f"{name}_wrong": wrong, f"{name}_refused": refused}
        if refused > 0.15 * MODES:
            misses.append(f"{refused} of {MODES} searches in two modes, {name}, were refused")


def _check_wrong_models(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    endless = 0
    for number in range(MODEL_WRONG):
        commits = 20
        own = [random_.gauss(0, 2) for _ in range(commits + 1)]
        slope = random_.uniform(0.05, 0.5)
        level = (lambda place, own=own: own[place]) if number % 2 else (lambda place, slope=slope: slope * place)
        led = run_search(commits, lambda place, _time, level=level: level(place) + random_.gauss(0, 1))
        endless += isinstance(led.answer, Measure)
    figures |= {"wrong_models": MODEL_WRONG, "wrong_models_without_end": endless}
    if endless:
        misses.append(f"{endless} of {MODEL_WRONG} searches whose model was wrong did not end")


def _check_settings(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    innocent = undecided = endless = 0
    for _ in range(SETTINGS):
        guilty = frozenset(random_.sample(NAMES, random_.randint(1, 3)))
        together = random_.random() < 0.5
        broken = {frozenset(): False, frozenset(NAMES): False}
        seen: list[Mixture] = []
        while isinstance(
            answer := setting_search.search_settings(SettingQuestion(settings=NAMES), seen), MeasureSettings
        ):
            changed = frozenset(answer.changed)
            effect = 5 * (guilty <= changed) if together else 5 * len(guilty & changed)
            fails = broken.setdefault(changed, random_.random() < 0.3)
            seen.append(Mixture(changed=changed, value=None if fails else 100 + effect))
        innocent += isinstance(answer, FoundSettings) and not set(answer.settings) <= guilty
        undecided += not isinstance(answer, FoundSettings)
    for number in range(80):
        seen = []
        effects = [random_.uniform(0, 2) for _ in NAMES]
        question = SettingQuestion(settings=NAMES[: 3 + number % 8], exact=False)
        while (
            isinstance(answer := setting_search.search_settings(question, seen), MeasureSettings) and len(seen) <= 400
        ):
            value = sum(effects[NAMES.index(name)] for name in answer.changed) + random_.gauss(0, 1)
            seen.append(Mixture(changed=frozenset(answer.changed), value=value))
        endless += isinstance(answer, MeasureSettings)
    figures |= {"setting_searches": SETTINGS, "settings_innocent_named": innocent, "settings_cannot_tell": undecided}
    figures["settings_noisy_without_end"] = endless
    if innocent or endless:
        misses.append(f"{innocent} searches named an innocent setting, {endless} did not end")
