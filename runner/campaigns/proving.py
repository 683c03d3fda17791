"""Proves or refutes nominations, which are changes that stored runs make likely: measures their commits interleaved."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct, field

from runner.campaigns.commit_pairs import CommitNotBuiltError, CommitPairs
from runner.contract.comparison import Comparison, ComparisonRequest, MetricVerdict, Verdict
from runner.contract.nomination import Nomination, NominationList, Power
from runner.contract.proof_power import DEFAULT_RISE_PERCENT, MAX_PAIRS
from runner.contract.report import Case, Revision
from runner.errors import RequestRefused
from runner.measuring.comparison import FIRST_PAIRS_OF_PROOF, Pairs
from runner.reporting.client import Service

MIN_PROOF_SECONDS = 120.0
"""The shortest default time for proofs, in seconds."""
PROOF_SHARE = 0.1
"""The default time for proofs as a share of the command's time, if this is longer."""
MIN_COMPARISON_SECONDS = 5.0
"""With less time left, no further comparison begins, however fast the program is."""
MAX_MIDDLE_ATTEMPTS = 3
"""How many commits near the middle of a range are tried, because some may not build."""
MAX_UNEXPLAINED_SHARE = 0.25
"""The newer half of a range is searched only if the change in the older half leaves more than this share of the range's
change unexplained. A part of this share is therefore worth proving."""
TIME_RESERVE = 1.25
"""Factor of the time that the first pairs are expected to take: their duration varies."""
LIKELY_SHARE = 0.5
"""The smallest change worth proving, as a share of a likely change."""
UNLIKELY_PERCENT = DEFAULT_RISE_PERCENT / 2
"""The smallest change worth proving, in percent, if no change is likely: half of the rise for which powers are
computed, so that such a rise is not missed."""


class ProofObserver(Protocol):
    """Follows the progress of the proofs."""

    def on_proof_start(self, base: str, head: str, case: Case, seconds_left: float) -> None:
        """Called before two commits are measured interleaved; ``seconds_left`` remain for proofs."""

    def on_execution(self) -> None:
        """Called after each execution."""

    def on_proof(self, base: str, head: str, verdict: Verdict, n_pairs: int) -> None:
        """Called when the service has reached a verdict on two commits."""

    def on_failed_proof(self, base: str, head: str, reason: str) -> None:
        """Called when two commits could not be compared."""


class ProofSummary(Struct):
    """The results of the proofs."""

    n_proven: int = 0
    """The number of comparisons in which the commits differ."""
    n_refuted: int = 0
    """The number of comparisons in which the commits do not differ."""
    n_undecided: int = 0
    seconds: float = 0.0
    open_nominations: list[Nomination] = field(default_factory=list)
    """Likely changes for which there was no time."""
    powers: list[Power] = field(default_factory=list)
    """How many pairs would prove a small rise, for the noisy cases."""

    def build_document(self) -> dict[str, Any]:
        """Return the summary in the form that ``--json`` prints."""
        return {
            "proven": self.n_proven,
            "refuted": self.n_refuted,
            "undecided": self.n_undecided,
            "seconds": round(self.seconds, 1),
            "left_open": [nomination.model_dump(mode="json") for nomination in self.open_nominations],
            "powers": [power.model_dump(mode="json") for power in self.powers],
        }


class ComparisonKey(NamedTuple):
    """Identifies a comparison: the name of its case, and its two commits."""

    case_name: str
    base: str
    head: str


def compute_proof_seconds(seconds: float, command_seconds: float) -> float:
    """Return how many seconds to spend on proofs: as requested, or by default a share of the command's time.

    Parameters
    ----------
    seconds
        The requested time; negative for the default.
    command_seconds
        The duration of the command so far.
    """
    return seconds if seconds >= 0 else max(MIN_PROOF_SECONDS, PROOF_SHARE * command_seconds)


