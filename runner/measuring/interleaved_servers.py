"""Measures two servers interleaved: both run at the same time, and are loaded in turns, window by window."""

from contextlib import ExitStack

from runner.contract.report import Sample
from runner.measuring.side_failure import name_failed_side
from runner.measuring.trial import Trial
from runner.servers.server_execution import ServerExecution


def execute_servers_in_turns(trials: tuple[Trial, Trial]) -> list[tuple[Trial, Sample]]:
    """Start both servers, measure their windows alternately (A B B A), and return the sample of each server.

    Raises
    ------
    SideFailure
        One of the servers or its load fails, or the host invalidates its start.
    """
    servers: dict[Trial, ServerExecution] = {}
    with ExitStack() as stack:
        for trial in trials:
            with name_failed_side(trial):
                servers[trial] = stack.enter_context(trial.start_server())
                servers[trial].prepare()
        order = trials
        while not all(server.is_finished for server in servers.values()):
            for trial in order:
                if not servers[trial].is_finished:
                    with name_failed_side(trial):
                        servers[trial].run_window()
            order = (order[1], order[0])
        for trial in trials:
            with name_failed_side(trial):
                servers[trial].request_stop()
        samples = []
        for trial in trials:
            with name_failed_side(trial):
                samples.append((trial, servers[trial].stop()))
        return samples
