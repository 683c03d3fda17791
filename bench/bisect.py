"""Searches for culprits against what theory and peers need. ``make bench-bisect``.

- an exact metric over 1,000 commits: twelve measurements with both ends, none twice, and ``git bisect run`` beside it
- a noisy metric whose step is as large as its noise: the published rules of :mod:`bench.bisect_peers` beside it, and
  what not knowing the levels costs alone: the same belief, looking where the best of those rules looks
- three in ten commits that do not build
- ten settings of which one is guilty, or two together

``git bisect run`` is the real one, on a real repository of the same shape, and asks the same oracle.
"""

import random
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import combinations
from math import log2
from pathlib import Path

from bench.bisect_peers import bayesect, horstein, jedynak
from bench.report import finish_report, show_steps
from runner.contract.setting_search import FoundSettings, MeasureSettings
from service.rules.bisect import culprit_proof, exact_search, noisy_search, setting_search
from service.rules.bisect.graph import Node
from service.rules.bisect.question import Answer, Found, Measure, Observation, Prove, Question, Refused

COMMITS = 1000
NOISY_SEARCHES = 100
STORED = 30
"""Runs of each end that the history holds already, where it does."""
CONFIDENCE = 0.99
"""At which the published rules stop. Faultwatch stops at the confidence that is its default."""

Value = Callable[[int], float | None]


def main(searches: int = NOISY_SEARCHES) -> None:
    """Run all searches, print the table, finish."""
    misses: list[str] = []
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        git = _Git(Path(folder))
        search_exact_commits(git, misses, figures)
        search_noisy_commits(git, searches, misses, figures)
    search_guilty_settings(misses, figures)
    finish_report("bisect", misses, figures)


def search_exact_commits(git: "_Git", misses: list[str], figures: dict[str, object]) -> None:
    """Search a line of commits for each of many culprits, with and without commits that do not build."""
    random_ = random.Random(1)
    culprits = [1, 2, 500, 999, 1000, *(random_.randint(1, COMMITS) for _ in range(95))]
    question = Question(good="0", bad=str(COMMITS), commits=_make_line(COMMITS))
    clean = [_run_exact_search(question, culprit, frozenset()) for culprit in show_steps(culprits, "exact searches")]
    reused = sum(isinstance(exact_search.search_exact_metric(question, run.seen), Measure) for run in clean)
    peers = [git.bisect(culprit, lambda place, culprit=culprit: float(place >= culprit)) for culprit in culprits[:20]]
    broken = []
    peers_broken = []
    for number, culprit in enumerate(show_steps(culprits, "searches where commits do not build")):
        failing = frozenset(place for place in range(1, COMMITS) if random_.random() < 0.3)
        broken.append(_run_exact_search(question, culprit, failing))
        if number < 20:
            peers_broken.append(
                git.bisect(
                    culprit, lambda place, bad=failing, culprit=culprit: None if place in bad else place >= culprit
                )
            )
    print(f"{'exact metric, 1,000 commits':<44}{'mean':>7}{'most':>6}  right")
    _print_row("faultwatch, both ends and proof included", [run.count for run in clean], [run.right for run in clean])
    _print_row("git bisect run, both ends included", [count + 2 for count, _ in peers], [right for _, right in peers])
    _print_row("faultwatch, 30 % do not build: tried", [run.count for run in broken], [run.right for run in broken])
    _print_row("faultwatch, 30 % do not build: measured", [run.good for run in broken], [run.right for run in broken])
    _print_row(
        "git bisect run, 30 % do not build: tried",
        [count + 2 for count, _ in peers_broken],
        [right for _, right in peers_broken],
    )
    most = max(run.count for run in clean)
    ratio = statistics.fmean(run.count for run in broken) / statistics.fmean(run.count for run in clean)
    twice = sum(run.twice for run in (*clean, *broken))
    figures["exact"] = {
        "most_measured": most,
        "git_most_measured": max(count for count, _ in peers) + 2,
        "measured_twice": twice,
        "reused_cost": reused,
        "unbuildable_tried_to_clean": round(ratio, 2),
        "unbuildable_measured_to_clean": round(
            statistics.fmean(run.good for run in broken) / statistics.fmean(run.count for run in clean), 2
        ),
        "git_unbuildable_tried_mean": round(statistics.fmean(count for count, _ in peers_broken) + 2, 1),
    }
    if most > 12:
        misses.append(f"an exact search measured {most} commits, over 12")
    if twice:
        misses.append(f"{twice} commits were measured twice")
    if reused:
        misses.append(f"{reused} searches measured something although all of it was known")
    if not all(run.right for run in (*clean, *broken)):
        misses.append("an exact search named the wrong commit")
    if ratio > 1.5:
        misses.append(f"with 30 % of commits failing to build it takes {ratio:.2f} times the commits of the clean case")


