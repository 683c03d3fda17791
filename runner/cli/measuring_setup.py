"""Sets up the measurements of a command: its workload, its turn on the host and its workbench; prints the warnings."""

from collections.abc import Iterable

from msgspec.structs import replace

from runner.cli.activity import show_activity
from runner.cli.terminal import print_message, print_warning
from runner.contract.code_trust import CodeOrigin
from runner.environment.secrets import hide_password
from runner.host.cleanup import remove_leftovers
from runner.host.host_turn import HostTurn
from runner.measuring.preflight import Workbench, set_up_workbench
from runner.settings import Settings
from runner.subject.repository import Repository
from runner.subject.repository_lookup import find_workload_and_repository
from runner.system.home_folder import expand_home
from runner.workload import Workload
from runner.workload.assignments import parse_assignments


def find_target(settings: Settings, workload_name: str | None, repo: str | None) -> tuple[Workload, Repository]:
    """Find the workload and the repository of a command, and show the progress of a clone or a fetch.

    See :func:`find_workload_and_repository`.
    """
    if repo is None or expand_home(repo).exists():
        return find_workload_and_repository(settings, workload_name, repo)
    with show_activity(f"fetching {hide_password(repo)}"):
        return find_workload_and_repository(settings, workload_name, repo)


def create_host_turn(settings: Settings) -> HostTurn:
    """Return the turn in which a command may measure on this host; :func:`prepare_workbench` begins it."""
    return HostTurn(settings.lock, print_message, lambda: remove_leftovers(settings))


def prepare_workbench(
    settings: Settings,
    assignments: Iterable[str] = (),
    *,
    turn: HostTurn | None = None,
    sandboxed: bool = False,
    origin: CodeOrigin = CodeOrigin.OWN,
    retry_failed: bool = False,
) -> Workbench:
    """Prepare measurements on this host with ``--env`` assignments, and show the warnings about the host.

    Parameters
    ----------
    turn
        The turn of the command, which begins now; None if nothing is measured, so that the host is not examined.

    Raises
    ------
    FaultwatchError
        An error of :func:`runner.measuring.preflight.set_up_workbench`, or an assignment that is not NAME=VALUE.
    """
    variables = parse_variables(assignments)
    if turn:
        turn.begin()
    workbench = set_up_workbench(
        settings,
        variables,
        examine_host=turn is not None,
        sandboxed=sandboxed,
        origin=origin,
        report_repeated_build=print_warning,
    )
    builder = replace(workbench.builder, retry_failed=retry_failed)
    workbench = replace(workbench, builder=replace(builder, turn=turn) if turn else builder)
    for line in workbench.warnings:
        print_warning(line)
    return workbench


def parse_variables(assignments: Iterable[str]) -> dict[str, str]:
    """Parse ``--env NAME=VALUE`` arguments.

    Raises
    ------
    FaultwatchError
        An argument does not have that form.
    """
    return parse_assignments("--env", assignments, r"[A-Za-z_][A-Za-z0-9_]*")
