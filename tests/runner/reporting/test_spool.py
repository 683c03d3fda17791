import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from runner.errors import FaultwatchError, RequestRefused, ServerError
from runner.reporting.spool import MAX_FAILURES, Spool, SpooledDocument
from runner.system.processes import get_process_name, read_own_name
from tests.runner.sample_reports import profile, report

ROOT = Path(__file__).parents[3]


def test_a_report_waits_until_it_is_acknowledged(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    reports = [report() for _ in range(3)]
    for one in reports:
        spool.add(one)

    def refuse(one: SpooledDocument) -> None:
        if one == reports[1]:
            raise FaultwatchError("the service is down")
        sent.append(one)

    sent: list[SpooledDocument] = []
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
    sent: list[SpooledDocument] = []
    spool.flush(sent.append)
    assert sent == [good]
    ((file, reason),) = spool.list_refused_reports()
    assert file.name == "half.refused"
    assert "not a report that this version can read" in reason


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file stands in the way")
    with pytest.raises(FaultwatchError, match="cannot be stored"):
        Spool(tmp_path / "spool").add(report())


def test_a_refused_report_is_set_aside_with_the_reason(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    reports = [report() for _ in range(3)]
    for one in reports:
        spool.add(one)
    sent: list[SpooledDocument] = []

    def send(one: SpooledDocument) -> None:
        if one == reports[0]:
            raise RequestRefused("samples.0: wrong")
        sent.append(one)

    assert spool.flush(send) == 2
    assert sent == reports[1:]
    ((file, reason),) = spool.list_refused_reports()
    assert reason == "samples.0: wrong"
    assert not spool.list_waiting_reports()
    file.rename(file.with_suffix(".json"))
    assert spool.flush(sent.append) == 1
    assert sent[-1] == reports[0]


def test_a_report_that_the_service_stumbles_over_does_not_hold_up_the_others(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    reports = [report() for _ in range(MAX_FAILURES + 2)]
    for one in reports:
        spool.add(one)
    sent: list[SpooledDocument] = []

    def send(one: SpooledDocument) -> None:
        if one in reports[:MAX_FAILURES]:
            raise ServerError("an error of its own")
        sent.append(one)

    with pytest.raises(ServerError):
        spool.flush(send)
    assert not sent, "after so many the service is left alone"
    with pytest.raises(ServerError):
        spool.flush(send)
    assert sent == reports[MAX_FAILURES:], "the others came first this time"
    assert len(spool.list_waiting_reports()) == MAX_FAILURES


def test_what_a_killed_process_left_half_written_goes_in_the_end(tmp_path: Path) -> None:
    fresh, old = (
        tmp_path / f"fresh.{get_process_name(1)}.partial",
        tmp_path / f"old.{get_process_name(2**22 + 1)}.partial",
    )
    older = tmp_path / "older.partial"
    for file in (fresh, old, older):
        file.write_text("{")
    assert Spool(tmp_path).flush(lambda _: None) == 0
    assert fresh.exists(), "another process may be writing it"
    assert not old.exists()
    assert not older.exists()


def test_a_pair_is_stored_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    base, head = report(1), report(2)
    obstacle = spool.get_file(head).with_suffix(f".{read_own_name()}.partial")
    obstacle.mkdir()  # so that the second file cannot be written
    with pytest.raises(FaultwatchError):
        spool.add(base, head)
    assert list(tmp_path.iterdir()) == [obstacle]
    obstacle.rmdir()
    assert spool.add(base, head) == spool.list_waiting_reports()


def test_a_full_disk_costs_only_what_has_no_room(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.add(report(1))
    code = (
        "import sys, pathlib; from tests.runner.sample_reports import profile, report\n"
        "from runner.reporting.spool import Spool\n"
        "try: Spool(pathlib.Path(sys.argv[1])).add(report(2))\n"
        "except Exception as error: sys.exit(f'{type(error).__name__}: {error}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "FaultwatchError: the result cannot be stored" in done.stderr
    assert "free some space" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == [f"{report(1).run_id}.json"], "nothing half is left"


def test_a_profile_waits_beside_reports(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    written: list[SpooledDocument] = [report(), profile()]
    for one in written:
        spool.add(one)
    sent: list[SpooledDocument] = []
    assert spool.flush(sent.append) == 2
    assert sent == written
