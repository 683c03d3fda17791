"""The gate on pull requests whose numbers are drawn at random: who is flagged, and what the headline says.

Everything but the executions is real: the sampling interleaved, the decision after each batch, the verdict and its
words.
"""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from runner.contract import Case, Environment, Host, MetricVerdict, Outcome, Reading, Report, Revision, Sample, Verdict
from runner.contract.gate import GateCase, GateReport, GateVerdict
from runner.contract.judging import Judging
from runner.contract.level import compute_median
from runner.contract.proof_power import MAX_PAIRS
from runner.measuring.comparison import Pairs, sample_interleaved_trials
from service.forges import gate_verdict_text
from service.rules.comparison import compare_stored_runs, comparison_verdict
from service.rules.comparison.run_pairing import ComparableRun, Pair
from service.rules.gate.verdict import GateOutcome, judge_gate

UNCHANGED, INTERMITTENT, ONE_MORE, BUDGETED, STORED = 200, 250, 100, 200, 300
FAULTS, SECONDS = 10_000, 1.0
AT = datetime(2025, 1, 1, tzinfo=UTC)
Draw = Callable[[random.Random], float]
Draws = Mapping[str, Draw]


def _draw_student_t(chance: random.Random) -> float:
    """Return a draw of Student's t with two degrees of freedom: its variance is infinite."""
    return chance.gauss(0, 1) / math.sqrt(chance.expovariate(1))


NOISES: dict[str, Draw] = {
    "two modes, 30 %": lambda chance: 0.1 * (chance.random() < 0.3) + chance.gauss(0, 0.005),
    "two modes, 50 %": lambda chance: 0.1 * (chance.random() < 0.5) + chance.gauss(0, 0.005),
    "jitter": lambda chance: 0.02 * chance.choice((-1, 0, 1)),
    "Gaussian": lambda chance: chance.gauss(0, 0.05),
    "heavy tails": lambda chance: 0.03 * _draw_student_t(chance),
    "outliers, 5 %": lambda chance: chance.gauss(0, 0.01) + (chance.random() < 0.05),
}
"""What is added to a level of 1."""
COUNTS: dict[str, Draw] = {
    "two modes, 5 %": lambda chance: FAULTS + 1000 * (chance.random() < 0.05),
    "two modes, 30 %": lambda chance: FAULTS + 1000 * (chance.random() < 0.3),
    "two modes, 50 %": lambda chance: FAULTS + 1000 * (chance.random() < 0.5),
    "two modes, 80 %": lambda chance: FAULTS + 1000 * (chance.random() < 0.8),
    "jitter of 1": lambda chance: FAULTS + chance.choice((-1, 0, 1)),
    "Gaussian": lambda chance: FAULTS + round(chance.gauss(0, 50)),
    "heavy tails": lambda chance: FAULTS + round(20 * _draw_student_t(chance)),
    "outliers, 5 %": lambda chance: FAULTS + (chance.random() < 0.05) * chance.randrange(1, 60),
}


def draw_exact(chance: random.Random) -> float:
    """Return the count of a program that repeats it."""
    return FAULTS


def make_elapsed_law(noise: Draw, factor: float = 1.0) -> Draw:
    """Return how long a program takes."""
    return lambda chance: SECONDS * factor * max(0.01, 1 + noise(chance))


@dataclass(eq=False)
class DrawnTrial:
    """Takes the place of a trial: an execution is a draw."""

    commit: str
    case: Case
    draws: Draws
    chance: random.Random

    def execute(self) -> Sample:
        """Return a sample."""
        return Sample(readings={name: Reading(value=draw(self.chance)) for name, draw in self.draws.items()})

    def can_run_at_once(self, _: DrawnTrial) -> bool:
        """Return False: nothing runs."""
        return False

    def build_measured_report(self, samples: Sequence[Sample], session: uuid.UUID) -> Report:
        """Return the report of some samples."""
        return Report(
            run_id=uuid.uuid4(),
            subject="bench",
            revision=Revision(commit=self.commit, committed_at=AT),
            case=self.case,
            host=Host(name="bench"),
            environment=Environment(settings={}),
            runner_version="bench",
            started_at=AT,
            finished_at=AT,
            outcome=Outcome.MEASURED,
            samples=tuple(samples),
            session=session,
        )


