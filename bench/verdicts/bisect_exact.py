"""Exact searches over histories of any shape: what they measure, whom they name, and how many measurements they take.

- 2,000 random histories with merges, branches older than the range, reverts and cherry-picks
- the history of Lua between two releases, if a clone of it is at hand (``LUA_REPO``): its main line was merged with a
  branch that started before the older release
- histories whose counts jitter, for which there is no right answer: the search has to end
"""

import os
import random
import statistics
from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import log2
from pathlib import Path

from bench.verdicts import histories
from bench.verdicts.histories import History
from service.rules.bisect import exact_search
from service.rules.bisect.graph import Node
from service.rules.bisect.question import Answer, Found, Measure, Observation, Question, Refused
from service.rules.bisect.refusals import MAX_STEPS

HISTORIES = 2000
PLACES = 40
"""Commits of the real history at which a culprit is planted, besides all that a merge makes hard."""


@dataclass(frozen=True, slots=True)
class Led:
    """A search that was led to its end, or stopped because it did not end."""

    answer: Answer
    measured: tuple[str, ...]

    @property
    def named(self) -> list[tuple[str, ...]]:
        """The candidates of each culprit."""
        return [culprit.candidates for culprit in self.answer.culprits] if isinstance(self.answer, Found) else []


def run_search(question: Question, measure: Callable[[str], int | None], slots: int = 1) -> Led:
    """Lead a search to its end."""
    seen: list[Observation] = []
    most = 4 * len(question.commits) + 8
    while isinstance(answer := exact_search.search_exact_metric(question, seen, slots), Measure) and len(seen) < most:
        seen += [Observation(commit=commit, value=measure(commit)) for commit in answer.commits]
        if not answer.commits:
            break
    return Led(answer, tuple(observation.commit for observation in seen))


def run(seed: int) -> tuple[dict[str, object], list[str]]:
    """Return the figures and the misses."""
    figures: dict[str, object] = {}
    misses: list[str] = []
    _check_single_culprits(random.Random(seed), figures, misses)
    _check_several_culprits(random.Random(seed + 1), figures, misses)
    _check_jitter(random.Random(seed + 2), figures, misses)
    _check_lua(random.Random(seed + 3), figures, misses)
    return figures, misses


def _note_miss(condition: bool, miss: str, misses: list[str]) -> None:
    if not condition:
        misses.append(miss)


def _make_history(random_: random.Random) -> tuple[History, str, str]:
    """Return a history with a range, and with patches before the range that branches may lack."""
    history = histories.grow_history(random_, random_.choice([12, 40, 120, 400]))
    good, bad = histories.ends(random_, history)
    inside = set(history.between(good, bad))
    before = [name for name in history.parents if name not in inside]
    for number, name in enumerate(random_.sample(before, min(len(before), random_.randrange(4)))):
        history.applies[name] = f"old{number}"
        history.sizes[f"old{number}"] = random_.choice([3, -2, 7])
    return history, good, bad


