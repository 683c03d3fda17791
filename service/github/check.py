"""The check run of a head commit: what the comment says, in the form that a check run has. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from service.github import comment
from service.github.wording import change, metric_name, since, verdict
from service.rules.gate.verdict import Finding, Judged, State
from service.text.markdown import plain

NAME = "Faultwatch"
LIMIT = 65_535
"""GitHub's limit of a summary; bytes are counted here, which are never fewer than characters."""
BATCH = 50
"""Annotations that one request may carry."""
_LONGEST_TITLE = 250

Conclusion = Literal["success", "failure", "neutral"]


@dataclass(frozen=True, slots=True)
class Check:
    """What a check run is given."""

    conclusion: Conclusion
    title: str
    summary: str
    annotations: tuple[dict[str, Any], ...]

    def batches(self) -> list[tuple[dict[str, Any], ...]]:
        """Return the annotations in as many parts as it takes requests; one part, and be it empty, at least."""
        starts = range(0, max(1, len(self.annotations)), BATCH)
        return [self.annotations[start : start + BATCH] for start in starts]


def check(finding: Finding, links: comment.Links) -> Check:
    """Return the check run that tells what was found."""
    return Check(
        conclusion=_conclusion(finding),
        title=plain(verdict(finding, plain), _LONGEST_TITLE),
        summary=comment.summary(finding, links, LIMIT),
        annotations=tuple(entry for one in finding.cases for entry in _annotations(one, finding)),
    )


def _conclusion(finding: Finding) -> Conclusion:
    if not finding.passed:
        return "failure"
    neutral = {State.OVER, State.CREPT, State.BASE_FAILED, State.UNDECIDED, State.EMPTY}
    return "neutral" if finding.state in neutral else "success"


def _annotations(one: Judged, finding: Finding) -> Iterator[dict[str, Any]]:
    """Mark the budgets that do not hold, in the file that sets them."""
    if not one.case.file or one.comparison is None:
        return
    for row in one.rows:
        found = row.one
        if found.over or row.crept is not None:
            worse = change(found) if found.over else since(row)
            line = one.case.lines.get(found.metric, 1)
            yield {
                "path": one.case.file,
                "start_line": line,
                "end_line": line,
                "annotation_level": "notice" if finding.passed else "failure",
                "title": plain(f"{one.name}: {metric_name(found, plain)}"),
                "message": plain(f"{worse}, and the budget is {found.budget}. {found.sentence}", 1_000),
            }