def judge_pull_request(
    base: Draws, head: Draws, judging: Judging, chance: random.Random, cases: int = 1
) -> GateOutcome:
    """Send a pull request through the gate."""
    commits = "a" * 40, "b" * 40
    measured = []
    for number in range(cases):
        case = Case(workload="bench", definition="0" * 16, parameters={"n": number})
        trials = [DrawnTrial(commit, case, draws, chance) for commit, draws in zip(commits, (base, head), strict=True)]
        result = sample_interleaved_trials(
            *cast(Any, trials),
            comparison_verdict.decide_comparison,
            pairs=Pairs(16 if judging.requested else 2, MAX_PAIRS),
            n_cases=cases,
            judging=judging,
        )
        measured.append(
            GateCase(
                base=result.base,
                head=result.head,
                judge=judging.judge,
                budgets=judging.budgets,
                max_pairs=result.max_pairs,
            )
        )
    return judge_gate(GateReport(base=commits[0], head=commits[1], cases=tuple(measured)))


def read_headline(outcome: GateOutcome) -> str:
    """Return the first line of the comment."""
    return gate_verdict_text.describe_gate_verdict(outcome, str)


class Tally:
    """Collects the figures, and those that miss their targets."""

    def __init__(self) -> None:
        self.figures: dict[str, object] = {}
        self.misses: list[str] = []

    def at_most(self, what: str, count: int, most: float, of: int) -> None:
        """Note a count that must not be larger."""
        self._note(what, count, of, missed=count > most, limit=f"at most {most:g}")

    def at_least(self, what: str, count: int, least: float, of: int) -> None:
        """Note a count that must not be smaller."""
        self._note(what, count, of, missed=count < least, limit=f"at least {least:g}")

    def _note(self, what: str, count: int, of: int, *, missed: bool, limit: str) -> None:
        self.figures[what] = f"{count} of {of}"
        if missed:
            self.misses.append(f"{what}: {count} of {of}, {limit} allowed")


def run(seed: int) -> tuple[dict[str, object], list[str]]:
    """Measure all of it; return the figures and the misses."""
    chance, tally = random.Random(seed), Tally()
    _check_unchanged(chance, tally)
    _check_many_cases(chance, tally)
    _check_changed(chance, tally)
    _check_budgets(chance, tally)
    _check_stored_runs(chance, tally)
    return tally.figures, tally.misses


def _check_unchanged(chance: random.Random, tally: Tally) -> None:
    judging = Judging(judge=("elapsed",))
    programs = {
        f"elapsed: {name}": {"minor-faults": draw_exact, "elapsed": make_elapsed_law(law)}
        for name, law in NOISES.items()
    }
    programs |= {
        f"faults: {name}": {"minor-faults": law, "elapsed": make_elapsed_law(NOISES["Gaussian"])}
        for name, law in COUNTS.items()
    }
    for name, program in programs.items():
        outcomes = [judge_pull_request(program, program, judging, chance) for _ in range(UNCHANGED)]
        flagged = sum(any(outcome.list_changed_metrics()) for outcome in outcomes)
        calm = sum("no change in faults" in read_headline(outcome).lower() for outcome in outcomes)
        tally.at_most(f"unchanged, {name}: flagged", flagged, 0, UNCHANGED)
        tally.at_least(f"unchanged, {name}: no change in faults", calm, 0.95 * UNCHANGED, UNCHANGED)
        tally.figures[f"unchanged, {name}: median pairs"] = compute_median(
            [len(outcome.cases[0].case.base.samples) for outcome in outcomes]
        )


