"""Checks before a session whether this host can measure, and prepares what measuring needs."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract.code_trust import CodeOrigin, choose_build_store, needs_sandbox
from runner.contract.pool import build_pool_settings
from runner.contract.report import Environment, Host
from runner.environment import compilers
from runner.environment.capture import capture_environment
from runner.environment.programs_and_libraries import read_library_settings
from runner.errors import FaultwatchError
from runner.execution.background_thread import start_in_background
from runner.execution.sandbox import create_sandbox
from runner.host.host_trust import HostTrust, assess_host
from runner.mapped_files.prepared_files import describe_page_cache
from runner.measuring.session_settings import build_session_settings
from runner.measuring.trial import Bench
from runner.process_state.process_state import ProcessState
from runner.settings import Settings
from runner.subject.build import Builder
from runner.subject.build_folders import BuildFolders
from runner.subject.repository import Repository
from runner.system.mount_options import forbids_programs
from runner.system.tree import Tree

if TYPE_CHECKING:
    from runner.doctor.counting import Scope

MACHINE_SETTINGS = ("kernel.architecture", "cpu.model", "cpu.features", "libc.version")
"""Settings that decide what a compiler produces, for example with ``-march=native``. Builds are kept apart by them,
because several hosts can share a home directory."""
USER_ONLY_WARNING = (
    "faults inside the kernel, such as those of read() into fresh memory, are not counted for this user: `faultwatch "
    "doctor` shows how to allow that"
)


class Workbench(Struct, frozen=True):
    """What is needed to build and measure on this host."""

    bench: Bench
    builder: Builder
    variables: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """One line for each problem of this host, for the person who starts the session."""


def is_sandbox_needed(sandboxed: bool | None, repository: Repository, settings: Settings) -> bool:
    """Return whether to sandbox code: as ``sandboxed`` says, or if that is None, only code cloned from an address."""
    is_fetched = repository.path.is_relative_to(settings.clones)
    return needs_sandbox(CodeOrigin.FETCHED if is_fetched else CodeOrigin.OWN, sandboxed)


def set_up_workbench(
    settings: Settings,
    variables: Mapping[str, str] | None = None,
    *,
    examine_host: bool = True,
    sandboxed: bool = False,
    origin: CodeOrigin = CodeOrigin.OWN,
    report_repeated_build: Callable[[str], None] = lambda _: None,
) -> Workbench:
    """Check that this host can measure, and return what is needed to build and measure.

    Parameters
    ----------
    variables
        Variables to add to the environment of the measured process.
    examine_host
        Whether to count the canary, a program with a known number of faults, and to read the declared settings: needed
        before a session, but not to show the environment.
    sandboxed
        Whether to build and run in a sandbox.
    origin
        Where the code comes from. This and the sandbox decide where builds are kept.
    report_repeated_build
        Called with a line of text for each build that has to be repeated.

    Raises
    ------
    FaultwatchError
        perf or the sandbox is missing or forbidden, or the host does not let programs run in the folder of the builds;
        the message says what allows it.
    """
    from runner.doctor.counting import get_counting_scope  # noqa: PLC0415 - only commands that measure need it

    def prepare_counting() -> "Scope":
        """Return the scope of counting, and fill the caches that the first session needs."""
        scope = get_counting_scope()
        compilers.read_settings()
        read_library_settings(Tree())  # Caches the digests of the libraries.
        describe_page_cache(sandbox=None)  # Caches whether copies can be mounted.
        return scope

    if examine_host and forbids_programs(settings.builds):
        raise FaultwatchError(
            f"{settings.builds} is on a file system that does not let programs run (noexec)",
            "set FAULTWATCH_HOME to a folder on another file system",
        )
    variables = dict(variables or {})
    # Both steps wait for other programs, so do them at the same time.
    wait_for_scope = start_in_background(prepare_counting)
    try:
        trust = assess_host(settings.programs) if examine_host else HostTrust()
    finally:
        scope = wait_for_scope()  # If nothing can be counted, this raises the reason, before any error that it causes.
    sandbox = create_sandbox() if sandboxed else None
    build_store = choose_build_store(origin, sandboxed=sandboxed)
    max_bytes = None if settings.builds_gib is None else int(settings.builds_gib * (1 << 30))
    build_folders = BuildFolders(settings.builds, build_store, max_bytes, settings.builds_days)
    session_settings = {
        **build_session_settings(scope, settings.builds, sandboxed=sandbox is not None),
        **build_pool_settings(settings.pool),
    }

    def capture_session_environment(state: ProcessState) -> Environment:
        captured = capture_environment(variables=state.environment, work_directory=settings.builds)
        return Environment(settings={**captured.settings, **state.read_settings(), **session_settings})

    state = ProcessState(variables=variables, cpus=settings.cpus)
    actual_environment = capture_session_environment(state)
    machine_settings = {name: value for name, value in actual_environment.settings.items() if name in MACHINE_SETTINGS}
    if scope == "user":
        trust = replace(trust, remarks=(*trust.remarks, USER_ONLY_WARNING))
    bench = Bench(Host(name=settings.host), capture_session_environment, variables, trust, settings.cpus, sandbox)
    warnings = (*trust.list_warnings(actual_environment), *state.list_remarks()) if examine_host else ()
    return Workbench(
        bench,
        Builder(build_folders, machine_settings, sandbox, report_repeated_build, reveals_host=origin is CodeOrigin.OWN),
        variables,
        warnings,
    )
