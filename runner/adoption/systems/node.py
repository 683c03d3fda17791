"""Node.js: the scripts in ``package.json``, and the package's programs, which are also tried with files."""

import json
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command
from runner.adoption.sources import MAX_DEPTH, Sources, is_auxiliary
from runner.adoption.systems.node_tests import STEADY_FLAGS, find_test_run
from runner.contract.word_list import join_words
from runner.subject.package_managers import NPM

_FILE = "package.json"
_LOCK_FILES = ("package-lock.json", "npm-shrinkwrap.json")
_BUILD_SCRIPT = "build"
_BENCHMARKS = ("bench", "benchmark", "benchmarks", "perf")
_DIRECT = re.compile(r"node( [\w./=@:-]+)+")
"""A script that is a single command of Node, which can be executed without npm."""
_BUILD_BEFORE = re.compile(r"(?:npm|yarn|pnpm) run build\s*&&\s*")
"""The beginning of a script that builds the package first; it is left out, because the revision is built already."""
_MAX_MEMBER_RUNS = 4
"""How many programs and modules of packages in folders are tried."""
_NAME = re.compile(r"[\w:.-]+")
_CACHE = {NPM.variable: NPM.folder}
_QUIET = "--prefer-offline --no-audit --no-fund"
_COPY_INDEX = (
    "mkdir -p .npm/_cacache && cp -r $npm_config_cache/_cacache/index-v5 .npm/_cacache && "
    "ln -s $npm_config_cache/_cacache/content-v2 .npm/_cacache"
)
"""Makes a cache with the packages that were downloaded. Without a lock file, npm looks each of them up in the index of
its cache and writes to it, but the gate's sandbox shows the user's cache only for reading."""


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to run the benchmark scripts, then the program, then the tests; needed packages are installed."""
    if not sources.has(_FILE):
        return []
    package = _read_package(sources, _FILE)
    scripts = _list_script_runs(package)
    # The package at the top may only be a workspace of packages in folders.
    runs = (*scripts, *_list_program_runs(package, PurePosixPath())) or _list_member_runs(sources)
    has_build_script = _BUILD_SCRIPT in _list_scripts(package)
    test_builds = _propose_tests(sources, package, runs_build_script=has_build_script)
    if not runs:
        return test_builds
    runs = _add_help_runs(runs)
    # Only scripts and builds need development dependencies. Other programs are spared their installation, which may
    # download a lot.
    builds = [
        _propose_build(
            sources,
            package,
            runs,
            needs_all_packages=has_build_script or bool(scripts),
            runs_build_script=has_build_script,
        )
    ]
    if has_build_script:
        # The build may only be for distribution: a program that is a tracked file may work without it.
        own_programs = tuple(run for run in runs if run.program and sources.has(run.program.removeprefix("./")))
        builds += [_propose_build(sources, package, own_programs)] if own_programs else []
    return builds + test_builds


def describe_missing_run(sources: Sources, files: Sequence[str]) -> str:
    """Return why the files named ``package.json`` of a project lead to no command, as a clause."""
    if not sources.has(_FILE):
        return f"{join_words(files)} {'is' if len(files) == 1 else 'are'} ignored, because none is at the top"
    if _parse_package(sources, _FILE) is None:
        return f"{_FILE} cannot be read as a JSON object"
    reason = f"{_FILE} names no benchmark, start script, `bin` program, `main` module or known test runner"
    members = [file for file in files if file != _FILE]
    if not members:
        return reason
    verb = "names" if len(members) == 1 else "name"
    return f"{reason}, and {join_words(members)} {verb} no `bin` program or `main` module"


def _propose_tests(sources: Sources, package: dict[str, Any], *, runs_build_script: bool) -> list[BuildProposal]:
    """Propose to run the tests of a package, which execute most of the code of a library."""
    scripts = _list_scripts(package)
    if runs_build_script:
        del scripts[_BUILD_SCRIPT]  # a test script may run it first, but it is executed already, and tests nothing
    run = find_test_run(scripts)
    if run is None:
        return []
    build = _propose_build(sources, package, (run,), needs_all_packages=True, runs_build_script=runs_build_script)
    return [replace(build, builds_tests=True)]


def _propose_build(
    sources: Sources,
    package: dict[str, Any],
    runs: tuple[RunProposal, ...],
    *,
    needs_all_packages: bool = False,
    runs_build_script: bool = False,
) -> BuildProposal:
    """Return a build that installs the dependencies of a package, and may run its build script.

    Parameters
    ----------
    needs_all_packages
        Whether the development dependencies are installed too.
    runs_build_script
        Whether the build script of the package is run.
    """
    steps = []
    if package.get("dependencies") or (needs_all_packages and package.get("devDependencies")):
        options = _QUIET if needs_all_packages else f"--omit=dev {_QUIET}"
        if sources.has(*_LOCK_FILES):
            steps.append(f"npm ci {options}")
        else:
            steps.append(f"npm install {options} || {{ {_COPY_INDEX} && npm install --cache .npm {options}; }}")
    if runs_build_script:
        steps.append(f"npm run {_BUILD_SCRIPT}")
    if not steps:
        return BuildProposal("Node.js", "", ("node",), runs=runs)
    return BuildProposal("Node.js", build_shell_command(*steps), ("node", "npm"), _CACHE, runs)


def _add_help_runs(runs: tuple[RunProposal, ...]) -> tuple[RunProposal, ...]:
    """Insert ``--help`` after each command that takes files: the help names the program's subcommands."""
    all_runs: list[RunProposal] = []
    for run in runs:
        all_runs.append(run)
        if run.takes_files:
            all_runs.append(replace(run, command=f"{run.command} --help", takes_files=False))
    return tuple(all_runs)