def _check_many_cases(chance: random.Random, tally: Tally) -> None:
    program = {
        "minor-faults": COUNTS["two modes, 30 %"],
        "major-faults": lambda _: 0,
        "elapsed": make_elapsed_law(NOISES["outliers, 5 %"]),
    }
    outcomes = [
        judge_pull_request(program, program, Judging(judge=("elapsed",)), chance, cases=10)
        for _ in range(UNCHANGED // 4)
    ]
    flagged = sum(any(outcome.list_changed_metrics()) for outcome in outcomes)
    tally.at_most("unchanged, ten cases of three metrics: flagged", flagged, 0, len(outcomes))


def _check_changed(chance: random.Random, tally: Tally) -> None:
    def judge_faults(law: Draw, times: int) -> list[tuple[GateOutcome, MetricVerdict]]:
        outcomes = [
            judge_pull_request({"minor-faults": draw_exact}, {"minor-faults": law}, Judging(), chance)
            for _ in range(times)
        ]
        return [(outcome, outcome.metrics[0].metric_verdict) for outcome in outcomes]

    sometimes = judge_faults(lambda chance: FAULTS + 1000 * (chance.random() < 0.4), INTERMITTENT)
    same = sum(verdict.verdict is Verdict.SAME for _, verdict in sometimes)
    named = sum(verdict.changed_pairs is not None and verdict.change == 1000 for _, verdict in sometimes)
    tally.at_most("+1,000 in 40 % of executions: same", same, 0, INTERMITTENT)
    tally.at_least("+1,000 in 40 % of executions: called intermittent", named, 0.95 * INTERMITTENT, INTERMITTENT)
    more = judge_faults(lambda _: FAULTS + 1, ONE_MORE)
    found = sum(outcome.verdict is GateVerdict.REGRESSED and verdict.change == 1 for outcome, verdict in more)
    tally.at_least("+1 in an exact count: flagged", found, ONE_MORE, ONE_MORE)


def _check_budgets(chance: random.Random, tally: Tally) -> None:
    judging = Judging(judge=("throughput",), budgets={"throughput": "5 %"})

    def count_failed(factor: float) -> int:
        sides = [
            {"minor-faults": draw_exact, "throughput": make_elapsed_law(lambda chance: chance.gauss(0, 0.03), side)}
            for side in (1.0, factor)
        ]
        return sum(not judge_pull_request(sides[0], sides[1], judging, chance).passed for _ in range(BUDGETED))

    tally.at_most("throughput -4 %, budget 5 %: failed", count_failed(0.96), 0.01 * BUDGETED, BUDGETED)
    tally.at_least("throughput -8 %, budget 5 %: failed", count_failed(0.92), 0.95 * BUDGETED, BUDGETED)


def _check_stored_runs(chance: random.Random, tally: Tally) -> None:
    """Compare two single runs whose sessions differ by some 3 %, though nothing changed."""
    changed = 0
    for _ in range(STORED):
        sides, readings = [], {}
        for number in (1, 2):
            session = 1 + chance.gauss(0, 0.03)
            values = tuple(session * chance.gauss(1, 0.002) for _ in range(40))
            sides.append(_make_run(number))
            readings[number] = {
                "elapsed": compare_stored_runs.SideReadings(values, len(values), compute_median(values), True, 1)
            }
        (row,) = compare_stored_runs.compare_pairs([Pair((sides[0],), (sides[1],))], readings, {}, {})
        changed += row.decision.verdict is Verdict.CHANGED
    tally.at_most("stored, sessions differ by 3 %: changed", changed, 0, STORED)


def _make_run(number: int) -> ComparableRun:
    return ComparableRun(
        *(uuid.uuid4(), number, "bench", "bench", "k", "bench", "e", f"{number:040x}", "title", number, AT)
    )
