"""Any two revisions, runs, environments or hosts side by side: one table over all cases and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal
from urllib.parse import urlencode
from uuid import UUID

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from runner.contract import CATALOGUE, ComparisonRequest, MetricVerdict, Verdict, metric
from service import gate
from service.cause import knob_changes
from service.compare import Matched, Measured, Pair, Readings, Sides, judge, match
from service.current import database
from service.pages import commands, evidence
from service.pages.order import rank
from service.pages.twins import Page, Table, page
from service.store import compare, points, runs
from service.views import KnobChange, View

bp = Blueprint("compare", __name__)

_JUDGED = [name for name, entry in CATALOGUE.items() if entry.judged]
_COST = ["sys-percent", "elapsed", "throughput", "scaling-efficiency"]
"""What faults cost: shown with the metrics that are judged, before all others."""
_ROWS = 100
_SUGGESTED = 8
_COMMANDS = 5
_NOTHING = Readings(())


class Row(View):
    """One metric of one case on both sides."""

    subject: str
    case: str
    title: str
    unit: str
    host_base: str
    host_head: str
    revision_base: str
    revision_head: str
    run_base: UUID
    run_head: UUID
    series_base: int | None
    series_head: int | None
    verdict: MetricVerdict


class KnobDifference(View):
    """How the environments of some pairs of runs differ."""

    environment_base: str
    environment_head: str
    cases: int
    knobs: list[KnobChange]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for."""

    base: str
    head: str
    subject: str
    host: str
    workload: str
    metric: str
    show: Literal["all", "changed"]
    sort: Literal["size", "case", "metric"]

    @classmethod
    def from_query(cls) -> Asked:
        """Read the query; what it cannot mean is left out."""
        text = {name: request.args.get(name, "").strip() for name in ("base", "head", "subject", "host", "workload")}
        sort = request.args.get("sort")
        return cls(
            **text,
            metric=request.args.get("metric") or "judged",
            show="changed" if request.args.get("show") == "changed" else "all",
            sort="case" if sort == "case" else "metric" if sort == "metric" else "size",
        )

    @property
    def metrics(self) -> list[str] | None:
        """The metrics asked for; None for all."""
        if self.metric == "all":
            return None
        return [*_JUDGED, *_COST] if self.metric == "judged" else [self.metric]


@bp.get("/compare/<base>...<head>")
def between(base: str, head: str) -> ResponseReturnValue:
    """Lead the short address of a comparison to the long one."""
    more = {name: value for name, value in request.args.items() if name not in {"base", "head"}}
    return redirect(f"{url_for('compare.show')}?{urlencode({'base': base, 'head': head, **more})}")


@page(bp, "/compare")
def show() -> Page:
    """Show a comparison, or what can be compared."""
    asked = Asked.from_query()
    with database().reading() as session:
        found = {side: compare.find(session, getattr(asked, side), asked.subject) for side in ("base", "head")}
        chosen = all(len(sides) == 1 for sides in found.values())
        rows, knobs, matched = _compared(session, asked, *(sides[0] for sides in found.values())) if chosen else _none()
        profiled = evidence.of_comparison(session, matched.pairs)
        suggested = [] if chosen else runs.page(session, runs.RunFilter(), _SUGGESTED, 0).items
    return Page(
        "compare.html",
        {
            "asked": asked,
            "found": found,
            "rows": rows if "all" in request.args else rows[:_ROWS],
            "total": len(rows),
            "counts": {verdict: sum(row.verdict.verdict is verdict for row in rows) for verdict in Verdict},
            "knobs": knobs,
            "matched": matched,
            "suggested": suggested,
            "command": _command([*found["base"], *found["head"]], matched) if chosen else "",
            **profiled,
            "metrics": sorted({"judged", "all", asked.metric, *_JUDGED, *_COST}, key=_choice),
        },
        document=lambda: {"base": found["base"], "head": found["head"], "environments": knobs, "rows": rows},
        table=lambda: _table(rows),
    )


def _command(sides: Sequence[compare.Side], matched: Matched) -> str:
    """Return what measures both commits again in turns; nothing where something else is compared."""
    base, head = sides
    if {base.kind, head.kind} != {"revision"} or head.subject is None:
        return ""
    runs_of_both = [*(run for pair in matched.pairs for run in pair.head), *matched.only_base, *matched.only_head]
    workloads = dict.fromkeys(run.case.partition("[")[0] for run in runs_of_both)
    return commands.compare(base.key, head.key, head.subject, list(workloads)[:_COMMANDS])


def _none() -> tuple[list[Row], list[KnobDifference], Matched]:
    return [], [], Matched((), (), ())


def _compared(
    session: Session, asked: Asked, base: compare.Side, head: compare.Side
) -> tuple[list[Row], list[KnobDifference], Matched]:
    sides = [compare.runs(session, side, asked.host, asked.workload) for side in (base, head)]
    matched = match(*sides, by_host=not {base.kind, head.kind} & {"run", "host"})
    turns = _in_turns(session, matched, base, head)
    rows = [row for row in _rows(session, asked, matched, turns) if asked.show == "all" or _is_changed(row)]
    return sorted(rows, key=_SORTS[asked.sort]), _knobs(session, matched.pairs), matched


