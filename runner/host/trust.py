"""What is known of a host before a session: it travels with every report of the session."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from runner.canary.count import count_canary
from runner.contract.report import Environment
from runner.contract.trust import Canary
from runner.host.declared_knobs import Declaration, declaration


@dataclass(frozen=True, slots=True)
class HostTrust:
    """Whether the host counts right, how it was declared to be, and what could not be found out."""

    canary: Canary | None = None
    declared: Declaration = field(default_factory=Declaration)
    remarks: tuple[str, ...] = ()

    def warnings(self, held: Environment) -> Iterator[str]:
        """Yield what is against this host, a line each, for people who start a session on it."""
        if self.canary is not None and not self.canary.holds:
            yield f"this host counts wrong, so nothing will be judged: {self.canary.finding} (run `faultwatch doctor`)"
        for knob in self.declared.mismatches(held):
            yield f"{knob.name} was declared to be {knob.declared!r} and is {knob.held or 'not set'!r}"
        yield from self.remarks


def assess_host(programs: Path) -> HostTrust:
    """Find it out.

    Parameters
    ----------
    programs
        Where the canary is kept once it is built.
    """
    outcome, declared = count_canary(programs), declaration()
    return HostTrust(outcome.canary, declared, tuple(filter(None, (outcome.problem, declared.problem))))
