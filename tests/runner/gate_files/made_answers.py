"""Gates with their answers, whose names and messages a stranger has chosen."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from runner.contract.comparison import Comparison, MetricVerdict, Side, Verdict
from runner.contract.gate import FindingRule, GateAnswer, GateCase, GateFinding, GateReport, GateVerdict
from runner.contract.report import Case, Report, Revision
from tests.runner import sample_reports

BASE, HEAD = "ba5e" * 10, "4ead" * 10
NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
HOSTILE = "</testcase>]]>&#0; @octo-org/all [x](javascript:1) <script> \x00\x1b[31m\u202e\ufffe\n::error::\n/close {0}"


def case(name: str = "w", parameter: str | None = None) -> GateCase:
    """Return a case, measured for a minute."""
    sides = {}
    for number, (side, commit) in enumerate((("base", BASE), ("head", HEAD))):
        changes: dict[str, Any] = {
            "revision": Revision(commit=commit, committed_at=NOW),
            "case": Case(workload=name, definition="0" * 16, parameters={} if parameter is None else {"p": parameter}),
            "started_at": NOW + timedelta(seconds=30 * number),
            "finished_at": NOW + timedelta(seconds=30 * number + 30.25),
        }
        sides[side] = Report.model_validate(sample_reports.report(number).model_dump() | changes)
    return GateCase(**sides)


def comparison(change: int = 1) -> Comparison:
    """Return a comparison of a metric that decides."""
    sides = [Side(level=level, low=level, high=level, n=30, n_at_level=30) for level in (1000, 1000 + change)]
    judged = MetricVerdict(
        metric="minor-faults",
        verdict=Verdict.CHANGED,
        counts=True,
        rule="exact",
        base=sides[0],
        head=sides[1],
        change=change,
        percent=0.1,
        direction="regression",
        bounds=None,
        threshold=0,
        sentence="",
    )
    return Comparison(verdict=Verdict.CHANGED, remaining_pairs=0, metrics=(judged,), settings=())


def finding(of: GateCase | None, **changes: Any) -> GateFinding:
    """Return a finding about a case, or about the gate."""
    fields = {
        "rule": FindingRule.OVER_BUDGET,
        "level": "failure",
        "case": of.head.case.name if of else "",
        "metric": "minor-faults",
        "title": "w: minor faults",
        "message": "+1 fault, budget 0.",
        "file": "bench/workload.toml",
        "line": 12,
    }
    return GateFinding.model_validate(fields | changes)


def gate(*cases: GateCase, findings: tuple[GateFinding, ...] = ()) -> tuple[GateReport, GateAnswer]:
    """Return a gate, and the answer with these findings."""
    passed = not any(one.level == "failure" for one in findings)
    answer = GateAnswer(
        verdict=GateVerdict.CHANGED if passed else GateVerdict.REGRESSED,
        passed=passed,
        sentence="",
        summary="**Worse**\n",
        comparisons=tuple(comparison() for _ in cases),
        findings=findings,
    )
    return GateReport(base=BASE, head=HEAD, cases=cases), answer


@st.composite
def gates(draw: st.DrawFn) -> tuple[GateReport, GateAnswer]:
    """Return any gate, with any text."""
    text = st.text(max_size=30) | st.just(HOSTILE)
    cases = [case("w", draw(text)) for _ in range(draw(st.integers(0, 2)))]
    found = [
        finding(
            draw(st.sampled_from([None, *cases])),
            rule=draw(st.sampled_from(FindingRule)),
            level=draw(st.sampled_from(["failure", "warning", "notice"])),
            metric=draw(text),
            title=draw(text),
            message=draw(text),
            file=draw(st.sampled_from(["", "a b/[1]/wörk%.toml"])),
            line=draw(st.integers(1, 10**6)),
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    return gate(*cases, findings=tuple(found))
