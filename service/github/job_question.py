"""What a command in a comment asks of a host: all but the case was measured for the pull request before. Pure."""

from __future__ import annotations

from runner.contract import Verdict
from runner.contract.gate import GateReport
from runner.contract.job import BisectQuestion, ProfileQuestion, Question
from service.github.commands import Command, Verb
from service.rules.gate.verdict import Judged, judge
from service.text.markdown import code

_VARIABLE = "variable."
_MOST_NAMED = 10


def question(command: Command, report: GateReport) -> Question | str:
    """Return what is asked, or why that cannot be asked."""
    cases = {one.name: one for one in judge(report, None).cases}
    found = cases.get(command.text)
    if found is None:
        names = ", ".join(code(name) for name in list(cases)[:_MOST_NAMED])
        return f"There is no case {code(command.text)}. There are: {names or 'none'}."
    head = found.case.head
    shared = {
        "subject": head.subject,
        "case": found.name,
        "host": head.host.name,
        "workload": found.case.file,
        "variables": {
            name.removeprefix(_VARIABLE): value
            for name, value in head.environment.knobs.items()
            if name.startswith(_VARIABLE) and "(hidden)" not in value
        },
    }
    if command.verb is Verb.PROFILE:
        return ProfileQuestion.model_validate(shared | {"revision": report.head, "against": report.base})
    metric = _moved(found)
    return BisectQuestion.model_validate(shared | {"good": report.base, "bad": report.head, "metric": metric})


def _moved(found: Judged) -> str:
    """Return the metric to look at: the first that is over its budget, else one that changed."""
    metrics = found.comparison.metrics if found.comparison else ()
    changed = [one for one in metrics if one.verdict is Verdict.CHANGED]
    first = sorted(changed, key=lambda one: (not one.over, not one.counts))
    return first[0].metric if first else "minor-faults"
