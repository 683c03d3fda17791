"""Which cells of a lab compare with the default although they ran another build."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.contract import Case, Report
from runner.contract.mapped_files import ProgramFiles
from runner.contract.report import Host
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.lab.made_lab import COMMIT, PLAIN, environment
from tests.service.web.application import application

NEVER = environment(process__huge_pages="never")
LARGE = Case(workload="copy", definition=reports.CASE.definition, parameters={"mib": 8})
OBJECTION = "The build differs from the default's build."


def built(own: str, faults: int, **changes: Any) -> Report:
    """Return a run of the commit's build with these bytes."""
    files = ProgramFiles(own_bytes=own * 16, system_bytes="1" * 16)
    return reports.report(COMMIT, faults, faults, files=files, **({"environment": PLAIN} | changes))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Api]:
    with application(tmp_path) as app:
        api = Api(app.test_client())
        history_runs = [built("a", 1000), built("c", 2000, case=LARGE)]
        api.send(*history_runs, built("b", 400, environment=NEVER, experimental=True))
        yield api


def read_sentences(lab: Api, rows: str) -> dict[str, str]:
    """Return what is said about the faults of each measured cell."""
    query = {"case": reports.CASE.name, "rows": rows, "columns": "process.huge_pages"}
    cells = [cell for row in lab.get("/settings-lab", **query)["cells"] for cell in row]
    return {cell["text"]: cell["metrics"][0]["sentence"] for cell in cells if cell["metrics"]}


def test_another_build_does_not_compare_with_the_default(lab: Api) -> None:
    assert read_sentences(lab, rows="")["Huge pages never"] == OBJECTION


def test_another_build_compares_only_in_cells_with_another_parameter(lab: Api) -> None:
    sentences = read_sentences(lab, rows="parameter.mib")
    assert sentences["Huge pages never"] == OBJECTION
    assert sentences["mib 8"].endswith("so the two counts can be compared.")


def test_only_the_combination_of_measured_names_is_said_to_have_no_run(lab: Api) -> None:
    lab.send(reports.report(COMMIT, 2000, case=LARGE, host=Host(name="lab-2")))
    query = {"case": reports.CASE.name, "host": "lab-2"}
    detail = lab.client.get("/api/v1/settings-lab", query_string=query).text
    assert "There is no stored run of this combination that a host can repeat." in detail
