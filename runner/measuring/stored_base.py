"""Compares head with a stored run of base, so that base need not be measured once more."""

import uuid
from collections.abc import Callable

from runner.contract.comparison import ComparisonRequest, Verdict
from runner.contract.gate import BaseQuery
from runner.contract.report import Report, Sample
from runner.measuring.comparison import ComparisonResult, Decide, Pairs
from runner.measuring.environment_change import InvalidSession
from runner.measuring.trial import Trial
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.scheduling import raise_priority
from runner.subject.session_tree_restorer import restore_tree

MIN_SAMPLES = 2
"""The smallest number of samples of head: a single sample does not show whether the counts repeat."""


def build_base_query(base_commit: str, head: Trial) -> BaseQuery:
    """Return the query for a stored run of base that has the case, the host and the environment of head."""
    return BaseQuery(
        subject=head.subject.name,
        revision=base_commit,
        case=head.subject.case,
        host=head.host.name,
        environment=head.environment.hash,
    )


def compare_with_stored_base(
    base: Report,
    head: Trial,
    decide: Decide,
    *,
    pairs: Pairs,
    n_cases: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> ComparisonResult | None:
    """Execute only head, and compare it with a stored run of base in the same environment.

    Return None unless the counts repeat and equal those of base: any difference has to be measured interleaved. Return
    None as well if the program fails, or the environment changes. For the parameters, see
    :func:`runner.measuring.comparison.compare_interleaved_trials`.
    """
    session = uuid.uuid4()
    samples: list[Sample] = []
    n_target_samples = max(MIN_SAMPLES, pairs.min_pairs)
    with raise_priority():
        try:
            restore_tree(head.tree)
            head.warm_up()
            progress()
            while True:
                for number in range(len(samples), n_target_samples):
                    samples.append(head.execute().model_copy(update={"place": number}))
                    progress()
                report = head.build_measured_report(samples, session)
                # The judging of noisy metrics is left out: a stored run decides only counts. So are budgets, because
                # any difference from the stored run is measured interleaved.
                request = ComparisonRequest(
                    base=base, head=report, cases=n_cases, max_pairs=pairs.max_pairs, base_stored=True
                )
                decision = decide(request)
                if decision.verdict is Verdict.SAME:
                    return ComparisonResult(base, report, decision, base_stored=True, max_pairs=pairs.max_pairs)
                if decision.remaining_pairs == 0 or n_target_samples >= pairs.max_pairs:
                    return None
                n_target_samples = min(pairs.max_pairs, n_target_samples + decision.remaining_pairs)
        except (ExecutionFailure, InvalidSession):
            return None
