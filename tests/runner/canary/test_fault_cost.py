"""What a fault costs is measured once an hour, and again after a boot."""

import json
from pathlib import Path

import pytest

from runner.canary.fault_cost import COST_FILE, load_or_measure_cost


def test_the_cost_is_measured_once(tmp_path: Path) -> None:
    program, costs = tmp_path / "canary-1", iter([None, 1e-7, 2e-7, 3e-7])
    measured = [load_or_measure_cost(program, lambda: next(costs)) for _ in range(4)]
    assert measured == [None, 1e-7, 1e-7, 1e-7], "what could not be measured is tried again"
    assert load_or_measure_cost(tmp_path / "canary-2", lambda: next(costs)) == 2e-7, "another program has another cost"


@pytest.mark.parametrize(
    "changes", [{"made_for": ["canary-1", "another boot"]}, {"at": -3600.0}, {"at": 1e12}, {"seconds": "many"}, None]
)
def test_a_cost_that_may_not_hold_any_more_is_measured_again(changes: dict[str, object] | None, tmp_path: Path) -> None:
    program = tmp_path / "canary-1"
    assert load_or_measure_cost(program, lambda: 1e-7) == 1e-7
    known = json.loads((tmp_path / COST_FILE).read_text())
    (tmp_path / COST_FILE).write_text(json.dumps(known | changes) if changes else "")
    assert load_or_measure_cost(program, lambda: 2e-7) == 2e-7


@pytest.mark.parametrize("content", ["[" * 100_000, '{"made_for": 1, "at": ' + "9" * 5000 + "}"])
def test_a_damaged_cost_is_measured_again(content: str, tmp_path: Path) -> None:
    (tmp_path / COST_FILE).write_text(content)
    assert load_or_measure_cost(tmp_path / "canary-1", lambda: 2e-7) == 2e-7


@pytest.mark.parametrize("seconds", [10**400, -1e-7, 0, float("nan"), float("inf")])
def test_a_cost_that_no_report_can_contain_is_measured_again(seconds: float, tmp_path: Path) -> None:
    program = tmp_path / "canary-1"
    assert load_or_measure_cost(program, lambda: 1e-7) == 1e-7
    known = json.loads((tmp_path / COST_FILE).read_text())
    (tmp_path / COST_FILE).write_text(json.dumps(known | {"seconds": seconds}))
    assert load_or_measure_cost(program, lambda: 2e-7) == 2e-7
