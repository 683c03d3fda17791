"""Every attack of ``cases/`` against the real command, as root and as an ordinary user.

A case is a module. Its docstring says what it tries. ``prepare`` writes the repository; ``WORDS`` is the command (a
gate by default), or ``attack`` runs several, and a service; ``held`` looks further than :meth:`Arena.look` does.
``FAST`` cases are part of ``make test``, ``THOROUGH`` ones of ``make test-thorough``.
"""

import importlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.mark import ParameterSet

from tests.hostile import arena
from tests.hostile.arena import Arena

CASES = sorted(path.stem for path in Path(__file__).with_name("cases").glob("*.py") if path.stem != "__init__")
GATE = ("gate", "workload.toml", "HEAD~1..HEAD", "--repo", ".", "--output", "REPORT")
EVERYTHING = "FAULTWATCH_TEST_HOSTILE" in os.environ

pytestmark = [
    pytest.mark.perf,
    pytest.mark.skipif(os.geteuid() != 0, reason="plants secrets of root, and becomes other users"),
    pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap"),
]


def _choose() -> Iterator[ParameterSet]:
    for name in CASES:
        module = importlib.import_module(f"tests.hostile.cases.{name}")
        is_fast, is_thorough = (getattr(module, word, False) for word in ("FAST", "THOROUGH"))
        for user in getattr(module, "USERS", ("root", "ordinary")):
            if EVERYTHING or ((is_fast or is_thorough) and user == getattr(module, "FAST_USER", "root")):
                yield pytest.param(name, user, marks=[pytest.mark.thorough] if is_thorough else [])


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Homes in which the runner's programs are built and the database is made: one for each user."""
    return {user: tmp_path_factory.mktemp(user) for user in ("root", "ordinary")}


@pytest.fixture
def field(request: pytest.FixtureRequest, templates: dict[str, Path]) -> Iterator[Arena]:
    user = request.param
    used = templates[user] / "programs"
    made = arena.make(user, templates[user] if used.exists() else None)
    yield made
    if not used.exists() and (made.home / "programs").exists():
        shutil.copytree(made.home / "programs", used)
    shutil.rmtree(made.folder, ignore_errors=True)


@pytest.mark.parametrize(("name", "field"), list(_choose()), indirect=["field"])
def test_held(name: str, field: Arena) -> None:
    case: ModuleType = importlib.import_module(f"tests.hostile.cases.{name}")
    case.prepare(field)
    if hasattr(case, "attack"):
        outcome = case.attack(field)
    else:
        outcome = field.run(*getattr(case, "WORDS", GATE), **getattr(case, "OPTIONS", {}))
    field.look(outcome)
    if hasattr(case, "held"):
        case.held(field, outcome)
