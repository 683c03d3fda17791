from pathlib import Path

import pytest

from runner.adoption import (
    server_trials,
)
from runner.adoption.first_measurement import FirstMeasurement
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.servers.listening import Listener
from tests.runner.adoption.listings import listing


@pytest.mark.parametrize(
    ("command", "server"),
    [("./x --size 18000", "./x --size 18000 --port {port}"), ("./x --port=8000", "./x --port={port}")],
)
def test_a_server_is_told_its_port_unless_its_command_names_it(
    command: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def observe(_: object, __: BuildProposal, run: RunProposal, ___: Path) -> tuple[int, Listener]:
        return 0, Listener(29_999 if "--port 29999" in run.command else 8000)

    monkeypatch.setattr(server_trials, "_observe_command", observe)
    monkeypatch.setattr(server_trials, "find_built_programs", lambda *_: [])
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    found = server_trials.find_server(first, BuildProposal("Make", ""), RunProposal(command), Path())
    assert found is not None
    assert found.command == server
