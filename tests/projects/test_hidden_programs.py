"""A program that its user may execute but not read is refused, whoever starts it."""

import os
import shutil
from pathlib import Path

import pytest

from tests.projects.project import Project, Runner, workload

pytestmark = [
    pytest.mark.perf,
    pytest.mark.skipif("FAULTWATCH_TEST_PROJECTS" not in os.environ, reason="part of make test-projects"),
    pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user"),
]


@pytest.mark.parametrize("script", ["exec {}\n", "{}\n", "head -c 9000000 /dev/zero | tr '\\0' x >/dev/null\n{}\n"])
def test_an_execute_only_program_is_refused(script: str, folder: Path) -> None:
    hidden = folder / "root" / "hidden"
    hidden.parent.mkdir()
    shutil.copy("/bin/true", hidden)
    user = folder / "user"
    user.mkdir()
    project = Project(user / "project")
    project.commit("Start", {"run": "#!/bin/sh\n" + script.format(hidden), "workload.toml": workload("true", "./run")})
    hidden.chmod(0o111)
    result, said = Runner(user, "ordinary").history(project.folder, "--no-sandbox")
    assert result["measured"] == 0, said
    (failed,) = result["failed"]
    assert failed["stage"] == "measure"
    assert "which the kernel hides from perf" in failed["message"] or "counted 0" in failed["message"]
