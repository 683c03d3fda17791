"""``faultwatch nightly``: measure every workload of a matrix in every configuration, and show a digest."""

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from runner.cli.escape_for_terminals import strip_escape_sequences
from runner.cli.measuring_setup import create_host_turn, prepare_workbench
from runner.cli.options import apply_options, make_sandbox_option, result_options
from runner.cli.result_output import output_result
from runner.cli.terminal import get_console, print_message, print_warning
from runner.commands_in_ci_logs import break_commands_in_json
from runner.contract.nightly import NightlyCell, NightlyDigest, NightlyPart
from runner.errors import FaultwatchError, ServiceUnavailable
from runner.host.host_turn import HostTurn
from runner.measuring.preflight import Workbench, is_sandbox_needed
from runner.nightly.cell_run import PreparedCell, run_cell
from runner.nightly.cells import (
    apply_configuration,
    build_github_jobs,
    format_case_choices,
    list_host_cells,
    plan_cells,
)
from runner.nightly.matrix_file import Matrix, WorkloadEntry, load_matrix
from runner.reporting.client import Service
from runner.settings import Settings, load_settings
from runner.workload import WORKLOAD_FILE, Workload
from runner.workload.workload_lookup import find_workload, list_shipped_names


@click.command(name="nightly")
@apply_options(
    click.option(
        "--matrix",
        "file",
        type=click.Path(path_type=Path),
        default="matrix.toml",
        show_default=True,
        metavar="FILE",
        help="The matrix file with hosts, configurations and workloads.",
    ),
    click.option("--name", "requested_name", metavar="NAME", help="Name of the nightly run. Default: the date."),
    click.option(
        "--list",
        "list_format",
        type=click.Choice(["json", "cells"]),
        help="List the planned jobs for GitHub Actions (json) or the planned cells (cells), and measure nothing.",
    ),
    click.option("--plan", is_flag=True, help="Send the planned cells to the service, and measure nothing."),
    click.option("--digest", "only_digest", is_flag=True, help="Only show the digest."),
    make_sandbox_option(),
    result_options,
)
def command(
    file: Path,
    requested_name: str | None,
    list_format: str | None,
    plan: bool,
    only_digest: bool,
    sandboxed: bool | None,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Measure the newest revision of every workload in every configuration that the matrix lists for this host.

    Exit code 1 if the nightly run is incomplete on this host; with --digest, on any host.
    """
    from runner.nightly.digest import is_complete
    from runner.reporting.embedded_service import connect_to_service

    matrix, settings = load_matrix(file), load_settings()
    if list_format == "json":
        click.echo(break_commands_in_json(json.dumps({"include": build_github_jobs(matrix)})))
        return
    cells = plan_cells(matrix, settings.host)
    if list_format == "cells":
        for cell in cells:
            click.echo(strip_escape_sequences(f"{cell.host}  {cell.configuration}  {cell.workload}"))
        return
    name = requested_name or datetime.now(UTC).date().isoformat()
    with connect_to_service(settings) as service:
        service.update_nightly_run(name, NightlyPart(cells=cells))
        if plan:
            return
        retrying_service = service.connect_with_retries(print_message)
        if not only_digest:
            with create_host_turn(settings) as turn:
                _run_cells(
                    name, matrix, settings, service.connect_with_retries(print_message, turn.pause), turn, sandboxed
                )
        digest = fetch_last_digest(name, retrying_service, service)
    _output_digest(digest, as_json=as_json, output_file=output_file)
    checked_cells = digest.cells if only_digest else [cell for cell in digest.cells if cell.host == settings.host]
    if not all(is_complete(cell) for cell in checked_cells):
        raise click.exceptions.Exit(1)


def fetch_last_digest(name: str, retrying_service: Service, service: Service) -> NightlyDigest:
    """Return the digest after all runs are judged; if this takes too long, print a warning and return it as it is.

    Parameters
    ----------
    retrying_service
        A connection that waits until all runs are judged.
    service
        A connection that gets an answer at once.
    """
    try:
        return retrying_service.find_nightly_run(name)
    except ServiceUnavailable as error:
        print_warning(
            f"{error.what}; the digest may lack drifts: `faultwatch nightly --name {name} --digest` shows the "
            f"complete digest later"
        )
        return service.find_nightly_run(name, only_judged=False)


def _run_cells(
    name: str, matrix: Matrix, settings: Settings, service: Service, turn: HostTurn, sandboxed: bool | None
) -> None:
    """Measure the cells that are planned for this host, one after the other.

    Raises
    ------
    FaultwatchError
        No cell is planned for this host.
    """
    from runner.cli.history_progress import ProgressBar

    # The workbenches with and without a sandbox. Each is prepared only once.
    workbenches: dict[bool, Workbench] = {}
    planned_cells = list_host_cells(matrix, settings.host)
    if not planned_cells:
        raise FaultwatchError(
            f"{matrix.path}: no cell is planned for this host, {settings.host}",
            "add the host to `hosts` of an entry in [[workloads]]",
        )
    for cell, entry in planned_cells:
        # The default arguments bind the cell of this iteration instead of the last one.
        def prepare_this_cell(cell: NightlyCell = cell, entry: WorkloadEntry = entry) -> PreparedCell:
            return _prepare_cell(matrix, cell, entry, settings, service, turn, sandboxed, workbenches)

        with ProgressBar(get_console(), f"{cell.configuration}  {cell.workload}") as observer:
            run_cell(name, cell, prepare_this_cell, service=service, observer=observer, max_retries=matrix.retries)


def _prepare_cell(
    matrix: Matrix,
    cell: NightlyCell,
    entry: WorkloadEntry,
    settings: Settings,
    service: Service,
    turn: HostTurn,
    sandboxed: bool | None,
    workbenches: dict[bool, Workbench],
) -> PreparedCell:
    """Prepare the measurement of a cell: its workload with the configuration, its cases and its revision.

    Parameters
    ----------
    workbenches
        The workbenches with (True) and without a sandbox. A missing one is prepared and added.
    """
    from runner.campaigns.history_measurement import HistoryMeasurement
    from runner.reporting.spool import Spool
    from runner.subject.check_clone_before_turn import find_complete_revision
    from runner.subject.repository import open_repository
    from runner.workload import list_cases

    plain_workload = find_planned_workload(matrix, entry)
    repository = open_repository(_resolve_location(matrix, entry) or str(plain_workload.path.parent), settings.clones)
    workload, configured_choices = apply_configuration(
        plain_workload, cell.configuration, matrix.get_configuration(cell.configuration)
    )
    cases = list_cases(workload, (*format_case_choices(entry), *configured_choices))
    revision = find_complete_revision(repository, workload, entry.revision)
    is_sandboxed = is_sandbox_needed(sandboxed, repository, settings)
    if is_sandboxed not in workbenches:
        workbenches[is_sandboxed] = prepare_workbench(settings, turn=turn, sandboxed=is_sandboxed)
    measurement = HistoryMeasurement(
        repository=repository,
        workload=workload,
        cases=cases,
        bench=workbenches[is_sandboxed].bench,
        builder=workbenches[is_sandboxed].builder,
        service=service,
        spool=Spool(settings.spool),
    )
    return PreparedCell(measurement, revision, cases)


def find_planned_workload(matrix: Matrix, entry: WorkloadEntry) -> Workload:
    """Return the workload at a path relative to the matrix file, or else the shipped workload with this name.

    A folder without a workload file does not hide a shipped workload that has the same name.
    """
    file = matrix.path.parent / entry.path
    is_hiding = file.is_dir() and not (file / WORKLOAD_FILE).exists() and entry.path in list_shipped_names()
    return find_workload(str(file) if file.exists() and not is_hiding else entry.path)


def _resolve_location(matrix: Matrix, entry: WorkloadEntry) -> str | None:
    """Return the location of the repository, a path relative to the matrix file; None if the entry names none."""
    if entry.repository is None or "://" in entry.repository:
        return entry.repository
    folder = matrix.path.parent / entry.repository
    return str(folder) if folder.exists() else entry.repository


def _output_digest(digest: NightlyDigest, *, as_json: bool, output_file: Path | None) -> None:
    """Print the digest of a nightly run, and pass it to GitHub Actions."""
    from runner.cli.github_actions import add_summary, set_complete
    from runner.cli.nightly_markdown import render_digest
    from runner.cli.nightly_tables import show_digest

    # Output the digest first, so that it is not lost if a file of GitHub Actions cannot be written.
    output_result(
        digest.model_dump(mode="json"), as_json=as_json, output_file=output_file, show=lambda: show_digest(digest)
    )
    set_complete(digest.complete)
    add_summary(render_digest(digest))
