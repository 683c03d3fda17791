"""The real programs of the field reports: short workloads, and figures that hold together; the slow part measures."""

from __future__ import annotations

import os
import re
import statistics
from pathlib import Path

import pytest

from findings import real_programs
from findings.real_programs import PROGRAMS, Case, Finding, Measured, compare
from runner.workload import list_cases
from runner.workload.workload_lookup import find_workload

PAGE = real_programs.ROOT / "docs" / "explanation" / "real-programs.md"


@pytest.mark.parametrize("program", real_programs.programs())
class TestProgram:
    def test_its_workload_is_short_and_valid(self, program: str) -> None:
        files = [file for file in (PROGRAMS / program).iterdir() if file.is_file()]
        for file in files:
            assert len(file.read_text().splitlines()) <= 20, file.name
        assert len(files) <= 3
        assert find_workload(str(PROGRAMS / program)).name == program

    def test_what_is_stored_are_its_cases(self, program: str) -> None:
        named = [case.name for case in list_cases(find_workload(str(PROGRAMS / program)))]
        assert [case.name for case in real_programs.load(program).cases] == named

    def test_it_was_counted_by_hand_with_the_same_result(self, program: str) -> None:
        for case in real_programs.load(program).cases:
            processes = int(found[1]) if (found := re.search(r"processes=(\d+)", case.name)) else 1
            least, most = processes * min(case.by_hand), processes * max(case.by_hand)
            assert least - case.faults / 50 <= case.faults <= most + case.faults / 50, case.name

    def test_the_page_tells_its_figures_and_the_command(self, program: str) -> None:
        text = PAGE.read_text()
        assert f"make programs PROGRAM={program}\n" in text
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        for case in real_programs.load(program).cases:
            assert any(_is_row_of(case, row) for row in rows), case.name

    @pytest.mark.perf
    @pytest.mark.timeout(900)
    @pytest.mark.skipif("FAULTWATCH_TEST_PROGRAMS" not in os.environ, reason="make test-programs runs it")
    def test_the_product_names_the_same_causes_again(self, program: str) -> None:
        assert real_programs.main([program]) == 0


def case(name: str, *causes: Finding) -> Case:
    return Case(name, faults=9, by_hand=(9,), system_percent=1, seconds=1, findings=causes)


def test_a_case_has_to_be_in_both_measurements() -> None:
    stored, found = Measured((case("a[x=1]"), case("a[x=2]"))), Measured((case("a[x=2]"), case("a[x=3]")))
    assert compare(stored, found) == ["a[x=1]: not found", "a[x=3]: not stored"]


def test_a_clear_cause_has_to_be_named_again() -> None:
    clear, faint = case("a", Finding("returned-memory", 0.05)), case("a", Finding("returned-memory", 0.04))
    assert compare(Measured((clear,)), Measured((faint,))) == []
    assert compare(Measured((clear,)), Measured((case("a"),))) == ["a: no cause; stored is returned-memory (5%)"]
    assert compare(Measured((case("a"),)), Measured((faint,))) == []


def test_what_was_never_measured_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(real_programs, "MEASURED", tmp_path)
    monkeypatch.setattr(real_programs, "measure", lambda _: pytest.fail("is measured first"))
    with pytest.raises(SystemExit) as ended:
        real_programs.main(["sqlite"])
    assert ended.value.code == 2
    assert "nothing is stored of sqlite to compare with: measure it with --store" in capsys.readouterr().err


def _is_row_of(case: Case, row: str) -> bool:
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    values = set(re.findall(r"=([^,\]]+)", case.name))
    figures = {f"{case.faults:,.0f}", f"{statistics.median(case.by_hand):,.0f}"}
    return values <= set(cells) and figures <= set(cells)
