"""Shell scripts that build a project, or start its programs, such as a service and its load, if nothing else does."""

import re
from pathlib import PurePosixPath

from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.sources import Sources, is_auxiliary

_BENCHMARK = re.compile(r"(?:run[_-])?(?:bench(?:mark)?s?|perf|load)(?:[_-].*)?")
_START = re.compile(r"run|start")
_BUILD_SCRIPTS = ("build.sh", "make.sh", "compile.sh")
_COMPILER = re.compile(
    r"(?m)^[^#\n]*(?:\$\{?(?:CC|CXX)\b|(?<![\w./-])(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|gfortran|zig)\s)"
)
"""A line in which a script starts a compiler, so that it does not only call another build system or pack an image."""
_MAX_DEPTH = 1
_MAX_SCRIPTS = 5
_SHELLS = ("bash", "dash", "ksh", "zsh", "sh")


def list_run_proposals(sources: Sources) -> list[RunProposal]:
    """Return the scripts whose names suggest that they start the project: benchmarks first."""
    scripts = []
    for file in sources.find_files_by_suffix(".sh"):
        stem = PurePosixPath(file).stem.lower()
        is_benchmark = _BENCHMARK.fullmatch(stem) is not None
        if not is_benchmark and not _START.fullmatch(stem):
            continue
        depth = file.count("/")
        if depth <= _MAX_DEPTH and not is_auxiliary(file) and re.fullmatch(r"[\w./-]+", file):
            scripts.append((not is_benchmark, depth, file))
    return [
        RunProposal(f"{_get_shell(sources.read_text(file))} {file}", may_do_nothing=may_do_nothing)
        for may_do_nothing, _, file in sorted(scripts)[:_MAX_SCRIPTS]
    ]


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to build with a script at the top that compiles, or to run scripts without building anything."""
    proposals = []
    build_script = next((name for name in _BUILD_SCRIPTS if sources.has(name)), "")
    if build_script and _COMPILER.search(sources.read_text(build_script)):
        proposals.append(BuildProposal("Script", f"{_get_shell(sources.read_text(build_script))} {build_script}"))
    runs = tuple(list_run_proposals(sources))
    return [*proposals, BuildProposal("Scripts", "", runs=runs)] if runs else proposals


def _get_shell(text: str) -> str:
    """Return the shell that the first line of a script names, because the script may not be executable."""
    line = text.partition("\n")[0]
    words = re.split(r"[/\s]+", line) if line.startswith("#!") else []
    return next((shell for shell in _SHELLS if shell in words), "sh")
