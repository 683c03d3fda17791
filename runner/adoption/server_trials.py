"""Finds out by starting it whether a command is a server, and how to measure it under load."""

import re
from pathlib import Path

from msgspec.structs import replace

from runner.adoption.argument_trials import lacks_arguments, uses_mpi
from runner.adoption.built_programs import find_built_programs, find_load_generator
from runner.adoption.first_measurement import TRIAL_SECONDS, FirstMeasurement
from runner.adoption.ports_in_usage import list_port_arguments
from runner.adoption.proposal import PYTHON_STARTS, BuildProposal, LoadProposal, RunProposal
from runner.adoption.server_proposals import (
    get_program,
    list_port_variants,
    names_port,
    propose_listening_server,
    replace_file_by_folder,
)
from runner.adoption.tried_command import TriedCommand
from runner.measuring.trial import Subject, Trial
from runner.perf.program_failure import ExecutionFailure
from runner.servers.listening import Listener
from runner.servers.server_execution import ServerExecution
from runner.workload import list_cases
from runner.workload.placeholders import escape_braces

_LISTEN_SECONDS = 5.0
"""A program that does not listen within this many seconds is not taken for a server."""
_ANSWER_SECONDS = 2.0
"""A server that does not answer an HTTP request within this many seconds is not taken for an HTTP server."""
_OTHER_PORT = 29_999
"""A port that a program is told to listen on, to see whether it accepts the option."""
_ASK_HTTP = (
    r'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n" >&3 && head -c 12 <&3'
)
"""Requests the first page of a server. It runs in the server's network namespace, which nothing else can reach."""
_HTTP_STATUS = re.compile(r"HTTP/\S+ ([1-5]\d\d)")
_FIRST_ERROR_STATUS = 400
_BENCHMARK = re.compile(r"bench", re.IGNORECASE)
_TEST_RUNNER = re.compile(r"\bpytest\b|\bjunit\b|\bmocha\b|\bjest\b|\s-test\.parallel=|--test-threads=", re.IGNORECASE)
"""A command that runs a suite of tests, of Python, Java, JavaScript, Go or Rust."""


def find_server_that_needs_port(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path
) -> RunProposal | None:
    """Start a command that did no work with the port that its usage asks for; return a proposal if it listens.

    The usage is in what the command prints, or else in its help.
    """
    bare_run = replace(run, program=get_program(run))
    for asking in (bare_run, replace(bare_run, command=f"{run.command} --help")):
        answer = first_measurement.execute_command(proposal, asking, tree)
        variants = list_port_arguments(answer.output, _OTHER_PORT)
        for arguments in variants:
            server = find_server(
                first_measurement, proposal, replace(bare_run, command=f"{run.command} {arguments}"), tree
            )
            if server:
                return server
        if variants:
            break  # The help would only repeat the usage.
    return None


def try_server(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path
) -> TriedCommand:
    """Measure a server that was seen to listen, under its proposed load."""
    if run.obstacle:
        return TriedCommand(run, (), run.obstacle)
    tried_command = first_measurement.try_run(proposal, run, tree)
    return (
        tried_command
        if tried_command.faults
        else TriedCommand(run, (), f"{run.program} is a server: {tried_command.problem}")
    )


def find_server(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path
) -> RunProposal | None:
    """Start a command to see whether it listens; return a proposal to measure it as a server, or None."""
    # Where it listens. The status is that of its answer to an HTTP request, or 0 if it gives none.
    status, listener = _observe_command(first_measurement, proposal, run, tree)
    if listener is None:
        return None
    if status >= _FIRST_ERROR_STATUS and run.file:
        # It may serve the files of a folder instead.
        run_with_folder = replace_file_by_folder(run)
        other_status, other_listener = _observe_command(first_measurement, proposal, run_with_folder, tree)
        if other_listener and 0 < other_status < _FIRST_ERROR_STATUS:
            run, status, listener = run_with_folder, other_status, other_listener
    if listener.port and not names_port(run.command, listener.port):
        # Look for the option by which it listens on another port.
        for run_with_port in list_port_variants(run, _OTHER_PORT):
            other_status, other_listener = _observe_command(first_measurement, proposal, run_with_port, tree)
            if other_listener and other_listener.port == _OTHER_PORT:
                run, status, listener = run_with_port, other_status, other_listener
                break
    # Its load.
    programs = find_built_programs(tree, first_measurement.sources.files)
    server = propose_listening_server(
        run,
        str(listener.port or listener.path),
        listener.port,
        speaks_http=status > 0,
        find_generator=lambda name: find_load_generator(name, programs),
    )
    return replace(server, http_error=status if status >= _FIRST_ERROR_STATUS else 0)


def _observe_command(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path
) -> tuple[int, Listener | None]:
    """Start a command; return its status for an HTTP request (0 if none answers) and where it listens, if it does.

    Among several ports, the first one that answers counts.
    """
    # Start it as a server that counts as ready at once, with a load that does nothing.
    observed = replace(run, command=escape_braces(run.command), ready_command="true", load=LoadProposal("true"))
    workload = first_measurement.make_workload(proposal, observed, TRIAL_SECONDS)
    subject = Subject(first_measurement.repository.name, first_measurement.revision, list_cases(workload)[0])
    try:
        with Trial(workload, subject, first_measurement.workbench.bench, tree).start_server() as server:
            listeners = server.find_listeners(_LISTEN_SECONDS)
            for listener in listeners:
                status = _ask_http_status(server, listener.port) if listener.port else 0
                if status:
                    return status, listener
            return 0, listeners[0] if listeners else None
    except ExecutionFailure:
        return 0, None


def may_listen(run: RunProposal, tree: Path) -> bool:
    """Return whether a command that takes too long may be a server.

    A benchmark or a suite of tests is none, even if it listens for what it starts. Neither is a program of MPI, which
    listens for the other processes of its computation.
    """
    is_test_or_benchmark = _BENCHMARK.search(run.command) or _TEST_RUNNER.search(run.command)
    return not is_test_or_benchmark and not uses_mpi(tree / get_program(run))


def may_need_port(tried_command: TriedCommand) -> bool:
    """Return whether a command may be a server that asks for its port: neither a test nor a benchmark."""
    run = tried_command.run
    may_start = run.may_do_nothing or run.command.startswith((*PYTHON_STARTS, "node "))
    return lacks_arguments(tried_command) and may_start and not run.is_test and not _BENCHMARK.search(run.command)


def _ask_http_status(server: ServerExecution, port: int) -> int:
    """Return the HTTP status with which a server answers a request for its first page; 0 if it does not speak HTTP."""
    try:
        ask = ("bash", "-c", _ASK_HTTP, "ask", str(port))
        match = _HTTP_STATUS.match(server.run_command_in_server_network(ask, _ANSWER_SECONDS).output)
    except ExecutionFailure:
        return 0
    return int(match[1]) if match else 0
