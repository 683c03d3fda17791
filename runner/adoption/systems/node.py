"""Node.js: the scripts that ``package.json`` names, and its programs with inputs of the project."""

import json
import re
from typing import Any

from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command
from runner.adoption.sources import Sources
from runner.subject.package_managers import NPM

_FILE = "package.json"
_LOCK_FILES = ("package-lock.json", "npm-shrinkwrap.json")
_BENCHMARKS = ("bench", "benchmark", "benchmarks", "perf")
_DIRECT = re.compile(r"node( [\w./=@:-]+)+")
"""A script that is a single command of Node, which can be executed without npm."""
_ONE_THREAD = "--single-threaded"
"""Compiles and collects garbage in the main thread: otherwise the count of a program can vary by 86 % of itself. It is
refused in ``NODE_OPTIONS``."""
_NAME = re.compile(r"[\w:.-]+")
_CACHE = {NPM.variable: NPM.folder}
_QUIET = "--no-audit --no-fund"


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to run the benchmark scripts, then the program itself; packages are installed if any are required."""
    if not sources.has(_FILE):
        return []
    package = _read_package(sources)
    scripts = _list_script_runs(package)
    runs = (*scripts, *_list_program_runs(sources, package))
    if not runs:
        return []
    steps = []
    is_built = "build" in _get_table(package, "scripts")
    # Packages for developers are what scripts need: a program that is not built does without them, and without what
    # they would have to download.
    needs_all_packages = is_built or bool(scripts)
    if package.get("dependencies") or (needs_all_packages and package.get("devDependencies")):
        install = "ci" if sources.has(*_LOCK_FILES) else "install"
        omit = "" if needs_all_packages else "--omit=dev "
        steps.append(f"npm {install} {omit}--prefer-offline {_QUIET}")
    if is_built:
        steps.append("npm run build")
    if not steps:
        return [BuildProposal("Node.js", "", ("node",), runs=runs)]
    return [BuildProposal("Node.js", build_shell_command(*steps), ("node", "npm"), _CACHE, runs)]


def _read_package(sources: Sources) -> dict[str, Any]:
    """Return the content of package.json; empty if it is not valid."""
    try:
        package = json.loads(sources.read_text(_FILE))
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _get_table(package: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object of package.json by its key; empty if it has none."""
    table = package.get(name)
    return table if isinstance(table, dict) else {}


def _list_script_runs(package: dict[str, Any]) -> list[RunProposal]:
    """Return the commands of the scripts: benchmarks, then that which starts the project, maybe as a server."""
    scripts = {
        name: text
        for name, text in _get_table(package, "scripts").items()
        if _NAME.fullmatch(name) and isinstance(text, str)
    }
    benchmarks = [name for name in scripts if name.split(":")[0] in _BENCHMARKS]
    runs = [RunProposal(_build_command(name, scripts[name])) for name in benchmarks]
    if "start" in scripts:
        runs.append(RunProposal(_build_command("start", scripts["start"]), may_do_nothing=True))
    return runs


def _list_program_runs(sources: Sources, package: dict[str, Any]) -> list[RunProposal]:
    """Return the commands of the package's programs, each also with inputs, then of its main module."""
    programs = package.get("bin")
    files = list(programs.values()) if isinstance(programs, dict) else [programs]
    runs: list[RunProposal] = []
    for program in files:
        if isinstance(program, str) and _DIRECT.fullmatch(f"node {program}"):
            start = _build_command("", f"node {program}")
            runs.append(RunProposal(start, may_do_nothing=True, program=program, takes_files=True))
    main = package.get("main")
    if isinstance(main, str) and _DIRECT.fullmatch(f"node {main}"):
        runs.append(RunProposal(_build_command("", f"node {main}"), may_do_nothing=True, program=main))
    return runs


def _build_command(name: str, text: str) -> str:
    """Return how to run a script: without npm if possible, whose own faults would be counted too.

    Parameters
    ----------
    name, text
        The script's name in package.json, and its command.
    """
    if _DIRECT.fullmatch(text):
        return f"node {_ONE_THREAD}{text.removeprefix('node')}"
    return f"npm run --silent {name}"
