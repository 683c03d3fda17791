"""The outcome of a gate as the check run of a head commit: its conclusion, its texts and its annotations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from runner.contract.gate import FindingRule, GateVerdict
from service.forges import comment_text
from service.forges.comment_links import Links
from service.forges.gate_findings import list_findings
from service.forges.gate_verdict_text import describe_gate_verdict
from service.rules.gate.verdict import GateOutcome
from service.text.markdown import make_text_plain

NAME = "Faultwatch"
MAX_SUMMARY_BYTES = 65_535
"""GitHub's limit for a summary. It is in characters, but applied to bytes here: a text never has fewer of these."""
ANNOTATIONS_PER_REQUEST = 50
"""GitHub's limit for the annotations in one request."""
_MAX_TITLE_CHARACTERS = 250

Conclusion = Literal["success", "failure", "neutral"]


@dataclass(frozen=True, slots=True)
class Check:
    """The content of a check run."""

    conclusion: Conclusion
    title: str
    summary: str
    annotations: tuple[dict[str, Any], ...]

    def split_annotations(self) -> list[tuple[dict[str, Any], ...]]:
        """Return the annotations in batches, one for each request; at least one batch, which may be empty."""
        starts = range(0, max(1, len(self.annotations)), ANNOTATIONS_PER_REQUEST)
        return [self.annotations[start : start + ANNOTATIONS_PER_REQUEST] for start in starts]


def render_check_run(outcome: GateOutcome, links: Links) -> Check:
    """Return the check run for an outcome."""
    return Check(
        conclusion=_choose_conclusion(outcome),
        title=make_text_plain(describe_gate_verdict(outcome, make_text_plain), _MAX_TITLE_CHARACTERS),
        summary=comment_text.build_summary(outcome, links, MAX_SUMMARY_BYTES),
        annotations=tuple(_list_annotations(outcome)),
    )


def _choose_conclusion(outcome: GateOutcome) -> Conclusion:
    """Return the conclusion: ``neutral``, which does not block a merge, for a passed gate that a person should see."""
    if not outcome.passed:
        return "failure"
    return "neutral" if outcome.needs_acceptance or outcome.verdict is GateVerdict.UNDECIDED else "success"


def _list_annotations(outcome: GateOutcome) -> Iterator[dict[str, Any]]:
    """Yield an annotation for each exceeded budget, at the line of its finding."""
    for finding in list_findings(outcome):
        if finding.file and finding.rule in {FindingRule.OVER_BUDGET, FindingRule.STEP_BY_STEP}:
            yield {
                "path": finding.file,
                "start_line": finding.line,
                "end_line": finding.line,
                "annotation_level": finding.level,
                "title": finding.title,
                "message": finding.message,
            }
