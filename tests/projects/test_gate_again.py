"""A gate whose builds failed for a reason that has passed since."""

import json
import os
from pathlib import Path

import pytest

from tests.runner.commands import WORKLOAD, faultwatch, make_history, served

pytestmark = [
    pytest.mark.perf,
    pytest.mark.skipif("FAULTWATCH_TEST_PROJECTS" not in os.environ, reason="only runs in make test-projects"),
]


def test_again_builds_and_measures_what_failed_before(tmp_path: Path) -> None:
    mirror, log = tmp_path / "mirror", tmp_path / "log"
    build = f"sh -c 'echo built >> {log}; test -e {mirror} && cc -O0 -o pages pages.c'"
    workload = WORKLOAD.replace("cc -O0 -o pages pages.c", build)
    base, head = make_history(tmp_path / "subject", (4, 4), workload)
    gate = ("gate", "--repo", "subject", f"{base}..{head}", "--no-sandbox", "--samples", "1", "--json", "-q")
    (tmp_path / "lock").touch()

    with served(tmp_path / "data") as service:

        def verdict(*more: str) -> str:
            lock = {"FAULTWATCH_HOST_LOCK": str(tmp_path / "lock")}
            _, out, said = faultwatch(tmp_path / "data", *gate, *more, url=service.url, **lock)
            assert out, said
            return str(json.loads(out)["verdict"])

        assert verdict() == "failed"
        mirror.touch()
        builds = log.read_text()
        assert verdict() == "failed", "nothing of the commit or the host has changed"
        assert log.read_text() == builds
        assert verdict("--again") != "failed"
        assert log.read_text() != builds