class Prover(Struct):
    """Proves or refutes the nominations of a workload on this host, in their order, until the time is over."""

    pairs: CommitPairs
    service: Service
    find_revision: Callable[[str], Revision | None]
    """Returns a commit by its hash; None if this clone lacks it."""
    list_commits_between: Callable[[str, str], Sequence[str]]
    """Returns the commits between two commits, oldest first."""
    case_names: frozenset[str]
    """Names of the cases that may be measured."""
    observer: ProofObserver
    deadline: float
    """The monotonic time at which the time for proofs ends; see also ``at_least_one``."""
    store_request: Callable[[ComparisonRequest], None] | None = None
    """Called with the runs of each proof before they are sent; stores them outside of the service as well."""
    at_least_one: bool = False
    """Whether to make one comparison even if the time for proofs is too short, because it is only a default. The time
    is then extended, so that the first pairs are complete: fewer of them would prove nothing."""
    pair_seconds: dict[str, float] = field(default_factory=dict)
    """The duration of a pair by the name of the case: first estimated from samples, then measured in comparisons."""
    comparisons: dict[ComparisonKey, Comparison | None] = field(default_factory=dict)
    """The comparisons so far; None if one of the commits does not build or cannot be measured."""
    searched_ranges: set[ComparisonKey] = field(default_factory=set)
    """The ranges that earlier commands have proven, and whose commits this command has looked at."""
    summary: ProofSummary = field(default_factory=ProofSummary)

    def prove(self, list_nominations: Callable[[], NominationList]) -> ProofSummary:
        """Prove the nominations one by one until none is open or the time is over.

        Their list is requested after each proof, which can change it. Of a range that is already proven, the commits
        are searched.
        """
        started_at = time.monotonic()
        while True:
            answer = list_nominations()
            for power in answer.powers:
                # A power is the number of pairs that would prove a small rise, None above the maximum, and their
                # duration. It serves as an estimate until a comparison is measured.
                self.pair_seconds.setdefault(power.case.name, power.seconds / (power.pairs or MAX_PAIRS))
            open_nominations = [nomination for nomination in answer.items if self._is_open(nomination)]
            if self.at_least_one and not self.comparisons and open_nominations:
                first_pairs_seconds = self._estimate_first_pairs(open_nominations[0].case.name)
                self.deadline = max(self.deadline, time.monotonic() + TIME_RESERVE * first_pairs_seconds)
            affordable_nominations = (
                nomination for nomination in open_nominations if self._has_time(nomination.case.name)
            )
            nomination = next(
                (nomination for nomination in affordable_nominations if self._has_commits(nomination)), None
            )
            if nomination is None:
                break
            case, metric, base, head = nomination.case, nomination.metric, nomination.base, nomination.head
            if nomination.proven:
                self.searched_ranges.add(ComparisonKey(case.name, base, head))
                change = float(nomination.after - nomination.before)
                self._search_range(case, metric, base, head, change=change, percent=nomination.percent)
            else:
                self._prove_range(case, metric, base, head, _choose_min_percent(nomination))
        self.summary.seconds = time.monotonic() - started_at
        self.summary.open_nominations = [nomination for nomination in open_nominations if nomination.likely]
        self.summary.powers = [
            power for power in answer.powers if power.case.name in self.case_names and power.percent is not None
        ]
        return self.summary

    def _compute_seconds_left(self) -> float:
        """Return how many seconds remain for proofs."""
        return self.deadline - time.monotonic()

    def _has_time(self, case_name: str) -> bool:
        """Return whether the time left suffices for the first pairs of a proof; True if one is due anyway."""
        if self.at_least_one and not self.comparisons:
            return True
        return self._compute_seconds_left() >= max(MIN_COMPARISON_SECONDS, self._estimate_first_pairs(case_name))

    def _estimate_first_pairs(self, case_name: str) -> float:
        """Return how many seconds the first pairs of a proof take, with one more execution of each side before them."""
        return (FIRST_PAIRS_OF_PROOF + 1) * self.pair_seconds.get(case_name, 0.0)

    def _is_open(self, nomination: Nomination) -> bool:
        """Return whether a nomination may be measured, and this command has not compared its commits yet."""
        key = ComparisonKey(nomination.case.name, nomination.base, nomination.head)
        return (
            nomination.case.name in self.case_names and key not in self.comparisons and key not in self.searched_ranges
        )

    def _has_commits(self, nomination: Nomination) -> bool:
        """Return whether this clone has both commits of a nomination."""
        return all(self.find_revision(commit) is not None for commit in (nomination.base, nomination.head))

    def _prove_range(self, case: Case, metric: str, base: str, head: str, min_percent: float | None) -> None:
        """Compare two commits; if they differ, bisect the range between them down to adjacent commits.

        Parameters
        ----------
        min_percent
            The smallest change worth proving, in percent; None for the smallest change that pairs can detect.
        """
        whole_comparison = self._compare(case, base, head, min_percent)
        change = _find_change(whole_comparison, metric)
        if change is not None:
            percent = _find_percent(whole_comparison, metric)
            self._search_range(case, metric, base, head, change=change, percent=percent)

    def _search_range(
        self, case: Case, metric: str, base: str, head: str, *, change: float, percent: float | None
    ) -> None:
        """Bisect the range between two commits that differ, down to adjacent commits.

        Parameters
        ----------
        change, percent
            By how much the metric differs, in its unit and in percent of base; None if the percentage is unknown.
        """
        commits_between = self.list_commits_between(base, head)
        if not commits_between:
            return
        # Take a commit near the middle; if it does not build, take one of its neighbours.
        middle_index = len(commits_between) // 2
        indices = sorted(range(len(commits_between)), key=lambda index: abs(index - middle_index))
        min_percent = _choose_min_percent_of_part(percent)
        for index in indices[:MAX_MIDDLE_ATTEMPTS]:
            middle = commits_between[index]
            older_half = self._compare(case, base, middle, min_percent)
            if older_half is not None:
                break
        else:  # None of them could be compared, so the change stays proven for the whole range only.
            return
        # Continue with the half that contains the change, or with both halves if each contains a part of it.
        older_change = _find_change(older_half, metric)
        if older_change is not None:
            self._prove_range(case, metric, base, middle, min_percent)
        if older_change is None or abs(change - older_change) > MAX_UNEXPLAINED_SHARE * abs(change):
            self._prove_range(case, metric, middle, head, min_percent)

    def _compare(self, case: Case, base: str, head: str, min_percent: float | None) -> Comparison | None:
        """Return the comparison of two commits, measured now if there is none yet; None if there is no result.

        There is none if no time is left, a commit is missing, does not build or fails, or the service refuses the runs.
        """
        key = ComparisonKey(case.name, base, head)
        if key in self.comparisons or not self._has_time(case.name):
            return self.comparisons.get(key)
        base_revision, head_revision = self.find_revision(base), self.find_revision(head)
        if base_revision is None or head_revision is None:
            return None
        self.observer.on_proof_start(base, head, case, self._compute_seconds_left())
        self.comparisons[key] = None  # If it fails, it is not tried again.
        request_update, started_at = {"worth_proving": min_percent}, time.monotonic()
        try:
            result = self.pairs.compare(
                case,
                base_revision,
                head_revision,
                lambda request: self.service.compare(request.model_copy(update=request_update)),
                pairs=Pairs.for_proof(self.pairs.workload),
                deadline=self.deadline,
                progress=self.observer.on_execution,
            )
            decision = result.comparison
            if decision is not None:
                request = result.build_request(self.pairs.workload.metrics.judging).model_copy(update=request_update)
                if self.store_request:
                    self.store_request(request)
                decision = self.service.prove(request)
        except CommitNotBuiltError as error:
            # Only what is wrong, without the remedy: to start the command again may not help here.
            self.observer.on_failed_proof(base, head, error.what)
            return None
        except RequestRefused as refusal:  # the next nomination may be accepted, so continue with it
            self.observer.on_failed_proof(base, head, str(refusal))
            return None
        self.comparisons[key] = decision
        n_executed_pairs = len(result.head.samples) + 1  # with the pair that warms up
        self.pair_seconds[case.name] = (time.monotonic() - started_at) / n_executed_pairs
        self._record_verdict(base, head, decision, len(result.head.samples))
        return decision

    def _record_verdict(self, base: str, head: str, decision: Comparison | None, n_pairs: int) -> None:
        """Count a verdict in the summary, and show it."""
        verdict = decision.verdict if decision else Verdict.NEEDS_MORE_RUNS
        if verdict is Verdict.CHANGED:
            self.summary.n_proven += 1
        elif verdict is Verdict.SAME:
            self.summary.n_refuted += 1
        else:
            self.summary.n_undecided += 1
        self.observer.on_proof(base, head, verdict, n_pairs)


