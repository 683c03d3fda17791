"""Assesses whether a host can be trusted, before each session; every report of the session contains the result."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field

from runner.canary.count import count_canary
from runner.contract.canary import Canary
from runner.contract.report import Environment
from runner.host.declared_settings import Declaration, load_declaration


class HostTrust(Struct, frozen=True):
    """The count of the canary and the declared settings of the host, or why either is unknown."""

    canary: Canary | None = None
    declared: Declaration = field(default_factory=Declaration)
    remarks: tuple[str, ...] = ()

    def list_warnings(self, environment: Environment) -> Iterator[str]:
        """Yield one line for each problem of this host, for the person who starts a session."""
        if self.canary is not None and not self.canary.holds:
            yield (
                f"this host counts incorrectly, so nothing will be judged: {self.canary.finding} (run `faultwatch "
                f"doctor`)"
            )
        for setting in self.declared.list_mismatches(environment):
            actual_text = repr(setting.actual) if setting.actual else "not set"
            yield f"{setting.name} is declared as {setting.declared!r} but is {actual_text}"
        yield from self.remarks


def assess_host(programs: Path) -> HostTrust:
    """Count the canary and read the declared settings.

    Parameters
    ----------
    programs
        The folder for the compiled canary.
    """
    outcome, declaration = count_canary(programs), load_declaration()
    return HostTrust(outcome.canary, declaration, tuple(filter(None, (outcome.problem, declaration.problem))))
