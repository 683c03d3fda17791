"""Each project of ``cases/`` is measured right by the real command, from the workload file that a user would write.

A case is a module. Its docstring says what is special. ``TOOLS`` are the programs that its build needs; ``grow`` makes
a history in which one commit moves the faults, by ``MOVED``. ``SPREAD`` is by how much the count of its program varies
by itself. ``THOROUGH`` are the ways, (user, confined), in which ``make test-thorough`` measures it.
"""

import importlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.mark import ParameterSet

from tests.projects.project import MOVED, Project, Runner

CASES = sorted(path.stem for path in Path(__file__).with_name("cases").glob("*.py") if path.stem != "__init__")
EVERYTHING = "FAULTWATCH_TEST_PROJECTS" in os.environ
USERS = ("root", "ordinary") if os.geteuid() == 0 else ("root",)
ATTEMPTS = 3
DISTURBED = "the environment changed during the session"
"""Other tests set settings of the host."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"

pytestmark = [pytest.mark.perf, pytest.mark.timeout(1800)]


def _choose() -> Iterator[ParameterSet]:
    for name in CASES:
        module = importlib.import_module(f"tests.projects.cases.{name}")
        for user in USERS:
            for sandboxed in (False, True):
                is_thorough = (user, sandboxed) in getattr(module, "THOROUGH", ())
                if EVERYTHING or is_thorough:
                    yield pytest.param(name, user, sandboxed, marks=[pytest.mark.thorough] if is_thorough else [])


@pytest.mark.parametrize(("name", "user", "sandboxed"), list(_choose()))
def test_the_commit_that_moves_faults_is_found(name: str, user: str, sandboxed: bool, folder: Path) -> None:
    case: ModuleType = importlib.import_module(f"tests.projects.cases.{name}")
    missing = [tool for tool in case.TOOLS if not shutil.which(tool, path=SYSTEM_PATH)]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not here; make test-projects installs it")
    if sandboxed and not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not here")
    project = Project(folder / "project")
    case.grow(project)
    runner, measured = Runner(folder, user), 0
    for _ in range(ATTEMPTS):
        result, said = runner.history(project.folder, "--sandbox" if sandboxed else "--no-sandbox")
        measured += result["measured"]
        if not any(DISTURBED in failed["message"] for failed in result["failed"]):
            break
    assert not result["failed"], said
    assert measured >= project.commits, said
    moved = [drift for drift in result["drifts"] if drift["metric"] == "minor-faults"]
    assert [(drift["revision"], drift["cause"]) for drift in moved] == [(project.mover, "commit")], said
    assert abs(moved[0]["change"] - MOVED) <= getattr(case, "SPREAD", 0), said
    for drift in result["drifts"]:
        assert drift["revision"] == project.mover, f"{drift['metric']}: {said}"
