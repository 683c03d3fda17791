"""Counts a program or a server without Faultwatch: its files, the build's command, and a bare ``perf stat``.

Nothing of the product is used here, so that a defect of the product cannot confirm itself.
"""

import itertools
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from findings import server_by_hand
from findings.by_hand_commands import run_command, words_of

RUNS = 5
STARTS = 3
"""Of a server, which takes longer."""
_PATH_BYTES = 96
"""Of the path at which a program finds its input. It keeps that path in its memory, so another length counts others."""
_ALLOCATORS = {
    "glibc": {},
    "jemalloc": {"LD_PRELOAD": "libjemalloc.so.2"},
    "jemalloc-no-decay": {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"},
}


def count(workload: Path, repository: Path, commit: str, case: str) -> tuple[int, ...]:
    """Build a commit and count the faults of some executions of one case, or of some starts of a server.

    Parameters
    ----------
    workload
        The folder of the workload file.
    case
        The name of the case, as in ``lua[work=tables]``.
    """
    return _count_build(workload, case, lambda folder: _export_commit(repository, commit, folder))


def count_own(workload: Path, case: str) -> tuple[int, ...]:
    """Count the faults of one case of a workload that includes its program; of one process, if it is of several.

    Parameters
    ----------
    workload
        The folder of the workload file.
    """
    return _count_build(workload, case, lambda folder: shutil.copytree(workload, folder, dirs_exist_ok=True))


def _count_build(workload: Path, case: str, fill: Callable[[Path], object]) -> tuple[int, ...]:
    """Build what is filled into a folder, and count."""
    document = tomllib.loads((workload / "workload.toml").read_text())
    parameters = next(point for point in _list_points(document) if _format_name(document, point) == case)
    with tempfile.TemporaryDirectory(prefix="findings-") as name, tempfile.TemporaryDirectory() as other:
        folder, shown = Path(name), Path(other, "_" * (_PATH_BYTES - len(other) - 1))
        shutil.copytree(workload, shown)
        for place in (Path(other), shown):
            place.chmod(0o755)  # A server may run as another user.
        values = {**parameters, "workload": str(shown)}
        fill(folder)
        build = {"HOME": name, "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
        # Of a build, these alone are placeholders: a shell's braces stay as they are.
        places = {"{workload}": str(shown), "{home}": str(Path.home())}
        own = document["build"].get("environment", {})
        build |= {name: _replace_placeholders(value, places) for name, value in own.items()}
        if "command" in document["build"]:
            run_command(
                [_replace_placeholders(word, places) for word in words_of(document["build"]["command"])], folder, build
            )
        settings = document.get("run", {})
        run = {"PATH": build["PATH"], "LC_ALL": "C.UTF-8", **_fill_variables(settings.get("environment", {}), values)}
        run |= _ALLOCATORS[settings.get("allocator", "glibc").format_map(values)]
        small_pages = settings.get("huge_pages") == "never"
        if "server" in document:
            start = partial(server_by_hand.count_start, document, values, folder, run, small_pages=small_pages)
            return tuple(start() for _ in range(STARTS))
        words = [word.format_map(values) for word in words_of(settings["command"])]
        run_command(words, folder, run, small_pages=small_pages)  # warms the page cache
        return tuple(_count_once(words, folder, run, small_pages=small_pages) for _ in range(RUNS))


def _list_points(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the points of the parameter matrix."""
    matrix = document.get("matrix", {})
    return [dict(zip(matrix, values, strict=True)) for values in itertools.product(*matrix.values())]


def _format_name(document: Mapping[str, Any], point: Mapping[str, Any]) -> str:
    inner = ",".join(f"{name}={value}" for name, value in sorted(point.items()))
    name = str(document["workload"]["name"])
    return f"{name}[{inner}]" if inner else name


def _export_commit(repository: Path, commit: str, folder: Path) -> None:
    # tar, and not Python's tarfile: the Python of Debian 12 has no filter that keeps files inside of the folder.
    with subprocess.Popen(
        ["git", "-C", str(repository), "archive", "--format=tar", commit], stdout=subprocess.PIPE
    ) as export:
        unpacked = subprocess.run(["tar", "-x", "-C", str(folder)], stdin=export.stdout, check=False)
    if export.returncode or unpacked.returncode:
        raise SystemExit(f"{commit} of {repository} could not be exported")


def _replace_placeholders(word: str, places: Mapping[str, str]) -> str:
    for placeholder, place in places.items():
        word = word.replace(placeholder, place)
    return word


def _fill_variables(variables: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, str]:
    return {name: value.format_map(values) for name, value in variables.items()}


def _count_once(words: Sequence[str], folder: Path, environment: Mapping[str, str], *, small_pages: bool) -> int:
    # perf writes into a file of its own: the program may write to both outputs.
    figures = folder / "perf-stat.csv"
    measured = ["setarch", "-R", "perf", "stat", "-x", ",", "-o", os.fspath(figures), "-e", "minor-faults", *words]
    run_command(measured, folder, environment, small_pages=small_pages)
    return int(figures.read_text().splitlines()[-1].split(",")[0])