def _check_single_culprits(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    outside = wrong = over = ambiguous = repeated = 0
    ratios: list[float] = []
    for _ in range(HISTORIES):
        history, good, bad = _make_history(random_)
        inside = history.between(good, bad)
        culprit = random_.choice(inside)
        history.applies[culprit] = "patch"
        history.sizes["patch"] = random_.choice([1, 5, -4])
        if random_.random() < 0.25:  # the same patch, picked to another branch
            other = random_.choice(inside)
            alone = history.contained(bad)
            if other != culprit and alone:
                history.applies.setdefault(other, "patch")
        led = run_search(Question(good=good, bad=bad, commits=history.nodes(good, bad)), history.level)
        appliers = {name for name, patch in history.applies.items() if patch == "patch"}
        outside += not set(led.measured) <= {good, *inside}
        repeated += len(led.measured) - len(set(led.measured))
        right = len(led.named) == 1 and bool(set(led.named[0]) & appliers)
        wrong += not right
        ambiguous += right and len(led.named[0]) > 1
        limit = 2 * log2(len(inside)) + 4
        over += len(led.measured) > limit
        ratios.append(len(led.measured) / limit)
    figures |= {
        "histories": HISTORIES,
        "searches_that_left_the_range": outside,
        "wrong_culprits": wrong,
        "measured_twice": repeated,
        "over_2_log2_n_plus_4": over,
        "share_of_that_limit_mean_and_most": f"{statistics.fmean(ratios):.2f} {max(ratios):.2f}",
        "culprit_or_merge_of_an_older_branch": ambiguous,
    }
    _note_miss(not outside, f"{outside} searches measured a commit outside of the range", misses)
    _note_miss(not wrong, f"{wrong} searches of {HISTORIES} named a wrong culprit", misses)
    _note_miss(not repeated, f"{repeated} commits were measured twice", misses)
    _note_miss(not over, f"{over} searches of {HISTORIES} took more than 2 log2 n + 4 measurements", misses)


def _check_several_culprits(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    """Search histories with several culprits, some of them reverted, some commits of which cannot be built."""
    searches, innocent, endless, missed = 500, 0, 0, 0
    for _ in range(searches):
        history, good, bad = _make_history(random_)
        inside = history.between(good, bad)
        planted = random_.sample(inside, min(len(inside), random_.choice([2, 3])))
        for place, name in enumerate(planted):
            history.applies[name] = f"patch{place}"
            history.sizes[f"patch{place}"] = 5 if random_.random() < 0.5 else 2**place
        reverted = random_.choice(planted)
        later = [
            name
            for name in inside
            if name not in planted and history.contained(name) >> list(history.parents).index(reverted) & 1
        ]
        if later and random_.random() < 0.4:
            history.reverts[random_.choice(later)] = history.applies[reverted]
        failing = {name for name in inside if name != bad and random_.random() < random_.choice([0, 0, 0.3])}
        led = run_search(
            Question(good=good, bad=bad, commits=history.nodes(good, bad)),
            lambda name, history=history, failing=failing: None if name in failing else history.level(name),
        )
        movers = {*planted, *history.reverts}
        endless += isinstance(led.answer, Measure)
        innocent += any(not movers & set(candidates) for candidates in led.named)
        explained = isinstance(led.answer, Found) or history.level(good) == history.level(bad)
        missed += not explained
    figures |= {"several_culprits": searches, "several_innocents_named": innocent, "several_without_end": endless}
    _note_miss(not innocent, f"{innocent} searches for several culprits of {searches} named an innocent commit", misses)
    _note_miss(not endless and not missed, f"{endless + missed} searches for several culprits gave no answer", misses)


def _check_jitter(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    searches, endless, most = 200, 0, 0.0
    for _ in range(searches):
        history, good, bad = _make_history(random_)
        noise = random_.choice([1, 3, 50])
        led = run_search(
            Question(good=good, bad=bad, commits=history.nodes(good, bad)),
            lambda name, noise=noise: 1000 + random_.randint(-noise, noise),
        )
        n = len(history.between(good, bad))
        endless += isinstance(led.answer, Measure)
        most = max(most, len(led.measured) / (MAX_STEPS * (2 * log2(n) + 4)))
    figures |= {"jitter_without_end": endless, "jitter_most_of_budget": round(most, 2)}
    _note_miss(
        not endless and most <= 1, f"{endless} searches of a jittering count did not end within the budget", misses
    )


def _check_lua(random_: random.Random, figures: dict[str, object], misses: list[str]) -> None:
    if not (repository := os.environ.get("LUA_REPO")):
        figures["lua"] = "no clone: set LUA_REPO"
        return
    good, bad, nodes = histories.read_repository(Path(repository), "v5.4.6", "v5.5.0")
    inside = [node.commit for node in nodes]
    merges = [node.commit for node in nodes if len(node.parents) > 1]
    planted = list(dict.fromkeys([*merges, *random_.sample(inside, PLACES)]))
    counts, wrong, ambiguous, outside = [], 0, 0, 0
    for culprit in planted:
        led = run_search(Question(good=good, bad=bad, commits=nodes), _make_lua_levels(nodes, culprit, good, random_))
        counts.append(len(led.measured))
        outside += not set(led.measured) <= {good, *inside}
        wrong += len(led.named) != 1 or culprit not in led.named[0]
        ambiguous += len(led.named) == 1 and len(led.named[0]) > 1
    limit = 2 * log2(len(inside)) + 4
    figures["lua"] = {
        "commits": len(inside),
        "searches": len(planted),
        "measurements_mean_and_most": [round(statistics.fmean(counts), 1), max(counts)],
        "limit": round(limit, 1),
        "wrong": wrong,
        "several_candidates": ambiguous,
        "left_the_range": outside,
    }
    _note_miss(max(counts) <= limit, f"Lua: {max(counts)} measurements, over {limit:.1f}", misses)
    _note_miss(not wrong and not outside, f"Lua: {wrong} wrong answers, {outside} searches left the range", misses)


def _make_lua_levels(nodes: Collection[Node], culprit: str, good: str, random_: random.Random) -> Callable[[str], int]:
    """Return the levels with one culprit; branches older than the range lack a change that ``good`` contains."""
    descends: dict[str, bool] = {good: True}
    contains: dict[str, bool] = {good: False}
    lacking = random_.choice([0, 11])
    for node in nodes:
        descends[node.commit] = any(descends.get(parent, False) for parent in node.parents)
        contains[node.commit] = node.commit == culprit or any(contains.get(parent, False) for parent in node.parents)
    return lambda name: 1000 + 5 * contains[name] - lacking * (not descends[name])


__all__ = ["Led", "Refused", "run", "run_search"]
