"""Compares any two revisions, runs, environments or hosts: one table of all cases and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from flask import redirect, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from runner.contract import ComparisonRequest, MetricVerdict, Verdict
from runner.contract.metrics import MetricView, list_shown_metrics
from service.rules.access.scope import Scope
from service.rules.comparison import comparison_verdict
from service.rules.comparison.compare_stored_runs import ComparedMetric
from service.rules.comparison.compare_stored_runs import compare_pairs as compare_all
from service.rules.comparison.run_pairing import Matched, Pair, match_runs
from service.rules.imported_runs import is_imported
from service.rules.series.cause import list_setting_changes
from service.schemas.history import SettingChange, View
from service.store import cases, environments, hosts
from service.store.engine.versioned_cache import VersionedCache
from service.store.revisions import named_commits, refs
from service.store.revisions.named_commits import NamedCommit
from service.store.runs import compared_runs, runs
from service.store.series import points
from service.text import commands_to_copy
from service.web.access import authorization
from service.web.app_resources import get_database
from service.web.pages import evidence, unmeasured
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms
from service.web.rendering.change_counts import ChangeCounts
from service.web.rendering.compared_cases import ComparedCase, count_changes, group_cases
from service.web.rendering.comparison_rows import Sort, build_row, build_table, sort_rows
from service.web.rendering.metric_order import rank_metric
from service.web.rendering.page_formats import Page, page, read_offset

bp = make_page_blueprint("compare")

_FIRST_METRICS = list_shown_metrics(MetricView.COMPARISON)
_MAX_CASES = 100
_MAX_SUGGESTIONS = 8
_MAX_REFS = 200
"""Largest number of tags and branches with which the input boxes are completed."""
_MAX_COMMANDS = 5
_ID_OF_NO_RUN = UUID(int=0)


_MAX_CACHED_METRICS = 50_000
"""Largest number of metrics in all cached comparisons. One comparison of a thousand cases can have 20,000."""
_MAX_CACHED_SECONDS = 300.0
"""A cached comparison expires, because retention can delete samples of old runs without a new version."""


class SettingDifference(View):
    """The difference between two environments, which some pairs of runs share."""

    environment_base: str
    environment_head: str
    cases: int
    """The number of cases in which the environments differ, on however many hosts."""
    settings: list[SettingChange]


class Comparison(NamedTuple):
    """The result of a comparison, in the order in which it is shown."""

    rows: Sequence[ComparedMetric]
    settings: Sequence[SettingDifference]
    matched: Matched
    cases: Sequence[ComparedCase]
    """The rows by case and host."""
    counts: ChangeCounts
    """How many of all cases changed, also of those that are not shown."""


_NO_COMPARISON = Comparison(
    rows=(),
    settings=(),
    matched=Matched(pairs=(), only_base=(), only_head=()),
    cases=(),
    counts=ChangeCounts(worse=0, better=0, same=0),
)
_comparisons: VersionedCache[Comparison] = VersionedCache(
    _MAX_CACHED_METRICS, lambda comparison: len(comparison.rows), _MAX_CACHED_SECONDS
)


@dataclass(frozen=True, slots=True)
class ComparisonQuery:
    """The comparison that the address requests."""

    base: str
    head: str
    subject: str
    host: str
    workload: str
    metric: str
    show: Literal["all", "changed"]
    sort: Sort
    offset: int

    @classmethod
    def from_query(cls) -> ComparisonQuery:
        """Read the query, ignoring invalid values."""
        text = {name: request.args.get(name, "").strip() for name in ("base", "head", "subject", "host", "workload")}
        sort: Sort = "size"
        if request.args.get("sort") == "case":
            sort = "case"
        elif request.args.get("sort") == "metric":
            sort = "metric"
        return cls(
            **text,
            metric=request.args.get("metric") or "judged",
            show="changed" if request.args.get("show") == "changed" else "all",
            sort=sort,
            offset=read_offset(),
        )

    @property
    def metrics(self) -> list[str] | None:
        """The requested metrics; None for all."""
        if self.metric == "all":
            return None
        return _FIRST_METRICS if self.metric == "judged" else [self.metric]


@bp.get("/compare/<base>...<head>")
def between(base: str, head: str) -> ResponseReturnValue:
    """Redirect the short address of a comparison to the long one."""
    other_arguments = {name: value for name, value in request.args.items() if name not in {"base", "head"}}
    return redirect(f"{url_for('compare.show')}?{urlencode({'base': base, 'head': head, **other_arguments})}")


@page(bp, "/compare")
def show() -> Page:
    """Show a comparison; without two sides, the newest runs to choose from."""
    # The sides, their comparison, and the completions of the form.
    query = ComparisonQuery.from_query()
    with get_database().reading() as session:
        found_sides = [compared_runs.find_sides(session, text, query.subject) for text in (query.base, query.head)]
        base_choices, head_choices = compared_runs.narrow_to_common_subject(*found_sides)
        sides = {"base": base_choices, "head": head_choices}
        has_two_sides = all(len(choices) == 1 for choices in sides.values())
        comparison = _NO_COMPARISON
        unmeasured_sides = {}
        if has_two_sides:
            comparison = _find_comparison(session, query, sides["base"][0], sides["head"][0])
            # If a pair was compared, both sides are measured.
            for side, choices in sides.items() if not comparison.matched.pairs else ():
                neighbours = unmeasured.find_unmeasured_side(session, choices[0], query.host, query.workload)
                if neighbours is not None:
                    unmeasured_sides[side] = neighbours
        rows, settings, matched_runs, compared_cases, counts = comparison
        profile_context = evidence.find_comparison_profiles(session, matched_runs.pairs)
        ref_list = refs.list_refs(session, query.subject or None, _MAX_REFS)
        completions = {"workloads": cases.list_workloads(session), "hosts": hosts.list_host_names(session)}
        suggested_commits = [] if query.base or query.head else _list_suggested_commits(session, query.subject)
        first_commits = {
            side: named_commits.describe_first_commit(session, getattr(query, side), query.subject)
            for side, choices in sides.items()
            if not choices
        }
        command = _build_commands(session, sides["base"][0], sides["head"][0], comparison) if has_two_sides else ""
    # The cases of this page.
    offset, limit = (0, len(compared_cases)) if "all" in request.args else (query.offset, _MAX_CASES)
    page_cases = compared_cases[offset : offset + limit]
    paging = {"total": len(compared_cases), "limit": limit, "offset": offset}
    return Page(
        "compare.html",
        {
            "query": query,
            "sides": sides,
            "refs": ref_list,
            **completions,
            "unmeasured": unmeasured_sides,
            "may_measure": authorization.find_caller().may(Scope.ORDER),
            "author": forms.find_likely_author(),
            "compared": page_cases,
            "place": paging,
            # Built once: url_for in each row would take a third of the page's time.
            "run_address": url_for("run.show", run_id=_ID_OF_NO_RUN).removesuffix(str(_ID_OF_NO_RUN)),
            "series_address": url_for("series.show", series_id=0).removesuffix("0"),
            "counts": counts,
            "settings": settings,
            "matched": matched_runs,
            "compared_hosts": _list_hosts(matched_runs.pairs),
            "n_unmatched": len(
                {(run.subject, run.case_key) for run in (*matched_runs.only_base, *matched_runs.only_head)}
            ),
            "is_paired_by_host": has_two_sides and not _has_chosen_host(sides["base"][0], sides["head"][0]),
            "suggested": suggested_commits,
            "first_commits": first_commits,
            "command": command,
            **profile_context,
            "metrics": sorted({"judged", "all", query.metric, *_FIRST_METRICS}, key=_rank_choice),
        },
        document=lambda: {
            "base": sides["base"],
            "head": sides["head"],
            "environments": settings,
            "rows": [build_row(row) for case in page_cases for row in case.metrics],
            **paging,
        },
        table=lambda: build_table(rows),
    )


def _list_suggested_commits(session: Session, subject: str) -> list[NamedCommit]:
    """Return the newest measured commits of a subject; of the subject with the newest run if none is given."""
    if not subject:
        newest_runs = runs.list_page(session, runs.RunFilter(), 1, 0).items
        subject = newest_runs[0].subject if newest_runs else ""
    return named_commits.list_newest_measured_commits(session, subject, _MAX_SUGGESTIONS)


def _build_commands(
    session: Session, base: compared_runs.Side, head: compared_runs.Side, comparison: Comparison
) -> str:
    """Return the commands that measure both commits again, interleaved, in the order of the table.

    Empty unless two commits are compared that a host can measure: results of another tool have no workload file.
    """
    if {base.kind, head.kind} != {"revision"} or head.subject is None:
        return ""
    matched_runs = comparison.matched
    runs_of_both = [
        *(row.pair.head[0] for row in comparison.rows),
        *(run for pair in matched_runs.pairs for run in pair.head),
        *matched_runs.only_base,
        *matched_runs.only_head,
    ]
    settings = environments.find_settings(session, {run.environment for run in runs_of_both})
    workloads = dict.fromkeys(
        run.case.partition("[")[0] for run in runs_of_both if not is_imported(settings[run.environment])
    )
    return commands_to_copy.build_compare_commands(base.key, head.key, list(workloads)[:_MAX_COMMANDS])


def _find_comparison(session: Session, query: ComparisonQuery, *sides: compared_runs.Side) -> Comparison:
    """Return a comparison. A comparison of two commits is cached, because people sort it and turn its pages."""
    version = compared_runs.read_version(session, sides)
    if version is None:  # The sides are not two commits.
        return _compare_sides(session, query, *sides)
    key = (sides, query.host, query.workload, query.metric, query.show, query.sort)
    return _comparisons.get_or_compute_value(session, key, version, lambda: _compare_sides(session, query, *sides))


def _compare_sides(
    session: Session, query: ComparisonQuery, base: compared_runs.Side, head: compared_runs.Side
) -> Comparison:
    """Return the comparison of the stored runs of two sides."""
    sides = [compared_runs.list_runs(session, side, query.host, query.workload) for side in (base, head)]
    matched_runs = match_runs(*(side.runs for side in sides), by_host=not _has_chosen_host(base, head))
    numbers = {run.number for pair in matched_runs.pairs for run in (*pair.base, *pair.head)}
    levels = sides[0].levels | sides[1].levels
    readings = compared_runs.read_readings(session, numbers, query.metrics, levels)
    drifts_between = compared_runs.map_drifts_between(session, matched_runs.pairs, readings)
    # With branches, the positions of two commits do not say which drifts lie between them, but their histories do.
    histories = compared_runs.map_histories(session, matched_runs.pairs) if drifts_between else {}
    interleaved_verdicts = _compare_interleaved_samples(session, matched_runs, base, head)
    judged_series = compared_runs.list_judged_series(session, matched_runs.pairs, readings)
    rows = compare_all(matched_runs.pairs, readings, drifts_between, interleaved_verdicts, histories, judged_series)
    rows = sort_rows(rows, query.sort)
    counts = count_changes(rows)  # Of all cases: what is shown does not change the result.
    if query.show == "changed":
        rows = [row for row in rows if row.decision.verdict is Verdict.CHANGED]
    differences = _list_setting_differences(session, matched_runs.pairs)
    return Comparison(rows, differences, matched_runs, group_cases(rows, by_host=True), counts)


def _has_chosen_host(*sides: compared_runs.Side) -> bool:
    """Return whether the reader chose a host, by naming a run or a host: the sides may then have different hosts."""
    return any(side.kind in {"run", "host"} for side in sides)


def _compare_interleaved_samples(
    session: Session, matched_runs: Matched, *sides: compared_runs.Side
) -> dict[str, MetricVerdict]:
    """Judge two runs of one session by their pairs of samples; empty for runs of different sessions."""
    if {side.kind for side in sides} != {"run"} or not matched_runs.pairs:
        return {}
    base, head = [runs.find_report(session, UUID(side.key)) for side in sides]
    if not base or not head or base.session is None or base.session != head.session or base.host != head.host:
        return {}
    return {
        metric_verdict.metric: metric_verdict
        for metric_verdict in comparison_verdict.decide_comparison(ComparisonRequest(base=base, head=head)).metrics
    }


def _list_setting_differences(session: Session, pairs: Sequence[Pair]) -> list[SettingDifference]:
    """Return in which settings the environments of the pairs differ."""
    cases_by_environments: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for pair in pairs:
        newest_base, newest_head = pair.base[0], pair.head[0]  # all runs of a side have the same environment
        environments = newest_base.environment, newest_head.environment
        if newest_base.environment != newest_head.environment:
            cases_by_environments.setdefault(environments, set()).add((newest_head.subject, newest_head.case_key))
    return [
        SettingDifference(
            environment_base=base,
            environment_head=head,
            cases=len(cases_of_both),
            settings=list_setting_changes(points.find_settings(session, base), points.find_settings(session, head)),
        )
        for (base, head), cases_of_both in cases_by_environments.items()
    ]


def _list_hosts(pairs: Sequence[Pair]) -> list[str]:
    """Return the hosts of the compared runs, by name."""
    return sorted({runs_of_side[0].host for pair in pairs for runs_of_side in (pair.base, pair.head)})


def _rank_choice(name: str) -> tuple[int, tuple[int, str]]:
    """Return the sort key of a choice of metrics: first ``judged`` and ``all``, then each metric in its usual order."""
    return {"judged": 0, "all": 1}.get(name, 2), rank_metric(name)