class _Run:
    """A search that was led to its end."""

    def __init__(self, seen: Sequence[Observation], right: bool, stored: int = 0) -> None:
        self.seen = seen
        self.right = right
        alone = [one for one in seen if one.session is None]
        self.twice = len(alone) - len({one.commit for one in alone})
        # What is measured interleaved as a proof was measured before: it adds commits only where that is not so.
        extra = {one.commit for one in seen} - {one.commit for one in alone}
        self.count = len(alone) + len(extra) - stored
        self.good = sum(one.value is not None for one in alone) + len(extra) - stored


def _run_exact_search(question: Question, culprit: int, failing: frozenset[int]) -> _Run:
    """Lead a search to its end, the proof included; that measures culprit and parent again, and no further commit."""
    seen: list[Observation] = []
    while not isinstance(
        answer := culprit_proof.choose_next_proof(question, exact_search.search_exact_metric(question, seen), seen),
        Found | Refused,
    ):
        interleaved = uuid.uuid4() if isinstance(answer, Prove) else None
        for commit in (answer.parent, answer.commit) if isinstance(answer, Prove) else answer.commits:
            value = None if int(commit) in failing else int(int(commit) >= culprit)
            seen.append(Observation(commit=commit, value=value, session=interleaved))
    found = isinstance(answer, Found) and [str(culprit) in one.candidates for one in answer.culprits] == [True]
    return _Run(seen, found)


def search_noisy_commits(git: "_Git", searches: int, misses: list[str], figures: dict[str, object]) -> None:
    """Search for steps as large as the noise, beside published rules that are told the levels and the noise."""
    question = Question(good="0", bad=str(COMMITS), commits=_make_line(COMMITS), exact=False)
    ours = {
        stored: [
            _run_noisy_search(question, seed, stored)
            for seed in show_steps(range(searches), f"noisy searches, {stored} stored")
        ]
        for stored in (STORED, 0)
    }
    rules = {rule.__name__: [] for rule in (jedynak, horstein, bayesect)}
    for seed in show_steps(range(searches), "noisy searches by other rules"):
        for rule in (jedynak, horstein, bayesect):
            culprit, measure = _make_oracle(seed)
            place, count = rule(COMMITS, measure, (0.0, 1.0), 1.0, CONFIDENCE)
            rules[rule.__name__].append((count, place == culprit))
    shown = [_run_guided_search(question, seed) for seed in range(min(searches, 20))]
    peers = []
    for seed in range(min(searches, 20)):
        culprit, measure = _make_oracle(seed)
        peers.append(git.bisect(culprit, lambda place, measure=measure: measure(place) > 0.5))
    print(f"\n{'noisy metric, 1,000 commits, step = 1 σ':<44}{'mean':>7}{'most':>6}  right")
    _print_row(
        f"faultwatch, {STORED} runs of each end stored",
        [r.count for r in ours[STORED]],
        [r.right for r in ours[STORED]],
    )
    _print_row("faultwatch, nothing stored", [r.count for r in ours[0]], [r.right for r in ours[0]])
    _print_row("faultwatch, shown where jedynak looks", [run.count for run in shown], [run.right for run in shown])
    for name, taken in rules.items():
        _print_row(
            f"{name}{', told levels and noise' if name != 'bayesect' else ', told the middle'}",
            [count for count, _ in taken],
            [right for _, right in taken],
        )
    _print_row("git bisect run", [count for count, _ in peers], [right for _, right in peers])
    means = {name: statistics.fmean(count for count, _ in taken) for name, taken in rules.items()}
    best = min(means.values())
    mean = {stored: statistics.fmean(run.count for run in taken) for stored, taken in ours.items()}
    right = {stored: statistics.fmean(run.right for run in taken) for stored, taken in ours.items()}
    figures["noisy"] = {
        "searches": searches,
        "right_stored": right[STORED],
        "right_nothing_stored": right[0],
        "mean_stored": round(mean[STORED], 1),
        "mean_nothing_stored": round(mean[0], 1),
        **{f"mean_{name}": round(value, 1) for name, value in means.items()},
        "stored_to_best_told": round(mean[STORED] / best, 2),
        "nothing_stored_to_best_told": round(mean[0] / best, 2),
        "shown_where_to_look_to_best_told": round(
            statistics.fmean(run.count for run in shown)
            / statistics.fmean(count for count, _ in rules["jedynak"][: len(shown)]),
            2,
        ),
        "nothing_stored_to_bayesect": round(mean[0] / means["bayesect"], 2),
        "git_bisect_right": statistics.fmean(right for _, right in peers),
    }
    for stored, share in right.items():
        if share < 0.99:
            misses.append(f"with {stored} runs of each end stored, {share:.1%} of noisy searches were right")
    # A rule that is told the levels is compared with a search that knows them from the history, one that is not with
    # a search that does not.
    if mean[STORED] > 1.5 * best:
        misses.append(f"a noisy search takes {mean[STORED] / best:.2f} times the runs of the best rule that is told")
    if mean[0] > 1.5 * means["bayesect"]:
        misses.append("a noisy search takes more than 1.5 times the runs of the best rule that is not told the levels")


