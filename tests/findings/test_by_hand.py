"""Programs are built and counted without the product."""

from __future__ import annotations

from pathlib import Path

import pytest

from findings import by_hand

pytestmark = pytest.mark.perf

_WORKLOAD = """[workload]
name = "true"

[build]
command = ["sh", "-c", "test \\"$FLAGS\\" = '${X} {other}' && cp /bin/true program"]
environment = { FLAGS = "${X} {other}" }

[run]
command = "./program"
"""


def test_braces_in_the_environment_of_a_build_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(_WORKLOAD)
    assert len(by_hand.count_own(tmp_path, "true")) == by_hand.RUNS
