"""``faultwatch demo``: measure a history with real drifts on this machine, and show it on the dashboard."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from runner.campaigns.history_measurement import HistorySummary
from runner.cli.history import output_history, prepare_history
from runner.cli.measuring_setup import create_host_turn
from runner.cli.next_command import TypedTarget
from runner.cli.options import apply_options, result_options
from runner.cli.terminal import get_console, print_message
from runner.errors import FaultwatchError
from runner.execution.own_command import SAFE_DIRECTORY, build_module_command, build_own_environment
from runner.reporting.embedded_service import connect_to_service
from runner.settings import Settings, load_settings
from runner.workload.workload_lookup import SHIPPED_WORKLOADS

DEMO_WORKLOAD = SHIPPED_WORKLOADS / "copy_service"
ALLOCATOR_CHANGE = ("LD_PRELOAD=libjemalloc.so.2", "MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0")
"""The configuration change halfway through the demo: an allocator that returns freed memory to the kernel at once."""


@click.command(name="demo")
@apply_options(
    click.option("--serve", is_flag=True, help="Serve the dashboard afterwards, until Ctrl-C."),
    click.option(
        "--port",
        type=click.IntRange(1, 65_535),
        envvar="FAULTWATCH_PORT",
        default=8080,
        show_default=True,
        metavar="PORT",
        help="The port of the dashboard; FAULTWATCH_PORT also sets it.",
    ),
    result_options,
)
def command(serve: bool, port: int, as_json: bool, output_file: Path | None) -> None:
    """Create and measure the demo history, and show which commits and settings changed the fault count.

    Runs that are already stored are not measured again.
    """
    settings = load_settings()
    if serve:
        _refuse_taken_port(port)
    repository = settings.home / "demo" / "copy-service"
    _make_history(repository)
    summary, drifts = _measure_history(settings, repository)
    target = TypedTarget(DEMO_WORKLOAD.name, DEMO_WORKLOAD.name, str(repository))
    output_history(summary, drifts, target, as_json=as_json, output_file=output_file)
    if serve:
        _run_service(settings, port)


def _make_history(repository: Path) -> None:
    """Create the repository of the demo with its commits.

    Raises
    ------
    FaultwatchError
        The folder cannot be created, or git fails.
    """
    script = DEMO_WORKLOAD / "make_history.py"
    try:
        repository.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FaultwatchError(
            f"{repository.parent} cannot be created: {error.strerror}",
            "set FAULTWATCH_HOME to a folder that you can write to",
        ) from None
    result = subprocess.run(
        [sys.executable, "-P", str(script), str(repository)],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if result.returncode:
        errors = result.stderr.strip().splitlines()
        reason = errors[-1] if errors else "git printed no error"
        raise FaultwatchError(
            f"the demo history could not be created: {reason}", f"check that git works, and remove {repository}"
        )


def _measure_history(settings: Settings, repository: Path) -> tuple[HistorySummary, list[dict[str, Any]]]:
    """Measure the first half of the history with the host's allocator, and the second half with another one."""
    with create_host_turn(settings) as turn, connect_to_service(settings) as service:
        halves = [
            prepare_history(
                settings, turn, repo=str(repository), commit_range="config-change", workload_name=str(DEMO_WORKLOAD)
            ),
            prepare_history(
                settings,
                turn,
                repo=str(repository),
                commit_range="config-change..HEAD",
                workload_name=str(DEMO_WORKLOAD),
                assignments=ALLOCATOR_CHANGE,
            ),
        ]
        summaries = [half.measure(service) for half in halves]
        drifts = service.connect_with_retries(print_message).list_drifts(subject=halves[0].repository.name)
    return summaries[0] + summaries[1], drifts


def _refuse_taken_port(port: int) -> None:
    """Refuse a port that is in use, before the measurements, which take minutes."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # closed connections do not occupy the port
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise FaultwatchError(
                f"port {port} cannot be used: {error.strerror}", "choose another port with FAULTWATCH_PORT"
            ) from None


def _run_service(settings: Settings, port: int) -> None:
    """Run the service in the foreground until it is stopped.

    Raises
    ------
    FaultwatchError
        The service has ended by itself, with an error.
    """
    process = subprocess.Popen(
        [
            *build_module_command("service", "serve", "--host", "127.0.0.1", "--port", str(port)),
            *("--parent", str(os.getpid())),
        ],
        env=build_own_environment() | {"FAULTWATCH_HOME": str(settings.home)},
        cwd=SAFE_DIRECTORY,
    )
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    get_console().print("\nStarting the dashboard; Ctrl-C stops it.\n")
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:  # Ctrl-C only interrupts the wait
            process.terminate()
    if status not in {0, -signal.SIGTERM, -signal.SIGINT}:
        raise FaultwatchError(f"the service ended with status {status}", "its messages above say why")