def _make_oracle(seed: int) -> tuple[int, Callable[[int], float]]:
    random_ = random.Random(seed)
    culprit = random_.randint(1, COMMITS)
    return culprit, lambda place: random_.gauss(0, 1) + (place >= culprit)


def _run_noisy_search(question: Question, seed: int, stored: int) -> _Run:
    culprit, measure = _make_oracle(seed)
    seen = [Observation(commit=str(end), value=measure(end)) for end in (0, COMMITS) for _ in range(stored)]
    while isinstance(answer := noisy_search.search_noisy_metric(question, seen), Measure) and len(seen) < 2000:
        seen += [Observation(commit=commit, value=measure(int(commit))) for commit in answer.commits]
    found = isinstance(answer, Found) and [one.commit for one in answer.culprits] == [str(culprit)]
    return _Run(seen, found, 2 * stored)


def _run_guided_search(question: Question, seed: int) -> _Run:
    """Look where a rule does that is told levels and noise, but believe only what follows without being told.

    What this takes more than that rule is what not being told costs, wherever one looks.
    """
    culprit, measure = _make_oracle(seed)
    seen: list[Observation] = []
    answer: Answer | None = None

    def measure_place(place: int) -> float:
        nonlocal answer
        value = measure(place)
        seen.append(Observation(commit=str(place), value=value))
        answer = noisy_search.search_noisy_metric(question, seen) if len(seen) > 20 else None
        if isinstance(answer, Found):
            raise StopIteration
        return value

    seen += [
        Observation(commit=str(end), value=measure(end))
        for end in (0, COMMITS)
        for _ in range(noisy_search.MIN_RUNS_PER_END)
    ]
    with suppress(StopIteration):
        jedynak(COMMITS, measure_place, (0.0, 1.0), 1.0, 1 - 1e-12)
    found = isinstance(answer, Found) and [one.commit for one in answer.culprits] == [str(culprit)]
    return _Run(seen, found)


