"""Tells of a run which of the knobs that are searched it had as after. Pure."""

from __future__ import annotations

from runner.contract import Case, Environment
from runner.contract.knob_search import KnobSearchRequest

PARAMETER = "parameter."
"""Begins the names of knobs that are parameters of the case."""
_FOLLOWS = {"allocator": "variable.LD_PRELOAD"}
"""Knobs that only tell what another one does."""


def changed_knobs(asked: KnobSearchRequest, environment: Environment, case: Case) -> frozenset[str] | None:
    """Return the knobs that are as after; None where the run differs from what is searched in anything else."""
    if (case.workload, case.definition) != (asked.case.workload, asked.case.definition):
        return None
    searched = {knob.name: knob for knob in asked.knobs}
    before, held = _all(asked.environment, asked.case), _all(environment, case)
    found = set()
    for name in before.keys() | held.keys():
        value = held.get(name)
        if name in searched:
            if value == searched[name].after:
                found.add(name)
            elif value != searched[name].before:
                return None
        elif value != before.get(name) and _FOLLOWS.get(name) not in searched:
            return None
    return frozenset(found)


def _all(environment: Environment, case: Case) -> dict[str, str]:
    return environment.knobs | {
        f"{PARAMETER}{name}": str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in case.parameters.items()
    }
