"""Renders the outcome of a gate as the check run of a head commit. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from runner.contract.gate import GateVerdict
from service.github import comment_text
from service.github.wording import change, metric_name, since, verdict
from service.rules.gate.verdict import CaseOutcome, GateOutcome, GateState
from service.text.markdown import plain

NAME = "Faultwatch"
LIMIT = 65_535
"""GitHub's limit of a summary in characters, applied to bytes here, which are never fewer."""
BATCH = 50
"""Most annotations of one request."""
_LONGEST_TITLE = 250

Conclusion = Literal["success", "failure", "neutral"]


@dataclass(frozen=True, slots=True)
class Check:
    """The content of a check run."""

    conclusion: Conclusion
    title: str
    summary: str
    annotations: tuple[dict[str, Any], ...]

    def batches(self) -> list[tuple[dict[str, Any], ...]]:
        """Return the annotations of each request; at least one batch, which may be empty."""
        starts = range(0, max(1, len(self.annotations)), BATCH)
        return [self.annotations[start : start + BATCH] for start in starts]


def render(outcome: GateOutcome, links: comment_text.Links) -> Check:
    """Return the check run for an outcome."""
    return Check(
        conclusion=_conclusion(outcome),
        title=plain(verdict(outcome, plain), _LONGEST_TITLE),
        summary=comment_text.summary(outcome, links, LIMIT),
        annotations=tuple(entry for case in outcome.cases for entry in _annotations(case, outcome)),
    )


def _conclusion(outcome: GateOutcome) -> Conclusion:
    if not outcome.passed:
        return "failure"
    accepted = outcome.state in {GateState.OVER, GateState.CREPT}
    return "neutral" if accepted or outcome.verdict is GateVerdict.UNDECIDED else "success"


def _annotations(case: CaseOutcome, outcome: GateOutcome) -> Iterator[dict[str, Any]]:
    """Annotate the budgets that are exceeded, at the lines of the workload file that set them."""
    if not case.case.file or case.comparison is None:
        return
    for row in case.metrics:
        metric_verdict = row.metric_verdict
        if metric_verdict.over or row.crept is not None:
            worse = change(metric_verdict) if metric_verdict.over else since(row)
            line = case.case.lines.get(metric_verdict.metric, 1)
            yield {
                "path": case.case.file,
                "start_line": line,
                "end_line": line,
                "annotation_level": "notice" if outcome.passed else "failure",
                "title": plain(f"{case.name}: {metric_name(metric_verdict, plain)}"),
                "message": plain(f"{worse}, budget {metric_verdict.budget}. {metric_verdict.sentence}", 1_000),
            }
