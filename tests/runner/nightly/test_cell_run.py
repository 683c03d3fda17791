"""A cell of a nightly run is reported, whatever happens to it."""

import os
from typing import cast

from runner.campaigns.history_measurement import HistoryObserver
from runner.contract.nightly import NightlyCell, NightlyPart
from runner.errors import FaultwatchError
from runner.nightly.cell_run import PreparedCell, run_cell
from runner.reporting.client import Service


class ServiceStub:
    """Keeps the cells that it receives as JSON."""

    def __init__(self) -> None:
        self.cells: list[NightlyCell] = []

    def update_nightly_run(self, _name: str, part: NightlyPart) -> None:
        self.cells += NightlyPart.model_validate_json(part.model_dump_json()).cells


def test_a_cell_that_fails_at_a_path_that_is_not_text_is_reported_with_the_reason() -> None:
    def fail() -> PreparedCell:
        raise FaultwatchError(os.fsdecode(b"/srv/caf\xe9/workload.toml does not exist") + "!" * 2_000)

    service = ServiceStub()
    run_cell(
        "night",
        NightlyCell(host="here", configuration="plain", workload="w"),
        fail,
        service=cast(Service, service),
        observer=cast(HistoryObserver, None),
        max_retries=1,
    )
    (cell,) = service.cells
    assert cell.carried_out
    assert cell.problem.startswith(r"/srv/caf\udce9/workload.toml does not exist!")
