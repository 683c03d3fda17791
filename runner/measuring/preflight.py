"""Checks before a session that this host can measure, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner.contract.code_trust import CodeOrigin, needs_sandbox
from runner.contract.report import Environment, Host
from runner.environment import capture, compilers
from runner.execution.in_background import in_background
from runner.execution.sandbox import sandbox
from runner.host.trust import HostTrust, assess_host
from runner.measuring.trial import Bench
from runner.settings import Settings
from runner.state.process import ProcessState
from runner.subject.build import Builder
from runner.subject.repository import Repository

if TYPE_CHECKING:
    from runner.doctor.counting import Scope

USER_ONLY = (
    "faults that a program takes inside the kernel, as in read() into fresh memory, are not counted for this user: "
    "`faultwatch doctor` says what allows it"
)


@dataclass(frozen=True, slots=True)
class Workbench:
    """The bench and the builder of this host under some settings."""

    bench: Bench
    builder: Builder
    variables: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What speaks against this host, a line each, for the people who start the session."""


def wants_sandbox(confined: bool | None, repository: Repository, settings: Settings) -> bool:
    """Whether code is confined: as was said, or else where it was fetched from an address."""
    fetched = repository.path.is_relative_to(settings.clones)
    return needs_sandbox(CodeOrigin.FETCHED if fetched else CodeOrigin.OWN, confined)


def prepare(
    settings: Settings, variables: Mapping[str, str] | None = None, *, examined: bool = True, confined: bool = False
) -> Workbench:
    """Check that this host can measure, and return what measuring needs.

    Parameters
    ----------
    variables
        Variables to add to the environment of the measured process.
    examined
        Count the canary and read the declared knobs: before a session, but not only to look.
    confined
        Build and run in a sandbox.

    Raises
    ------
    FaultwatchError
        Where perf or the sandbox is missing or forbidden, in one line with what allows it.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415 - loaded while other programs are waited for

    from runner.doctor.counting import counting_scope  # noqa: PLC0415 - only commands that measure need it

    def look() -> "Scope":
        found = counting_scope()
        compilers.knobs()
        TypeAdapter(int)  # The first model that is made waits for a large import: better here.
        return found

    variables = dict(variables or {})
    # Several short waits for other programs: none of them needs what another one finds out.
    looking = in_background(look)
    try:
        known = assess_host(settings.programs) if examined else HostTrust()
    finally:
        scope = looking()  # Why nothing can be counted here comes before what followed from that.
    box = sandbox() if confined else None
    told = {"counting.scope": scope, "process.sandbox": "bubblewrap" if box else "none"}

    def environment(state: ProcessState) -> Environment:
        found = capture(variables=state.environment, work_directory=settings.builds)
        return Environment(knobs={**found.knobs, **state.knobs(), **told})

    state = ProcessState(variables=variables, cpus=settings.cpus)
    held = environment(state)
    tools = {
        name: value for name, value in held.knobs.items() if name.startswith("compiler.") or name == "libc.version"
    }
    if scope == "user":
        known = replace(known, remarks=(*known.remarks, USER_ONLY))
    bench = Bench(Host(name=settings.host), environment, variables, known, settings.cpus, box)
    warnings = (*known.warnings(held), *state.remarks()) if examined else ()
    return Workbench(bench, Builder(settings.builds, tools, box), variables, warnings)
