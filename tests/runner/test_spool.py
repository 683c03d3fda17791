import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.report import Case, Environment, Host, Outcome, Reading, Report, Revision, Sample
from runner.errors import FaultwatchError
from runner.spool import Spool


def report() -> Report:
    now = datetime.now(UTC)
    return Report(
        run_id=uuid.uuid4(),
        subject="subject",
        revision=Revision(commit="a" * 40, committed_at=now),
        case=Case(workload="w", definition="0" * 16),
        host=Host(name="host"),
        environment=Environment(knobs={"kernel.release": "6"}),
        runner_version="0",
        started_at=now,
        finished_at=now,
        outcome=Outcome.MEASURED,
        samples=(Sample(readings={"minor-faults": Reading(value=2**53 + 1)}),),
    )


def test_a_report_waits_until_it_is_acknowledged(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    reports = [report() for _ in range(3)]
    for one in reports:
        spool.add(one)

    def refuse(one: Report) -> None:
        if one == reports[1]:
            raise FaultwatchError("the service is down")
        sent.append(one)

    sent: list[Report] = []
    with pytest.raises(FaultwatchError):
        spool.flush(refuse)
    assert sent == reports[:1]
    assert spool.flush(sent.append) == 2
    assert sent == reports
    assert spool.flush(sent.append) == 0


def test_a_file_that_is_not_a_report_is_set_aside(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    (tmp_path / "half.json").write_text('{"schema_version": 1, "run_')
    good = report()
    spool.add(good)
    sent: list[Report] = []
    spool.flush(sent.append)
    assert sent == [good]
    assert (tmp_path / "half.refused").exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file stands in the way")
    with pytest.raises(FaultwatchError, match="cannot be kept"):
        Spool(tmp_path / "spool").add(report())
