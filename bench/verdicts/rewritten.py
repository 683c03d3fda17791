"""Branches that are rewritten at random: each drift lies at its living commit, and no former commit is named.

A branch of a main line is measured, rewritten by a rebase, an amend, a squash, a reorder or a forced push that drops
commits, and measured again, up to three times; then perhaps merged. The counts are exact.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from service.rules.series.candidate_commits import list_commits_between
from service.rules.series.commit_order import Commit, sort_commits_by_history
from service.rules.series.find_drifts import find_drifts
from service.rules.series.path_and_branches import Branches, arrange_branches
from service.rules.series.point_order import PathPoint

REWRITINGS = 500
START = datetime(2025, 1, 1, tzinfo=UTC)
LEVEL = 5000


@dataclass
class Subject:
    """A repository whose commits are changes with an effect on the count, and what was measured of it."""

    parents: dict[str, list[str]] = field(default_factory=dict)
    effects: dict[str, int] = field(default_factory=dict)
    """By how many faults the change of each commit moves the count."""
    runs: list[tuple[str, int]] = field(default_factory=list)

    def commit(self, effect: int, *parents: str) -> str:
        """Add a commit; return its hash."""
        name = f"c{len(self.parents)}"
        self.parents[name], self.effects[name] = list(parents), effect
        return name

    def measure(self, commits: Sequence[str]) -> None:
        """Measure those of some commits that are not measured yet."""
        known = {commit for commit, _ in self.runs}
        for commit in commits:
            if commit not in known:
                contained = list_commits_between(self.parents, "", commit)
                self.runs.append((commit, LEVEL + sum(self.effects[name] for name in contained)))

    def list_points(self) -> list[PathPoint]:
        """Return what was measured as the points of a series."""
        dated = (Commit(name, tuple(parents), START) for name, parents in self.parents.items())
        place = {commit: number for number, commit in enumerate(sort_commits_by_history(dated))}
        return [
            PathPoint(
                run_id=UUID(int=number + 1),
                revision=commit,
                position=place[commit],
                environment="A",
                measured_at=START + timedelta(minutes=number),
                value=count,
                samples=(count, count),
            )
            for number, (commit, count) in enumerate(self.runs)
        ]


def _rewrite_branch(chance: random.Random, subject: Subject, main: list[str], branch: list[str]) -> list[str]:
    """Return the commits of the branch after one way of rewriting it."""
    effects = [subject.effects[commit] for commit in branch]
    base = subject.parents[branch[0]][0]
    match chance.choice(["rebase", "amend", "squash", "reorder", "force-push"]):
        case "rebase":
            main.append(subject.commit(0, main[-1]))
            base = main[-1]
        case "amend":
            pass  # the same changes, and other hashes
        case "squash" if len(effects) > 2:
            at = chance.randrange(len(effects) - 1)
            effects[at : at + 2] = [sum(effects[at : at + 2])]
        case "reorder":
            chance.shuffle(effects)
        case "force-push" if len(effects) > 2:
            del effects[chance.randrange(len(effects))]
    rewritten: list[str] = []
    for effect in effects:
        rewritten.append(subject.commit(effect, rewritten[-1] if rewritten else base))
    return rewritten


def _check_drawn_branch(chance: random.Random) -> list[str]:
    """Return what is wrong with the drifts of one branch that is rewritten."""
    subject = Subject()
    main = [subject.commit(0)]
    for _ in range(chance.randrange(12, 16)):
        main.append(subject.commit(0, main[-1]))
    branch = [subject.commit(0, main[-1])]
    length = chance.randrange(3, 9)
    moving = chance.randrange(length)
    for number in range(length):
        branch.append(subject.commit(400 if number == moving else 0, branch[-1]))
    subject.measure(main + branch)
    for _ in range(chance.randrange(1, 4)):
        branch = _rewrite_branch(chance, subject, main, branch)
        subject.measure(main + branch)
    tips = {main[-1], branch[-1]}
    if chance.random() < 0.3:
        merge = subject.commit(0, main[-1], branch[-1])
        subject.measure([merge])
        tips = {merge}

    # What the service makes of it, and what is true.
    trend = arrange_branches(subject.list_points(), Branches(subject.parents, tips))
    living = frozenset().union(*(list_commits_between(subject.parents, "", tip) for tip in tips))
    wrong = [
        f"{commit} is dead and on a path"
        for sequence in (trend.path, *trend.points_beside)
        for commit in {point.revision for point in sequence}
        if commit not in living
    ]
    moved = set()
    for drift in find_drifts(trend, is_exact=True):
        candidates = list_commits_between(subject.parents, *drift.outer_revisions)
        moved |= {commit for commit in candidates if subject.effects[commit]}
        if not {*drift.outer_revisions} <= living:
            wrong.append(f"a drift names {drift.outer_revisions}")
        if not any(subject.effects[commit] for commit in candidates):
            wrong.append(f"a drift at {drift.outer_revisions} without a change")
    missed = {commit for commit in living if subject.effects[commit]} - moved
    return wrong + [f"{commit} is not found" for commit in missed]


def run(seed: int) -> tuple[dict[str, object], list[str]]:
    """Return the figures and the misses."""
    chance = random.Random(seed)
    wrong = [problem for _ in range(REWRITINGS) for problem in _check_drawn_branch(chance)]
    figures: dict[str, object] = {"rewritten branches": REWRITINGS, "wrong": len(wrong), "for example": wrong[:3]}
    return figures, [f"{len(wrong)} of {REWRITINGS} rewritten branches: {wrong[0]}"] if wrong else []
