"""A runner that asks what was found gets all of it, even where the service judges in the background."""

from pathlib import Path

from runner.contract import Case
from runner.reporting.client import Service
from tests.runner.commands import served
from tests.service import reports

CASES = [Case(workload="copy", definition="0" * 16, parameters={"number": number}) for number in range(70)]
"""More than are judged before a report is answered."""


def test_drifts_are_those_of_all_stored_runs(tmp_path: Path) -> None:
    sent = [
        reports.report(number, level, level, case=case)
        for number, level in ((1, 100), (2, 100), (3, 200), (4, 200))
        for case in CASES
    ]
    with served(tmp_path / "service") as proxy:
        service = Service(proxy.url)
        service.send_reports(sent)
        assert len(service.list_drifts(subject="demo")) == len(CASES)
