"""Packed charts say the same in less, and what they quote ends no script."""

from __future__ import annotations

import json
from typing import Any

from service.publishing.chart_data import ChartPacker


def run(number: int, **changes: Any) -> dict[str, Any]:
    place = {"commit": f"c{number}", "title": f"Change {number}", "t": 1000 * number, "url": ""}
    return {
        "x": number,
        "y": 5,
        "low": 5,
        "high": 5,
        "n": 2,
        "environment": "e1",
        "text": "5 faults",
        **place,
        **changes,
    }


def pack(*runs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    packer = ChartPacker()
    packed = json.loads(packer.pack(json.dumps({"path": runs, "beside": [], "unit": "faults"})))
    commits = packer.format_commits_script().removeprefix("globalThis.commitsOfCharts = ").removesuffix(";\n")
    return packed, json.loads(commits)


def test_what_all_runs_have_is_there_once() -> None:
    packed, commits = pack(*(run(number) for number in range(100)))
    assert packed["path"]["environment"] == "e1"
    assert packed["path"]["y"] == 5
    assert "low" not in packed["path"], "it is that of y"
    assert packed["unit"] == "faults"
    assert commits["commit"][:2] == ["c0", "c1"]


def test_values_that_repeat_are_there_once() -> None:
    packed, _ = pack(*(run(number, text=f"{number % 2} faults") for number in range(10)))
    assert packed["path"]["text"] == {"of": ["0 faults", "1 faults"], "at": [0, 1] * 5}


def test_the_commits_of_all_charts_are_there_once() -> None:
    packed, commits = pack(run(1), run(1), run(2))
    assert packed["path"]["at"] == [0, 0, 1]
    assert commits == {"commit": ["c1", "c2"], "title": ["Change 1", "Change 2"], "t": [1000, 2000]}


def test_a_chart_without_runs_is_packed() -> None:
    assert pack() == (
        {"path": {"n_runs": 0, "at": []}, "beside": {"n_runs": 0, "at": []}, "unit": "faults"},
        {"commit": [], "title": [], "t": []},
    )


def test_no_text_ends_the_script() -> None:
    packer = ChartPacker()
    text = json.dumps({"path": [run(1, title="</script><!--\u2028", text="</script>")], "beside": []})
    for written in (packer.pack(text), packer.format_commits_script()):
        assert "<" not in written
        assert "\u2028" not in written


def test_other_data_stays_as_it_is() -> None:
    assert ChartPacker().pack('{"a":  1}') == '{"a":  1}'
