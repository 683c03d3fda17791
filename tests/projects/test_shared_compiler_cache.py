"""The documented recipe for ccache: the build of another revision finds what an earlier one compiled."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.projects.project import CALL, FAULTWATCH, FEW, Project, touch

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.perf,
    pytest.mark.skipif("FAULTWATCH_TEST_PROJECTS" not in os.environ, reason="part of make test-projects"),
    pytest.mark.skipif(not shutil.which("ccache"), reason="ccache is not here"),
]


def test_the_second_revision_is_not_compiled_again(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "workloads.md").read_text(encoding="utf-8")
    recipe = re.search(r"```toml\n(\[build\]\ncommand = .*?ccache.*?)```", page, re.DOTALL)
    assert recipe
    build = recipe[1].replace("make CC", "make && ccache --show-stats >stats; true CC")
    project = Project(tmp_path / "project")
    makefile = "program: main.o touch.o\n\tccache cc -g -o $@ main.o touch.o\n%.o: %.c\n\tccache cc -g -c $<\n"
    file = f'[workload]\nname = "w"\n{build}\n[run]\ncommand = "./program"\n'
    files = {"Makefile": makefile, "main.c": CALL, "touch.c": touch(FEW), "workload.toml": file}
    project.commit("Start", files)
    project.commit("Explain", {"README": "What.\n"})
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "FAULTWATCH_HOME": str(tmp_path / "data"),
        "FAULTWATCH_HOST_LOCK": str(tmp_path),
    }
    for revision in ("HEAD~1", "HEAD"):
        command = [FAULTWATCH, "measure", project.folder, "--revision", revision]
        subprocess.run(command, check=True, capture_output=True, env=environment)
    stats = [file.read_text() for file in sorted((tmp_path / "data").glob("builds/trusted/*/tree/stats"))]
    hits = sorted(int(number) for text in stats for number in re.findall(r"^ *Hits: +(\d+)", text, re.MULTILINE)[:1])
    assert hits == [0, 2]