def _choose_min_percent(nomination: Nomination) -> float | None:
    """Return the smallest change worth proving for a nomination, in percent of its base.

    Pairs that exclude half of a likely change refute it. If no change is likely, smaller changes are worth proving,
    which a few runs cannot show. The smaller the change, the more pairs it takes to exclude it. None for a likely
    change of unknown size means the smallest change that pairs can detect.
    """
    if not nomination.likely:
        return UNLIKELY_PERCENT
    return min(100.0, LIKELY_SHARE * abs(nomination.percent)) if nomination.percent else None


def _choose_min_percent_of_part(percent: float | None) -> float | None:
    """Return the smallest change worth proving in a part of a range, in percent: a share of the whole range's change.

    It is small enough to find a second, smaller change in the range. None if the whole change in percent is unknown.
    """
    return min(UNLIKELY_PERCENT, MAX_UNEXPLAINED_SHARE * abs(percent)) if percent else None


def _find_percent(comparison: Comparison | None, metric: str) -> float | None:
    """Return the change of a metric in percent; None if it is unknown."""
    verdicts: Iterable[MetricVerdict] = comparison.metrics if comparison else ()
    return next((verdict.percent for verdict in verdicts if verdict.metric == metric), None)


def _find_change(comparison: Comparison | None, metric: str) -> float | None:
    """Return the change of a metric in its unit; None unless the comparison found a change."""
    verdicts: Iterable[MetricVerdict] = comparison.metrics if comparison else ()
    changed_verdicts = (
        verdict for verdict in verdicts if verdict.metric == metric and verdict.verdict is Verdict.CHANGED
    )
    return next((float(verdict.change or 0) for verdict in changed_verdicts), None)