def _list_member_runs(sources: Sources) -> tuple[RunProposal, ...]:
    """Return the commands of the programs and modules of packages in folders, those nearest to the top first."""
    files = [
        PurePosixPath(file)
        for file in sources.files
        if PurePosixPath(file).name == _FILE and file.count("/") <= MAX_DEPTH and not is_auxiliary(file)
    ]
    runs = [
        run
        for file in sorted(files, key=lambda file: (len(file.parts), file))
        for run in _list_program_runs(_read_package(sources, str(file)), file.parent)
    ]
    # Programs, which take files, come before modules, which may only define functions.
    return tuple(sorted(runs, key=lambda run: not run.takes_files)[:_MAX_MEMBER_RUNS])


def _read_package(sources: Sources, file: str) -> dict[str, Any]:
    """Return the content of a package.json; empty if it is not valid."""
    return _parse_package(sources, file) or {}


def _parse_package(sources: Sources, file: str) -> dict[str, Any] | None:
    """Return the content of a package.json; None if it is not valid."""
    try:
        package = json.loads(sources.read_text(file))
    except (ValueError, RecursionError):  # RecursionError: too deeply nested
        return None
    return package if isinstance(package, dict) else None


def _get_table(package: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object with a given key in package.json; empty if there is none."""
    table = package.get(name)
    return table if isinstance(table, dict) else {}


def _list_scripts(package: dict[str, Any]) -> dict[str, str]:
    """Return the commands of the scripts by name."""
    scripts = _get_table(package, "scripts").items()
    return {name: text for name, text in scripts if _NAME.fullmatch(name) and isinstance(text, str)}


def _list_script_runs(package: dict[str, Any]) -> list[RunProposal]:
    """Return the commands of the scripts: benchmarks first, then the start script, which may start a server."""
    scripts = _list_scripts(package)
    benchmarks = [name for name in scripts if name.split(":")[0] in _BENCHMARKS]
    runs = [RunProposal(_build_command(name, scripts[name])) for name in benchmarks]
    if "start" in scripts:
        runs.append(RunProposal(_build_command("start", scripts["start"]), may_do_nothing=True))
    return runs


def _list_program_runs(package: dict[str, Any], folder: PurePosixPath) -> list[RunProposal]:
    """Return the commands of a package's programs, which take files, then of its main module.

    Parameters
    ----------
    folder
        The folder of the package.
    """
    programs = package.get("bin")
    files = list(programs.values()) if isinstance(programs, dict) else [programs]
    runs: list[RunProposal] = []
    for file, is_program in [*((file, True) for file in files), (package.get("main"), False)]:
        if isinstance(file, str) and _DIRECT.fullmatch(f"node {file}"):
            # At the top, the path stays as it is in package.json.
            path = file if not folder.parts else str(folder / file)
            start = _build_command(name="", text=f"node {path}")
            runs.append(RunProposal(start, may_do_nothing=True, program=path, takes_files=is_program))
    return runs


def _build_command(name: str, text: str) -> str:
    """Return the command that runs a script: without npm if possible, because npm's faults would be counted too.

    Parameters
    ----------
    name, text
        The script's name in package.json, and its command.
    """
    build_match = _BUILD_BEFORE.match(text)
    text = text[build_match.end() :] if build_match else text
    if _DIRECT.fullmatch(text):
        return f"node {STEADY_FLAGS}{text.removeprefix('node')}"
    return f"npm run --silent {name}"
