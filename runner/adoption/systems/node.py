"""Node.js: the scripts that ``package.json`` names."""

import json
import re
from typing import Any

from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command
from runner.adoption.sources import Sources

_FILE = "package.json"
_LOCK_FILES = ("package-lock.json", "npm-shrinkwrap.json")
_BENCHMARKS = ("bench", "benchmark", "benchmarks", "perf")
_DIRECT = re.compile(r"node( [\w./=@:-]+)+")
"""A script that is a single command of Node, which can be executed without npm."""
_ONE_THREAD = "--single-threaded"
"""Compiles and collects garbage in the main thread: otherwise the count of a program can vary by 86 % of itself. It is
refused in ``NODE_OPTIONS``."""
_NAME = re.compile(r"[\w:.-]+")
_CACHE = {"npm_config_cache": "{home}/.npm"}
_QUIET = "--no-audit --no-fund"


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to run the benchmark scripts, then the program itself; packages are installed if any are required."""
    if not sources.has(_FILE):
        return []
    package = _read_package(sources)
    runs = tuple(_list_run_proposals(package))
    if not runs:
        return []
    steps = []
    if package.get("dependencies") or package.get("devDependencies"):
        install = "ci" if sources.has(*_LOCK_FILES) else "install"
        steps.append(f"npm {install} --prefer-offline {_QUIET}")
    if "build" in _get_table(package, "scripts"):
        steps.append("npm run build")
    if not steps:
        return [BuildProposal("Node.js", "", ("node",), runs=runs)]
    return [BuildProposal("Node.js", build_shell_command(*steps), ("node", "npm"), _CACHE, runs)]


def _read_package(sources: Sources) -> dict[str, Any]:
    try:
        package = json.loads(sources.read_text(_FILE))
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _get_table(package: dict[str, Any], name: str) -> dict[str, Any]:
    table = package.get(name)
    return table if isinstance(table, dict) else {}


def _list_run_proposals(package: dict[str, Any]) -> list[RunProposal]:
    """Return the commands of the scripts, and of the package as a program, which may be a server that never ends."""
    scripts = {
        name: text
        for name, text in _get_table(package, "scripts").items()
        if _NAME.fullmatch(name) and isinstance(text, str)
    }
    benchmarks = [name for name in scripts if name.split(":")[0] in _BENCHMARKS]
    runs = [RunProposal(_build_command(name, scripts[name])) for name in benchmarks]
    if "start" in scripts:
        runs.append(RunProposal(_build_command("start", scripts["start"]), may_do_nothing=True))
    main = package.get("main")
    if isinstance(main, str) and _DIRECT.fullmatch(f"node {main}"):
        runs.append(RunProposal(_build_command("", f"node {main}"), may_do_nothing=True))
    return runs


def _build_command(name: str, text: str) -> str:
    """Return how to run a script: without npm if possible, whose own faults would be counted too."""
    return f"node {_ONE_THREAD}{text[len('node') :]}" if _DIRECT.fullmatch(text) else f"npm run --silent {name}"
