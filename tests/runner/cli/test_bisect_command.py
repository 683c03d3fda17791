"""``faultwatch bisect`` on the demo's history: real builds, real counts, a real service."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HISTORY = ROOT / "workloads" / "copy_service" / "make_history.py"


def bisect(home: Path, span: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "runner", "bisect", span, "--repo", "repo", "--workload", "copy_service", "--json"],
        cwd=home,
        env=os.environ | {"FAULTWATCH_HOME": str(home / "data"), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.perf
def test_two_culprits_are_found_although_the_search_is_killed_on_the_way(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(HISTORY), "repo"], cwd=tmp_path, check=True, capture_output=True)
    with bisect(tmp_path, "HEAD~13..HEAD~10") as killed:
        assert killed.stderr
        assert "to go" in killed.stderr.readline(), "the first end is measured"
        killed.kill()

    with bisect(tmp_path, "HEAD~13..HEAD~10") as again:
        out, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert said.count("to go") == 3, "what was measured before is not measured again"
    found = json.loads(out)
    assert (found["commits"], found["known"]) == (3, 8), "four commits, and both culprits in turns with their parents"
    assert [one["proof"]["state"] for one in found["answer"]["culprits"]] == ["stands", "stands"]
    buffer, checksum = found["answer"]["culprits"]
    assert buffer["after"] - buffer["before"] >= 49_152
    assert checksum["after"] - checksum["before"] == 1

    with bisect(tmp_path, "HEAD~12..HEAD~11") as same:
        out, said = same.communicate(timeout=120)
    assert same.returncode == 1, said
    assert "to go" not in said
    assert "The ends do not differ" in json.loads(out)["answer"]["sentence"]


@pytest.mark.parametrize(
    ("span", "said"), [("HEAD", "is not of the form GOOD..BAD"), ("HEAD..HEAD~1", "has no commits")]
)
def test_a_mistake_is_one_clear_line(span: str, said: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(HISTORY), "repo"], cwd=tmp_path, check=True, capture_output=True)
    with bisect(tmp_path, span) as wrong:
        out, told = wrong.communicate(timeout=60)
    assert (wrong.returncode, out) == (2, "")
    assert said in told
    assert "Traceback" not in told
