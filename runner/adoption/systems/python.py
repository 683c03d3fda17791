"""Python: packages with or without extensions, and plain scripts."""

import re
import tomllib
from pathlib import PurePosixPath
from typing import Any

from runner.adoption.proposal import BuildProposal, RunProposal, shell
from runner.adoption.sources import Sources, is_foreign

NATIVE = ("mesonpy", "scikit_build_core", "maturin", "skbuild")
"""Back ends that run another build system."""
_BENCHMARK = re.compile(r"^(bench|perf)(marks?)?([_-].*)?$|.*[_-]bench(mark)?s?$")
_MOST = 5


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to build in a virtual environment: offline first, then with downloads of what the project requires."""
    project = _project(sources)
    scripts = [file for file in sources.with_suffix(".py") if _is_benchmark(file)][:_MOST]
    if not (sources.has("setup.py") or "project" in project or "build-system" in project):
        at_top = [file for file in sources.with_suffix(".py") if "/" not in file]
        runs = tuple(RunProposal(f"python3 {file}") for file in [*scripts, *at_top[:_MOST]] if " " not in file)
        return [BuildProposal("Python", "", ("python3",), runs=runs)] if runs else []
    python = "venv/bin/python"
    runs = (*(RunProposal(f"{python} {file}") for file in scripts), *_entries(sources, project, python))
    editable = "" if _backend(project) in NATIVE else "-e "
    install = f"{python} -m pip install --quiet --disable-pip-version-check"
    offline = [
        "python3 -m venv --system-site-packages venv",
        f"{install} --no-index --no-build-isolation --no-deps {editable}.",
    ]
    builds = [offline, ["python3 -m venv venv", f"{install} {editable}."]]
    if sources.has("setup.py"):
        in_place = ["python3 -m venv --system-site-packages --without-pip venv"]
        in_place.append(f"{python} setup.py --quiet build_ext --inplace")
        builds.insert(1, in_place)
    return [BuildProposal("Python", shell(*steps), ("python3",), runs=runs) for steps in builds]


def leads(sources: Sources) -> bool:
    """Return whether another build system of the project is only run by that of the Python package."""
    return _backend(_project(sources)) in NATIVE


def _project(sources: Sources) -> dict[str, Any]:
    try:
        return tomllib.loads(sources.text("pyproject.toml"))
    except ValueError:
        return {}


def _backend(project: dict[str, Any]) -> str:
    system = project.get("build-system")
    return str(system.get("build-backend", "")).partition(".")[0] if isinstance(system, dict) else ""


def _is_benchmark(file: str) -> bool:
    path = PurePosixPath(file)
    in_folder = path.parent.name in {"bench", "benchmark", "benchmarks"} and not path.name.startswith(("_", "conftest"))
    return " " not in file and not is_foreign(file) and (in_folder or bool(_BENCHMARK.match(path.stem)))


def _entries(sources: Sources, project: dict[str, Any], python: str) -> list[RunProposal]:
    """Return what a package can start: its modules that are programs, its commands, and its import."""
    runs = []
    packages = [path.parent for file in sources.files if (path := PurePosixPath(file)).name == "__init__.py"]
    tops = [path for path in packages if path.parent not in packages and not is_foreign(f"{path}/x")]
    for path in tops:
        if sources.has(f"{path}/__main__.py"):
            runs.append(RunProposal(f"{python} -m {path.name}"))
    table = project.get("project")
    commands = table.get("scripts", {}) if isinstance(table, dict) else {}
    for name in commands if isinstance(commands, dict) else ():
        runs += [RunProposal(f"venv/bin/{name}"), RunProposal(f"venv/bin/{name} --help")]
    for path in tops:
        if path.name.isidentifier():
            runs.append(RunProposal(f'{python} -c "import {path.name}"'))
    return runs
