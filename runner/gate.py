"""The gate: what the comparisons of a pull request's cases come to, in one word. Pure."""

from collections.abc import Iterable
from enum import StrEnum

from runner.compare import Compared
from runner.contract.comparison import Verdict
from runner.contract.report import Outcome


class GateVerdict(StrEnum):
    """What is known about all cases together, the worst first."""

    FAILED = "failed"
    """Head does not build or does not run where its base does."""
    REGRESSED = "regressed"
    """A metric that counts has become worse by more than its budget."""
    UNDECIDED = "undecided"
    """A case could not be measured, or a metric that counts needs more runs than the workload allows."""
    CHANGED = "changed"
    """Something has changed, and all that became worse is within its budget."""
    IMPROVED = "improved"
    """Something has changed, and nothing for the worse."""
    SAME = "same"

    @property
    def passes(self) -> bool:
        """Whether the gate lets head in. What could not be decided is told, and is not head's fault."""
        return self not in {GateVerdict.FAILED, GateVerdict.REGRESSED}


_ORDER = tuple(GateVerdict)


def gate(results: Iterable[Compared]) -> GateVerdict:
    """Return the verdict about all cases: that about the worst of them."""
    return min((of_case(result) for result in results), key=_ORDER.index, default=GateVerdict.UNDECIDED)


def of_case(result: Compared) -> GateVerdict:
    """Return the verdict about one case."""
    comparison = result.comparison
    if comparison is None:
        # The base is built and executed first: where it fails, nothing is known of head.
        return GateVerdict.FAILED if result.head.outcome is Outcome.FAILED else GateVerdict.UNDECIDED
    counting = [one for one in comparison.metrics if one.counts]
    if any(one.over for one in counting):
        return GateVerdict.REGRESSED
    if any(one.verdict is Verdict.NEEDS_MORE_RUNS for one in counting):
        return GateVerdict.UNDECIDED
    directions = {one.direction for one in counting if one.verdict is Verdict.CHANGED}
    if directions == {"improvement"}:
        return GateVerdict.IMPROVED
    return GateVerdict.CHANGED if directions else GateVerdict.SAME
