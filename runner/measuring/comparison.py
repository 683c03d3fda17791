"""Compare two revisions: executed in turns in one session on one host, until the service has decided."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

from runner.contract.comparison import Comparison, ComparisonRequest, Verdict
from runner.contract.report import Report, Sample, Stage
from runner.measuring.page_cache import StaysWarm
from runner.measuring.trial import Trial
from runner.perf.session import ExecutionFailure
from runner.process_state.scheduling import RoundRobin
from runner.workload import Workload

MOST = 30
"""Pairs after which counts that should be exact have had their chance."""
MOST_NOISY = 400
"""Pairs after which noise has: a shift of half a standard deviation of a pair is found in 99 of 100 by then, and in two
of three within half as many."""
Decide = Callable[[ComparisonRequest], Comparison]


@dataclass(frozen=True, slots=True)
class Pairs:
    """How many pairs of executions a comparison takes.

    Attributes
    ----------
    first
        Before the service is asked. Two that agree prove an exact count, and noisy metrics need more.
    most
        After which the comparison ends without a decision.
    """

    first: int
    most: int

    @classmethod
    def of(cls, workload: Workload, fixed: int | None = None) -> Self:
        """Return what a workload asks for, or a fixed number of pairs."""
        if fixed is not None:
            return cls(fixed, fixed)
        noisy = bool(workload.metrics.precision)
        first = max(workload.workload.samples, 16 if noisy else 2)
        return cls(first, max(first, workload.workload.max_samples or (MOST_NOISY if noisy else MOST)))

    @classmethod
    def proof(cls, workload: Workload, *, exact: bool) -> Self:
        """Return what it takes to prove that one metric changed: five of each side that agree, if it is exact."""
        first, most = (5, MOST) if exact else (16, MOST_NOISY)
        return cls(first, max(most, workload.workload.max_samples or 0))


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a comparison; no verdict where base or head could not be measured."""

    base: Report
    head: Report
    comparison: Comparison | None
    base_stored: bool = False
    """Whether base is a run that was made before."""


def compare(
    base: Trial,
    head: Trial,
    decide: Decide,
    *,
    pairs: Pairs,
    precision: Mapping[str, float] | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Compared:
    """Execute base and head in turns, A B B A, and ask after enough pairs what is known.

    In each four, what drifts evenly while they run falls on both sides alike. Each side's first execution warms the
    page cache, shows which files are mapped, and is discarded.

    Parameters
    ----------
    decide
        Asks the service.
    precision
        The noisy metrics that have to be decided, and how small a change matters; by default what the workload says.
    progress
        Called after each execution.

    Raises
    ------
    FaultwatchError
        Where measuring itself is impossible here; a failing program makes a report of its failure instead.
    """
    session = uuid.uuid4()
    taken: dict[Trial, list[Sample]] = {base: [], head: []}
    trial = base
    with undisturbed():
        try:
            for trial in (base, head):
                trial.warm_up()
                progress()
            wanted = pairs.first
            while True:
                for number in range(len(taken[base]), wanted):
                    for turn, trial in enumerate((base, head) if number % 2 == 0 else (head, base)):
                        sample = trial.execute()
                        taken[trial].append(sample.model_copy(update={"place": 2 * number + turn}))
                        progress()
                found = ComparisonRequest(
                    base=base.measured(taken[base], session),
                    head=head.measured(taken[head], session),
                    precision=dict(base.workload.metrics.precision if precision is None else precision),
                    budgets=base.workload.metrics.budget,
                )
                decided = decide(found)
                if decided.more == 0 or wanted >= pairs.most:
                    return Compared(found.base, found.head, decided)
                wanted = min(pairs.most, wanted + decided.more)
        except ExecutionFailure as failure:
            return undecided(base, head, trial, trial.failed(Stage.RUN, failure.message, failure.log))
        except StaysWarm as error:
            return undecided(base, head, trial, trial.skipped(str(error)))


def beside_stored(base: Report, head: Trial, decide: Decide, *, pairs: Pairs) -> Compared | None:
    """Execute head alone, and compare it with a run of base that was made before in the same environment.

    Only counts that repeat, and are the same, are taken for known like that; None where there is more to find out.
    """
    session = uuid.uuid4()
    with undisturbed():
        try:
            head.warm_up()
            samples = [head.execute().model_copy(update={"place": number}) for number in range(max(2, pairs.first))]
        except (ExecutionFailure, StaysWarm):
            return None
    found = head.measured(samples, session)
    decided = decide(ComparisonRequest(base=base, head=found, base_stored=True))
    return Compared(base, found, decided, base_stored=True) if decided.verdict is Verdict.SAME else None


def undecided(base: Trial, head: Trial, culprit: Trial, report: Report) -> Compared:
    """Return what came of a comparison of which one side cannot be measured: the other one is not needed then."""
    other = (head if culprit is base else base).skipped("the other side of the comparison could not be measured")
    return Compared(report, other, None) if culprit is base else Compared(other, report, None)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Go before the host's other processes for a while, where that is allowed."""
    scheduling = RoundRobin()
    applied = False
    with suppress(OSError):
        scheduling.apply()
        applied = True
    try:
        yield
    finally:
        if applied:
            scheduling.undo()
