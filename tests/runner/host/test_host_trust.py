"""What is known of a host before a session, in reports and for people."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.canary.count import CanaryOutcome
from runner.contract import Canary, CanaryCount, Environment, Host, Revision
from runner.host import host_trust as module
from runner.host.declared_settings import Declaration
from runner.host.host_trust import HostTrust, assess_host
from runner.measuring.measurement import measure_case
from runner.measuring.trial import Bench
from runner.process_state.process_state import ProcessState
from runner.workload import Workload, list_cases

RIGHT = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=(1009,)),))
WRONG = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=(5, 5, 5)),))
HELD = Environment(settings={"vm.swappiness": "60"})


def test_what_cannot_be_found_out_is_remarked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "count_canary", lambda home: CanaryOutcome(problem=f"no compiler for {home}"))
    monkeypatch.setattr(module, "load_declaration", lambda: Declaration(problem="no such file"))
    found = assess_host(tmp_path)
    assert (found.canary, found.remarks) == (None, (f"no compiler for {tmp_path}", "no such file"))


def test_people_are_told_what_is_against_a_host() -> None:
    against = HostTrust(WRONG, Declaration({"vm.swappiness": "1", "ksm.run": "0"}), ("a remark",))
    assert list(against.list_warnings(HELD)) == [
        "this host counts incorrectly, so nothing will be judged: anonymous: 5, then 5, then 5 faults counted, "
        "1,009 expected (run `faultwatch doctor`)",
        "ksm.run is declared as '0' but is not set",
        "vm.swappiness is declared as '1' but is '60'",
        "a remark",
    ]
    assert list(HostTrust(RIGHT, Declaration({"vm.swappiness": "60"})).list_warnings(HELD)) == []


@pytest.mark.perf
def test_it_travels_with_every_report(tmp_path: Path) -> None:
    known = HostTrust(WRONG, Declaration({"process.nice": "7"}), ("a remark",))
    workload = Workload.model_validate(
        {"workload": {"name": "script", "samples": 1}, "run": {"command": ["true"], "output": "none"}}
    )
    bench = Bench(
        Host(name="host"),
        lambda state: Environment(settings=state.read_settings()),
        trust=known,
        cpus=frozenset({99_999}),
    )
    revision = Revision(commit="a" * 40, committed_at=datetime(2024, 1, 1, tzinfo=UTC))
    report = measure_case(
        workload, list_cases(workload)[0], tmp_path, bench=bench, subject="subject", revision=revision
    )
    assert report.canary == WRONG
    assert report.quarantine
    assert [(setting.name, setting.actual) for setting in report.mismatches] == [
        ("process.nice", ProcessState().read_settings()["process.nice"])
    ]
    assert report.remarks[0] == "a remark"
    assert any(remark.startswith("process.cpus is ") for remark in report.remarks)
