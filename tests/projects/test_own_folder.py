"""A driver and an input beside the workload file are seen by the program, in a sandbox too."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.projects.project import FAULTWATCH, FEW, Project, touch

pytestmark = pytest.mark.perf
WORKLOAD = """[workload]
name = "project"
[build]
command = "sh -c 'cc -o program touch.c {workload}/driver.c'"
[run]
command = "./program {workload}/input"
huge_pages = "never"
"""
DRIVER = """#include <stdio.h>
int touch(void);
int main(int count, char **words)
{
    return fopen(words[1], "r") == 0 || fopen(words[1], "a") != 0 || touch();
}
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="own-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not here")
def test_what_lies_beside_the_workload_file_is_there_and_read_only(folder: Path) -> None:
    project = Project(folder / "project")
    project.commit("Start", {"touch.c": touch(FEW)})
    beside = {"workload.toml": WORKLOAD, "driver.c": DRIVER, "input": "records\n"}
    project.write({f"faultwatch/{name}": text for name, text in beside.items()})
    done = subprocess.run(
        [FAULTWATCH, "measure", project.folder / "faultwatch", "--sandbox", "--json"],
        check=False,
        capture_output=True,
        text=True,
        env={
            **{name: os.environ[name] for name in ("PATH", "HOME")},
            "FAULTWATCH_HOME": str(folder / "home"),
            "FAULTWATCH_HOST_LOCK": str(folder),
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = json.loads(done.stdout)
    assert all(sample["readings"]["minor-faults"]["value"] >= FEW for sample in report["samples"])