def _in_turns(session: Session, matched: Matched, *sides: compare.Side) -> dict[str, MetricVerdict]:
    """Judge two runs of one session by their pairs of samples."""
    if {side.kind for side in sides} != {"run"} or not matched.pairs:
        return {}
    base, head = (runs.report(session, UUID(side.key)) for side in sides)
    if not base or not head or base.session is None or base.session != head.session or base.host != head.host:
        return {}
    return {one.metric: one for one in gate.decide(ComparisonRequest(base=base, head=head)).metrics}


def _rows(session: Session, asked: Asked, matched: Matched, turns: dict[str, MetricVerdict]) -> list[Row]:
    wanted = {run.run_id for pair in matched.pairs for run in (*pair.base, *pair.head)}
    values = compare.values(session, wanted, asked.metrics)
    by_run: dict[UUID, list[str]] = {}
    for run_id, name in values:
        by_run.setdefault(run_id, []).append(name)
    drifts = compare.drifts(session, {value.series_id for value in values.values()})
    noisy = sum(not metric(name).judged for _, name in values) or 1
    rows = []
    for pair in matched.pairs:
        for name in dict.fromkeys(name for run in (*pair.base, *pair.head) for name in by_run.get(run.run_id, ())):
            (left, base), (right, head) = (_pooled(values, side, name) for side in (pair.base, pair.head))
            found = drifts.get(left, []) if left == right and left is not None else []
            verdict = turns.get(name) or judge(pair, Sides(name, base, head), found, gate.ERROR / noisy)
            if base.samples or head.samples:
                rows.append(_row(pair, left, right, verdict))
    return rows


def _pooled(
    values: dict[tuple[UUID, str], compare.Values], side: Sequence[Measured], name: str
) -> tuple[int | None, Readings]:
    found = [values[run.run_id, name] for run in side if (run.run_id, name) in values]
    if not found:
        return None, _NOTHING
    samples = tuple(sample for value in found for sample in value.readings.samples)
    return found[0].series_id, Readings(samples, frozenset().union(*(value.readings.statuses for value in found)))


def _row(pair: Pair, left: int | None, right: int | None, verdict: MetricVerdict) -> Row:
    base, head = pair.base[0], pair.head[0]
    known = metric(verdict.metric)
    return Row(
        subject=head.subject,
        case=head.case,
        title=known.title,
        unit=known.unit,
        host_base=base.host,
        host_head=head.host,
        revision_base=base.revision,
        revision_head=head.revision,
        run_base=base.run_id,
        run_head=head.run_id,
        series_base=left,
        series_head=right,
        verdict=verdict,
    )


def _knobs(session: Session, pairs: Sequence[Pair]) -> list[KnobDifference]:
    seen: dict[tuple[str, str], int] = {}
    for pair in pairs:
        key = pair.base[0].environment, pair.head[0].environment
        if key[0] != key[1]:
            seen[key] = seen.get(key, 0) + 1
    return [
        KnobDifference(
            environment_base=base,
            environment_head=head,
            cases=count,
            knobs=knob_changes(points.knobs(session, base), points.knobs(session, head)),
        )
        for (base, head), count in seen.items()
    ]


def _is_changed(row: Row) -> bool:
    return row.verdict.verdict is Verdict.CHANGED


def _size(row: Row) -> tuple[Any, ...]:
    """Order by verdict, then by the size of the change: from zero to anything is the largest."""
    one = row.verdict
    order = (Verdict.CHANGED, Verdict.NEEDS_MORE_RUNS, Verdict.SAME).index(one.verdict)
    size = 0.0 if not one.change else inf if one.percent is None else abs(one.percent)
    return order, not one.counts, -size, rank(one.metric), row.case


_SORTS = {
    "size": _size,
    "case": lambda row: (row.case, row.host_head, rank(row.verdict.metric)),
    "metric": lambda row: (rank(row.verdict.metric), *_size(row)),
}


def _choice(name: str) -> tuple[int, tuple[int, str]]:
    return {"judged": 0, "all": 1}.get(name, 2), rank(name)


def _table(rows: Sequence[Row]) -> Table:
    columns = (
        *("subject", "case", "host_base", "host_head", "revision_base", "revision_head", "metric", "unit", "verdict"),
        *("base", "base_low", "base_high", "base_samples", "head", "head_low", "head_high", "head_samples"),
        *("change", "percent", "rule", "why"),
    )
    return Table(
        columns,
        (
            (
                *(row.subject, row.case, row.host_base, row.host_head, row.revision_base, row.revision_head),
                *(one.metric, row.unit, one.verdict.value),
                *(one.base.level, one.base.low, one.base.high, one.base.n),
                *(one.head.level, one.head.low, one.head.high, one.head.n),
                *(one.change, one.percent, one.rule, one.sentence),
            )
            for row in rows
            for one in [row.verdict]
        ),
    )