def search_guilty_settings(misses: list[str], figures: dict[str, object]) -> None:
    """Search ten settings for one that is guilty, and for two that are guilty together."""
    names = tuple(f"setting{number}" for number in range(10))
    random_ = random.Random(2)
    pairs = [frozenset(pair) for pair in combinations(names, 2)]
    rows = {
        "one": [frozenset([random_.choice(names)]) for _ in range(100)],
        "a pair": [random_.choice(pairs) for _ in range(100)],
    }
    limits = {"one": 2 * log2(2**10), "a pair": 40}
    print(f"\n{'ten settings, both environments included':<44}{'mean':>7}{'most':>6}  right")
    for name, chosen in rows.items():
        taken = [_run_setting_search(names, guilty) for guilty in chosen]
        _print_row(f"guilty: {name}", [count for count, _ in taken], [right for _, right in taken])
        most, right = max(count for count, _ in taken), sum(right for _, right in taken)
        figures[f"settings_{name.split()[-1]}"] = {"most": most, "right": right, "of": len(taken)}
        if most > limits[name] or right < len(taken):
            misses.append(f"settings, guilty {name}: {most} measurements at most, right in {right} of {len(taken)}")


def _run_setting_search(names: tuple[str, ...], guilty: frozenset[str]) -> tuple[int, bool]:
    seen: list[setting_search.Mixture] = []
    question = setting_search.SettingQuestion(settings=names)
    while isinstance(answer := setting_search.search_settings(question, seen), MeasureSettings):
        changed = frozenset(answer.changed)
        seen.append(setting_search.Mixture(changed=changed, value=100 + 7 * (guilty <= changed)))
    return len(seen), isinstance(answer, FoundSettings) and set(answer.settings) == guilty


def _make_line(length: int) -> tuple[Node, ...]:
    return tuple(Node(commit=str(place), parents=(str(place - 1),)) for place in range(1, length + 1))


def _print_row(what: str, counts: Sequence[int], right: Sequence[bool]) -> None:
    print(f"{what:<44}{statistics.fmean(counts):>7.1f}{max(counts):>6}  {sum(right)} of {len(right)}")


class _Git:
    """A repository with a line of commits, and ``git bisect run`` in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run_git("init", "--quiet", "--initial-branch=main")
        stream = "".join(
            f"commit refs/heads/main\nmark :{place + 1}\ncommitter bench <bench@localhost> {place} +0000\n"
            f"data {len(str(place))}\n{place}\n"
            for place in range(COMMITS + 1)
        )
        self._run_git("fast-import", "--quiet", "--export-marks=marks", given=stream)
        lines = (folder / "marks").read_text(encoding="utf-8").split("\n")
        self._hashes = {int(line.split()[0][1:]) - 1: line.split()[1] for line in lines if line}

    def bisect(self, culprit: int, bad: Value) -> tuple[int, bool]:
        """Search with an oracle: truth for bad, None for a commit to skip. Return its runs, and whether it is right."""
        answers = {place: bad(place) for place in range(1, COMMITS)}
        codes = {None: "125", True: "1", False: "0"}
        lines = (f"{self._hashes[place]} {codes[None if bad is None else bool(bad)]}" for place, bad in answers.items())
        (self._folder / "answers").write_text("\n".join(lines), encoding="utf-8")
        (self._folder / "asked").write_text("", encoding="utf-8")
        script = self._folder / "ask"
        script.write_text(
            '#!/bin/sh\ncommit=$(git rev-parse BISECT_HEAD)\necho "$commit" >>asked\n'
            'exit "$(sed -n "s/^$commit //p" answers)"\n',
            encoding="utf-8",
        )
        script.chmod(0o755)
        self._run_git("bisect", "start", "--no-checkout", self._hashes[COMMITS], self._hashes[0])
        # If only commits to skip are left, git names all of them and leaves with exit code 2.
        out = subprocess.run(
            ["git", "bisect", "run", "./ask"], cwd=self._folder, capture_output=True, text=True, check=False
        ).stdout
        count = len((self._folder / "asked").read_text(encoding="utf-8").split())
        self._run_git("bisect", "reset")
        named = out.partition("could be any of:")[2] or "".join(
            line for line in out.splitlines() if line.endswith("is the first bad commit")
        )
        return count, self._hashes[culprit] in named

    def _run_git(self, *arguments: str, given: str | None = None) -> None:
        subprocess.run(["git", *arguments], cwd=self._folder, check=True, capture_output=True, text=True, input=given)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
