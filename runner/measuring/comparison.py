"""Compares two revisions: executes them in turns in one session on one host, until the service has decided."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

from runner.contract.comparison import Comparison, ComparisonRequest, Verdict
from runner.contract.report import Report, Sample, Stage
from runner.measuring.cold_files import EvictionError
from runner.measuring.trial import Trial
from runner.perf.session import ExecutionFailure
from runner.process_state.scheduling import RoundRobin
from runner.subject.built_tree import begin_session
from runner.workload import Workload

MOST = 30
"""Most pairs for exact counts."""
MOST_NOISY = 400
"""Most pairs for noisy metrics. They find a shift of half a standard deviation of a pair in 99 of 100 comparisons, and
half as many pairs in two of three."""
Decide = Callable[[ComparisonRequest], Comparison]


@dataclass(frozen=True, slots=True)
class Pairs:
    """How many pairs of executions a comparison takes.

    Attributes
    ----------
    first
        Pairs before the first question to the service. Two that agree prove an exact count; noisy metrics need more.
    most
        Pairs after which the comparison ends without a decision.
    """

    first: int
    most: int

    @classmethod
    def of(cls, workload: Workload, fixed: int | None = None) -> Self:
        """Return the numbers for a workload, or a fixed number of pairs."""
        if fixed is not None:
            return cls(fixed, fixed)
        noisy = bool(workload.metrics.precision)
        first = max(workload.workload.samples, 16 if noisy else 2)
        return cls(first, max(first, workload.workload.max_samples or (MOST_NOISY if noisy else MOST)))

    @classmethod
    def proof(cls, workload: Workload, *, exact: bool) -> Self:
        """Return the numbers to prove that one metric changed: if it is exact, five samples of each side must agree."""
        first, most = (5, MOST) if exact else (16, MOST_NOISY)
        return cls(first, max(most, workload.workload.max_samples or 0))


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of a comparison; without a verdict if base or head could not be measured."""

    base: Report
    head: Report
    comparison: Comparison | None
    base_stored: bool = False
    """Whether base is a stored run."""


def compare(
    base: Trial,
    head: Trial,
    decide: Decide,
    *,
    pairs: Pairs,
    precision: Mapping[str, float] | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Compared:
    """Execute base and head in turns, A B B A, and let the service decide after enough pairs.

    In each four executions a steady drift of the host affects both sides equally. Each side's first execution warms the
    page cache, shows which files are mapped, and is discarded.

    Parameters
    ----------
    decide
        Returns the decision of the service.
    precision
        The smallest change that matters, by noisy metric to decide; by default from the workload.
    progress
        Called after each execution.

    Raises
    ------
    FaultwatchError
        If measuring is impossible on this host. If the program fails, the report contains the failure.
    """
    session = uuid.uuid4()
    samples: dict[Trial, list[Sample]] = {base: [], head: []}
    trial = base
    with undisturbed():
        try:
            for tree in dict.fromkeys((base.tree, head.tree)):
                begin_session(tree)
            for trial in (base, head):
                trial.warm_up()
                progress()
            pairs_wanted = pairs.first
            while True:
                for number in range(len(samples[base]), pairs_wanted):
                    for turn, trial in enumerate((base, head) if number % 2 == 0 else (head, base)):
                        sample = trial.execute()
                        samples[trial].append(sample.model_copy(update={"place": 2 * number + turn}))
                        progress()
                request = ComparisonRequest(
                    base=base.measured(samples[base], session),
                    head=head.measured(samples[head], session),
                    precision=dict(base.workload.metrics.precision if precision is None else precision),
                    budgets=base.workload.metrics.budget,
                )
                decision = decide(request)
                if decision.more == 0 or pairs_wanted >= pairs.most:
                    return Compared(request.base, request.head, decision)
                pairs_wanted = min(pairs.most, pairs_wanted + decision.more)
        except ExecutionFailure as failure:
            return undecided(base, head, trial, trial.failed(Stage.RUN, failure.message, failure.log))
        except EvictionError as error:
            return undecided(base, head, trial, trial.skipped(str(error)))


def compare_with_stored(base: Report, head: Trial, decide: Decide, *, pairs: Pairs) -> Compared | None:
    """Execute head alone, and compare it with a stored run of base in the same environment.

    Returns None unless the counts repeat and are the same: any difference has to be measured in turns.
    """
    session = uuid.uuid4()
    with undisturbed():
        try:
            begin_session(head.tree)
            head.warm_up()
            samples = [head.execute().model_copy(update={"place": number}) for number in range(max(2, pairs.first))]
        except (ExecutionFailure, EvictionError):
            return None
    report = head.measured(samples, session)
    decision = decide(ComparisonRequest(base=base, head=report, base_stored=True))
    return Compared(base, report, decision, base_stored=True) if decision.verdict is Verdict.SAME else None


def undecided(base: Trial, head: Trial, culprit: Trial, report: Report) -> Compared:
    """Return the result of a comparison if one side cannot be measured; the other side is skipped."""
    other = (head if culprit is base else base).skipped("the other side of the comparison could not be measured")
    return Compared(report, other, None) if culprit is base else Compared(other, report, None)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Run before the host's other processes for a while, if this user may."""
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
