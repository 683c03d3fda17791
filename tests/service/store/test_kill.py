"""The real service, killed while it takes runs in. `make bench-store` does so 200 times."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.store_kill import kill_often


@pytest.mark.thorough
def test_what_was_acknowledged_survives_kill_9_once(tmp_path: Path) -> None:
    found = kill_often(tmp_path / "home", 3, lambda _: None)
    assert found["acknowledged"] > 0
    wrong = {name: found[name] for name in ("lost", "doubled", "incomplete", "integrity")}
    assert wrong == {"lost": 0, "doubled": 0, "incomplete": 0, "integrity": "ok"}
