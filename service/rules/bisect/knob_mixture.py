"""Decides which of the searched knobs a run had at their "after" values. Pure."""

from __future__ import annotations

from runner.contract import Case, Environment
from runner.contract.base import parameter_text
from runner.contract.knob_search import KnobSearchRequest

PARAMETER = "parameter."
"""Prefix of the knobs that are parameters of the case."""
_FOLLOWS = {"allocator": "variable.LD_PRELOAD"}
"""Knobs whose value only follows from that of another knob."""


def changed_knobs(search: KnobSearchRequest, environment: Environment, case: Case) -> frozenset[str] | None:
    """Return the searched knobs that have their "after" values; None where the run differs in anything else."""
    if (case.workload, case.definition) != (search.case.workload, search.case.definition):
        return None
    searched = {knob.name: knob for knob in search.knobs}
    before, actual = _all_knobs(search.environment, search.case), _all_knobs(environment, case)
    changed = set()
    for name in before.keys() | actual.keys():
        value = actual.get(name)
        if name in searched:
            if value == searched[name].after:
                changed.add(name)
            elif value != searched[name].before:
                return None
        elif value != before.get(name) and _FOLLOWS.get(name) not in searched:
            return None
    return frozenset(changed)


def _all_knobs(environment: Environment, case: Case) -> dict[str, str]:
    return environment.knobs | {f"{PARAMETER}{name}": parameter_text(value) for name, value in case.parameters.items()}
