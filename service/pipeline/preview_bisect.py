"""Computes what a bisect will search and what it will cost, before it is ordered."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Report, get_metric
from runner.contract.variation_causes import suggest_remedy
from service.pipeline.check_bisect_form import CheckedBisect
from service.rules.bisect import cost
from service.rules.bisect.cost import BisectCost
from service.rules.bisect.count_variation import MAX_RUNS_PER_END, compute_half_range, has_varying_count
from service.rules.bisect.question import Observation
from service.schemas.history import Candidate, Number
from service.store.models import Subject
from service.store.revisions import revisions
from service.store.runs import range_runs
from service.store.runs.range_runs import CaseOnHost, Durations


@dataclass(frozen=True, slots=True)
class BisectPreview:
    """The bisect that a form will order.

    Attributes
    ----------
    good, bad
        The ends of the range.
    levels
        The newest level at each end; None if the end was not measured.
    commits
        The number of commits that ``bad`` contains, but not ``good``.
    measured
        How many of these commits the host has measured before; runs in its current environment are not repeated.
    host
        The host that the form names; if none, the host that measured the case last.
    half_range, remedy
        By how much a count varies in the newest runs on the host, and how to make it repeat; None if it repeats.
    """

    good: Candidate
    bad: Candidate
    levels: tuple[Number | None, Number | None]
    commits: int
    measured: int
    host: str
    unit: str
    durations: Durations
    cost: BisectCost
    half_range: Number | None = None
    remedy: str = ""

    patience: int = MAX_RUNS_PER_END
    """A search for a varying count gives up after this many runs of each end."""

    @property
    def is_futile(self) -> bool:
        """Whether both ends were measured and have the same level."""
        good_level, bad_level = self.levels
        return good_level is not None and good_level == bad_level


def preview_bisect(session: Session, checked_bisect: CheckedBisect) -> BisectPreview | None:
    """Return the preview of the bisect that a valid form orders.

    None if no run of the case can be measured again.
    """
    # Find the host that measured the case last.
    values = checked_bisect.values
    subject, metric_name = values["subject"], values["metric"]
    case = CaseOnHost(subject, values["case"], values.get("host", ""))
    reports = range_runs.list_newest_reports(session, case)
    if not reports:
        return None
    host = reports[0].host.name  # the newest report comes first
    reports = [report for report in reports if report.host.name == host]
    # Read the levels of both ends.
    subject_id = session.scalars(select(Subject.id).where(Subject.name == subject)).one()
    (good,) = revisions.list_candidates(session, subject_id, [values["good"]])
    (bad,) = revisions.list_candidates(session, subject_id, [values["bad"]])
    case = case._replace(host=host)
    levels = range_runs.read_levels(session, case, metric_name, [good.commit, bad.commit])
    # Find out how long a run takes, and whether the count repeats.
    durations = range_runs.read_durations(reports)
    runs = [_build_observation(report, metric_name) for report in reports]
    # Expect the search to treat the count in the same way: if it varies in the newest runs, it also varies at other
    # commits.
    is_varying = get_metric(metric_name).exact and has_varying_count(runs, float(values.get("min_difference") or 0))
    return BisectPreview(
        good=good,
        bad=bad,
        levels=(levels.get(good.commit), levels.get(bad.commit)),
        commits=len(checked_bisect.range),
        measured=len(checked_bisect.range & range_runs.list_measured_commits(session, case, metric_name)),
        host=case.host,
        unit=get_metric(metric_name).unit,
        durations=durations,
        half_range=compute_half_range(runs) if is_varying else None,
        remedy=_suggest_remedy(reports[0]) if is_varying else "",
        cost=cost.estimate_cost(
            len(checked_bisect.range),
            exact=get_metric(metric_name).exact and not is_varying,
            build_seconds=durations.build,
            measure_seconds=durations.measure,
        ),
    )


def _suggest_remedy(report: Report) -> str:
    return suggest_remedy(report.environment.settings, is_server=any(sample.windows for sample in report.samples))


def _build_observation(report: Report, metric_name: str) -> Observation:
    values = tuple(report.list_values(metric_name))
    return Observation(commit=report.revision.commit, value=values[0] if values else None, samples=values)
